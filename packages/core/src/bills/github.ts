import type { JsonObject } from '../lines/json.ts';
import { readObject, readObjects } from '../records/fields.ts';
import { type AnsweredRow, BillError, NO_TOKENS, readAmount, readDay, readLabel } from './bill.ts';

/**
 * Answers of `GET /organizations/{org}/settings/billing/usage` and `…/billing/premium_request/usage`, with Copilot's
 * items only. A discount, such as the requests that a licence includes, is a line with a negative amount.
 * https://docs.github.com/en/rest/billing/usage
 */
export function readGitHubPage(page: JsonObject): AnsweredRow[] {
  const period = readObject(page.timePeriod);
  const items = readObjects(page.usageItems).filter(({ product }) => String(product).toLowerCase() === 'copilot');
  return items.flatMap((item) => {
    const day = readDay(item.date ?? toDate(period));
    const sku = readLabel(item.sku);
    const toRow = (amountUsd: number, suffix: string): AnsweredRow => ({
      day,
      kind: 'cost',
      model: readLabel(item.model),
      lineItem: `${sku ?? 'Copilot'}${suffix}`,
      scope: null,
      serviceTier: null,
      amountUsd,
      ...NO_TOKENS,
      identity: JSON.stringify([
        day,
        sku,
        item.model ?? null,
        item.organizationName ?? page.organization ?? null,
        suffix,
      ]),
      piece: JSON.stringify(item.date ?? period ?? null),
    });
    const discount = item.discountAmount === undefined ? 0 : readAmount(item.discountAmount, undefined);
    const gross = readAmount(item.grossAmount ?? item.netAmount, undefined);
    return [toRow(gross, ''), ...(discount === 0 ? [] : [toRow(-discount, ', discount')])];
  });
}

/**
 * The day of a report whose items have none. Throws BillError for a month or a year, because its amounts would be added
 * to the same ones of a day's report.
 */
function toDate(period: JsonObject | undefined): string | undefined {
  if (period?.year === undefined) return undefined;
  if (period.month === undefined || period.day === undefined) {
    throw new BillError('It covers a month or a year. Ask GitHub for each day, with `day` in the address');
  }
  const part = (value: unknown): string => String(value).padStart(2, '0');
  return `${String(period.year)}-${part(period.month)}-${part(period.day)}T00:00:00Z`;
}
