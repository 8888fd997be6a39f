import type { WorkspacePrices } from '@recount/contract';
import { describeOldPrices } from '@recount/contract/price-words';
import {
  createPriceTable,
  listKnownModels,
  type PriceComparison,
  parsePriceOverrides,
  type RateBand,
} from '@recount/prices';
import { formatCount, formatDecimal } from '../terminal/format-values.ts';
import { formatTable, type TableColumn } from '../terminal/table.ts';
import { toSingleLine, wrapToWidth } from '../terminal/text-width.ts';

const COLUMNS: readonly TableColumn[] = [
  { header: 'MODEL', minWidth: 16 },
  { header: 'SINCE' },
  { header: 'REQUESTS', isOptional: true, rank: 3 },
  { header: 'INPUT', align: 'right' },
  { header: 'OUTPUT', align: 'right' },
  { header: 'CACHE READ', align: 'right', isOptional: true, rank: 2 },
  { header: 'WRITE 5 MIN', align: 'right', isOptional: true, rank: 1 },
  { header: 'WRITE 1 H', align: 'right', isOptional: true, rank: 0 },
];

/** The workspace's own prices as a table, followed by the list if `withList`. */
export async function formatPrices(
  prices: WorkspacePrices,
  { withList, maxWidth, nowMs = Date.now() }: { withList: boolean; maxWidth: number; nowMs?: number },
): Promise<string[]> {
  const parsed = parsePriceOverrides(prices.overrides);
  const overrides = 'overrides' in parsed ? parsed.overrides : [];
  const own = overrides.flatMap((override) => {
    const table = createPriceTable({ overrides: [override] });
    const example = override.model.replace(/\*$/, '');
    const bands = table.describeRates(example, override.startsAt ?? null)?.bands ?? [];
    return toRows(override.model, override.startsAt ?? null, bands);
  });
  const listed = listKnownModels().flatMap(({ model, periods }) =>
    periods.flatMap(({ startsAt, bands }) => toRows(model, startsAt, bands)),
  );
  return [
    `Costs are called ${prices.currency_label}. Price version: ${prices.price_version}`,
    ...formatLists(prices, maxWidth, nowMs),
    '',
    ...(own.length === 0
      ? ['The workspace has no custom prices.']
      : ['The workspace’s own, in dollars per million tokens:', ...formatTable(COLUMNS, own, maxWidth)]),
    ...(withList ? ['', 'The list, in dollars per million tokens:', ...formatTable(COLUMNS, listed, maxWidth)] : []),
  ];
}

/** The lists that hold besides the workspace's own prices, and from when they are. */
function formatLists(
  { price_file: file, price_date: date }: Partial<WorkspacePrices>,
  maxWidth: number,
  nowMs: number,
): string[] {
  if (date === undefined) return [];
  const lines: string[] = [];
  if (file != null) {
    const { location, format, model_count: models, invalid_count: invalid, error } = file;
    if (error !== null) lines.push(error);
    if (format !== null) {
      lines.push(
        `Price file: ${location}, ${format} of ${file.date ?? 'an unknown day'}, ${formatCount(models)} models.`,
      );
    }
    if (invalid > 0) lines.push(`${formatCount(invalid)} invalid figures in it are left out:`);
    lines.push(...file.invalid.slice(0, MAX_SHOWN_INVALID).map(({ path, message }) => `  ${path} ${message}`));
  }
  lines.push(describeOldPrices(date, nowMs) ?? `The newest list dates from ${date}.`);
  return lines.flatMap((line) => wrapToWidth(toSingleLine(line), maxWidth));
}

function toRows(model: string, startsAt: string | null, bands: readonly RateBand[]): string[][] {
  return bands.map(({ overInputTokens, rates }) => [
    model,
    startsAt?.slice(0, 10) ?? '',
    overInputTokens < 0 ? '' : `over ${formatCount(overInputTokens)}`,
    ...[
      rates.inputUsdPerMillion,
      rates.outputUsdPerMillion,
      rates.cacheReadUsdPerMillion,
      rates.cacheWrite5mUsdPerMillion,
      rates.cacheWrite1hUsdPerMillion,
    ].map(formatRate),
  ]);
}

/** With two to four decimals. */
const formatRate = (usd: number): string => formatDecimal(usd, 4).replace(/0{1,2}$/, '');

const DIFFERENCE_COLUMNS: readonly TableColumn[] = [
  { header: 'MODEL', minWidth: 16 },
  { header: 'CLASS' },
  { header: 'REQUESTS', isOptional: true },
  { header: 'RECOUNT', align: 'right' },
  { header: 'FILE', align: 'right' },
];
const MAX_SHOWN_UNPRICED = 10;
const MAX_SHOWN_INVALID = 20;

/** Differences between the list and another one, in dollars per million tokens. */
export function formatComparison(comparison: PriceComparison, maxWidth: number): string[] {
  const { comparedModels, equalModels, differences, unpriced } = comparison;
  const rows = differences.map(({ model, class: name, overInputTokens, ours, theirs }) => [
    ...[model, name, overInputTokens < 0 ? '' : `over ${formatCount(overInputTokens)}`],
    ...[formatRate(ours), formatRate(theirs)],
  ]);
  const shown = unpriced.slice(0, MAX_SHOWN_UNPRICED).map(toSingleLine).join(', ');
  const more = unpriced.length > MAX_SHOWN_UNPRICED ? ` and ${unpriced.length - MAX_SHOWN_UNPRICED} more` : '';
  return [
    `${formatCount(equalModels)} of ${formatCount(comparedModels)} models have the same prices.`,
    ...(rows.length === 0
      ? []
      : ['', 'In dollars per million tokens:', ...formatTable(DIFFERENCE_COLUMNS, rows, maxWidth)]),
    ...(unpriced.length === 0 ? [] : ['', ...wrapToWidth(`Without a price in recount: ${shown}${more}`, maxWidth)]),
  ];
}
