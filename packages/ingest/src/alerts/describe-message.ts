import type { DeliveryRow, DigestContent } from '@recount/db';
import { describeDigest } from './describe-digest.ts';
import type { MessageText } from './message-text.ts';
import { formatAmount, toLine } from './message-words.ts';

/** The words of a message. They have no more than the payload. */
export function describeMessage({ event, payload }: Pick<DeliveryRow, 'event' | 'payload'>): MessageText {
  if (event === 'budget.crossed') return describeCrossing(payload);
  if (event === 'digest.due') return describeDigest(payload as unknown as DigestContent);
  if (event === 'test') return { subject: 'Test of recount', text: 'This destination works.' };
  return { subject: `recount: ${toLine(event)}`, text: toLine(payload.text ?? '') };
}

function describeCrossing(payload: DeliveryRow['payload']): MessageText {
  const { kind, threshold, unit, figure, amount, low, high, median, is_late: isLate } = payload;
  const name = toLine(payload.budget_name);
  const place =
    kind === 'anomaly' ? `on ${payload.period_start}` : `in the ${payload.period} from ${payload.period_start}`;
  const late = isLate ? ' It became known after the end of that time, from what was uploaded later.' : '';
  const spent = `${formatAmount(figure, unit)} ${place} (${payload.time_zone})`;
  if (kind === 'forecast') {
    return {
      subject: `Budget ${name}: forecast above ${threshold} %`,
      text: `The forecast is ${spent}, of ${formatAmount(amount, unit)}; likely ${formatAmount(low, unit)} to ${formatAmount(high, unit)}.`,
    };
  }
  if (kind === 'anomaly') {
    return {
      subject: `Budget ${name}: an unusual day`,
      text: `${spent}, where the median of the days before is ${formatAmount(median, unit)}.${late}`,
    };
  }
  return {
    subject: `Budget ${name}: ${threshold} % spent`,
    text: `${spent}, of ${formatAmount(amount, unit)}.${late}`,
  };
}
