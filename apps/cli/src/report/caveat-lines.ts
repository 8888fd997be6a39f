import { type Caveat, describeCaveats } from '@recount/contract/reports/caveats';
import { readPath } from '@recount/contract/reports/read-path';
import { formatCount, formatCountOf } from '../terminal/format-values.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { formatCell, isMoney, toCostDecimals } from './format-cell.ts';
import type { ReportAnswer } from './report-answer.ts';
import type { ReportKind } from './report-kinds.ts';

const MAX_NAMED_MODELS = 3;

/**
 * Known inaccuracies of the figures, one line each; empty if there are none, or no cost is shown. `details` is the same
 * report split by model, if that is shown.
 */
export function toCaveatLines(
  { columns }: ReportKind,
  { caveats, filters, currency_label, totals, rows, truncated, usage }: ReportAnswer,
  details?: ReportAnswer,
  nowMs = Date.now(),
): string[] {
  const sharedResponses = Number(readPath(totals, 'shared.responses') ?? 0);
  const lines = [...toMeaningLines(filters), ...toAgreementLines({ filters, totals, currency_label, usage })];
  const dismissedLine = toDismissedLine(totals);
  if (dismissedLine !== undefined) lines.push(dismissedLine);
  if (truncated) lines.push(`${toTruncationLine({ rows })} The totals are of all.`);
  if (details?.truncated) {
    lines.push(`Only the first ${formatCount(details.rows.length)} models in all are shown; --limit shows more.`);
  }
  if (!columns.some(({ format }) => isMoney(format))) return lines;
  const largest = Math.max(caveats.disagreements.highest_cost_usd, caveats.unfinalised.estimated_cost_usd ?? 0);
  const layout = { currencyLabel: currency_label, costDecimals: toCostDecimals(largest), timeZone: 'UTC', largest: 0 };
  const money = (cost: number): string => formatCell(cost, 'cost', layout);
  const described = describeCaveats(caveats, { count: formatCount, tokens: formatCount, money }, nowMs);
  lines.push(...described.map(toLine));
  if (sharedResponses > 0) {
    lines.push(
      `Shared: ${formatCountOf(sharedResponses, 'copy', 'copies')} in resumed, forked or replayed sessions, which count once.`,
    );
  }
  return lines;
}

/** Findings that were dismissed, so that no figure hides silently. */
function toDismissedLine(totals: ReportAnswer['totals']): string | undefined {
  const count = Number(readPath(totals, 'dismissed_findings') ?? 0);
  return count === 0
    ? undefined
    : `Dismissed: ${formatCountOf(count, 'finding')}; \`recount findings --dismissed only\` lists ${count === 1 ? 'it' : 'them'}.`;
}

const NAMES = [
  'agent',
  'repository',
  'project',
  'git_branch',
  'machine',
  'person',
  'team',
  'cost_centre',
  'kind_of_work',
  'model',
] as const;
const MAX_MEANT_NAMES = 8;

/** Which names a filter means, if they are several. */
function toMeaningLines(filters: ReportAnswer['filters']): string[] {
  return NAMES.flatMap((field) => {
    const names = filters[field] ?? [];
    if (names.length < 2) return [];
    const more = names.length > MAX_MEANT_NAMES ? ` and ${formatCount(names.length - MAX_MEANT_NAMES)} more` : '';
    const option = field === 'git_branch' ? 'branch' : field.replaceAll('_', '-');
    return [`--${option}: ${names.slice(0, MAX_MEANT_NAMES).map(toSingleLine).join(', ')}${more}.`];
  });
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

/** Commands that say or change more. */
const HINTS: Readonly<Record<string, string>> = {
  Unpriced: ' See `recount prices --help`.',
  'Old prices': ' A newer recount or a price file (`recount prices --help`) knows newer models and prices.',
  'Disagreeing copies': ' See `recount report disagreements`.',
};

function toLine({ label, text, names }: Caveat): string {
  const shown = names.slice(0, MAX_NAMED_MODELS).map(({ name }) => toSingleLine(name).slice(0, 60));
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : '';
  const list = shown.length === 0 ? '' : ` ${shown.join(', ')}${more}.`;
  return `${label}: ${text}${list}${HINTS[label] ?? ''}`;
}
