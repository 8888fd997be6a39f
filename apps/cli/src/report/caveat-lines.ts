import { describeOldPrices, toUnpricedName } from '@recount/contract/price-words';
import { readPath } from '@recount/contract/reports';
import { formatCount, formatCountOf } from '../terminal/format-values.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { formatCell, isMoney, toCostDecimals } from './format-cell.ts';
import type { ReportAnswer } from './report-answer.ts';
import type { ReportKind } from './report-kinds.ts';

const MAX_NAMED_MODELS = 3;

/**
 * Known inaccuracies of the figures, one line each; empty if there are none, or no cost is shown. `details`: the same
 * report split by model, if that is shown.
 */
export function toCaveatLines(
  { columns }: ReportKind,
  { caveats, filters, currency_label, totals, rows, truncated, usage }: ReportAnswer,
  details?: ReportAnswer,
  nowMs = Date.now(),
): string[] {
  const {
    unfinalised,
    unpriced,
    default_priced_responses: defaultPriced,
    price_date: priceDate,
    without_timestamp: timeless,
    sessions,
    disagreements,
  } = caveats;
  const sharedResponses = Number(readPath(totals, 'shared.responses') ?? 0);
  const lines = toAgreementLines({ filters, totals, currency_label, usage });
  if (truncated) lines.push(`${toTruncationLine({ rows })} The totals are of all.`);
  if (details?.truncated) {
    lines.push(`Only the first ${formatCount(details.rows.length)} models in all are shown; --limit shows more.`);
  }
  if (!columns.some(({ format }) => isMoney(format))) return lines;
  if (unfinalised.responses > 0) {
    lines.push(
      `Unfinalised: ${toResponses(unfinalised.responses)} without a final output count. Output holds ${formatCount(unfinalised.tokens_out)} ` +
        `tokens of them; by their content it should be about ${formatCount(unfinalised.estimated_tokens_out)}.`,
    );
  }
  if (unpriced.responses > 0) {
    lines.push(
      `Unpriced: ${toResponses(unpriced.responses)} with ${formatCount(unpriced.tokens)} tokens, not in the cost: ` +
        `${toUnpricedNames(unpriced)}. See \`recount prices --help\`.`,
    );
  }
  // Older servers do not say it.
  const oldPrices = priceDate === undefined ? undefined : describeOldPrices(priceDate, nowMs);
  if (oldPrices !== undefined) {
    lines.push(
      `${oldPrices} A newer recount or a price file (\`recount prices --help\`) knows newer models and prices.`,
    );
  }
  if (defaultPriced > 0) lines.push(`Default price: ${toResponses(defaultPriced)} that name no model.`);
  if (timeless > 0) lines.push(`No time: ${toResponses(timeless)} without a timestamp, in no range of dates.`);
  if (sessions.without_usage > 0) {
    lines.push(`No usage: ${toSessions(sessions.without_usage)} whose transcripts have none, in no sum.`);
  }
  if (sessions.output_only > 0) {
    lines.push(`Too low: ${toSessions(sessions.output_only)} with an interrupted run that reported only output.`);
  }
  if (disagreements.responses > 0) lines.push(toDisagreementLine(disagreements, currency_label));
  if (sharedResponses > 0) {
    lines.push(
      `Shared: ${formatCountOf(sharedResponses, 'copy', 'copies')} in resumed, forked or replayed sessions, which count once.`,
    );
  }
  return lines;
}

/** Why the sessions' total cost differs from the usage report. */
function toAgreementLines({
  filters,
  totals,
  currency_label: currencyLabel,
  usage,
}: Pick<ReportAnswer, 'filters' | 'totals' | 'currency_label' | 'usage'>): string[] {
  if (usage == null || usage.cost_usd === null || usage.beyond_filters_cost_usd === null) return [];
  const { cost_usd: cost, left_out_cost_usd: leftOut, beyond_filters_cost_usd: beyond } = usage;
  const [whole, own] = [Number(readPath(totals, 'cost_usd') ?? 0), Number(readPath(totals, 'own_cost_usd') ?? 0)];
  const layout = { currencyLabel, costDecimals: toCostDecimals(Math.max(whole, cost)), timeZone: 'UTC', largest: 0 };
  const format = (amount: number): string => formatCell(amount, 'cost', layout);
  const isSeen = (amount: number | null): amount is number => Math.abs(amount ?? 0) >= 0.5 * 10 ** -layout.costDecimals;
  const parts = [
    isSeen(leftOut)
      ? `${format(leftOut)} of ${filters.subagents === 'only' ? 'main sessions' : 'sub-agents'}, left out here`
      : '',
    isSeen(beyond) ? `${format(beyond)} from sessions that the filters, such as the time, only partly include` : '',
  ].filter((part) => part !== '');
  return [
    ...(isSeen(whole - own)
      ? [
          `Cost includes what each session shares with others, ${format(whole - own)} more; own cost, every response once.`,
        ]
      : []),
    `Own cost ${[format(own), ...parts].join(' + ')} = ${format(cost)}, the total of \`recount report usage\`.`,
  ];
}

/** Says that an answer has more rows than its limit. */
export const toTruncationLine = ({ rows }: Pick<ReportAnswer, 'rows'>): string =>
  `Only the first ${formatCountOf(rows.length, 'row')}; --limit shows more.`;

function toDisagreementLine(
  { responses, cost_usd, lowest_cost_usd, highest_cost_usd }: ReportAnswer['caveats']['disagreements'],
  currencyLabel: string,
): string {
  const costDecimals = toCostDecimals(highest_cost_usd);
  const format = (cost: number) =>
    formatCell(cost, 'cost', { currencyLabel, costDecimals, timeZone: 'UTC', largest: 0 });
  return (
    `Disagreeing copies: ${toResponses(responses)}, counted with ${format(cost_usd)}; by their copies it may be ` +
    `${format(lowest_cost_usd)} to ${format(highest_cost_usd)}. See \`recount report disagreements\`.`
  );
}

const toSessions = (count: number): string => formatCountOf(count, 'session');
const toResponses = (count: number): string => formatCountOf(count, 'response');

/** Names the tier or speed that has no price, if the model has one otherwise. */
function toUnpricedNames({ models, terms = [] }: ReportAnswer['caveats']['unpriced']): string {
  const all = [...models, ...terms.map(toUnpricedName)];
  const names = all.slice(0, MAX_NAMED_MODELS).map((name) => toSingleLine(name).slice(0, 60));
  const more = all.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}
