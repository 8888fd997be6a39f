import type { ReportBody, ReportTotals } from '@recount/contract';
import { COST_UNITS_PER_USD, findBillVendor, toBilledModel } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { billRows } from '../schema/bills.ts';
import { toMonday } from './local-days.ts';
import { readTelemetryReport } from './read-telemetry-report.ts';
import { readUsageReport } from './read-usage-report.ts';

type BillKey = 'day' | 'week' | 'month' | 'model';
type Figures = ReportTotals<'bills'>;

/** Days × agents × models; more would not fit on any page. */
const MAX_GROUPS = 200_000;

interface BillLine extends Record<string, unknown> {
  vendor: string;
  day: string;
  model: string | null;
  /** Tokens of a model, something else, a credit, or an amount that the report does not split. */
  part: 'model' | 'item' | 'credit' | 'whole';
  amount: number;
  other_tier: number;
  tokens: number | null;
}

/** Bill, telemetry and transcripts of one model in one period. */
interface Cell {
  vendor: string;
  period: Partial<Record<BillKey, string | null>>;
  model: string | null;
  amounts: Record<BillLine['part'], number>;
  otherTier: number;
  billTokens: number | null;
  telemetry: number | null;
  missing: number;
  onlyTelemetry: number;
  transcripts: number | null;
  transcriptTokens: number;
  responses: number;
  unpriced: number;
}

/** The vendors' bills beside telemetry and transcripts, on the days that the bills cover, by the vendors' days (UTC). */
export async function readBillsReport(
  database: Database,
  filter: ReportFilter,
  { groupBy, limit }: { groupBy: readonly BillKey[]; limit: number },
): Promise<ReportBody<'bills'>> {
  const lines = await readLines(database, filter);
  const covered = Map.groupBy(lines, ({ vendor }) => vendor);
  const cells = new Map<string, Cell>();
  const findCell = (vendor: string, day: string, name: string | null): Cell => {
    const model = toBilledModel(name);
    const period = toPeriod(day, groupBy);
    const id = JSON.stringify([vendor, period, model]);
    const cell = cells.get(id) ?? createCell(vendor, period, model);
    cells.set(id, cell);
    return cell;
  };
  for (const line of lines) addLine(findCell(line.vendor, line.day, line.model), line);
  await addUsage(database, filter, covered, findCell);
  const all = [...cells.values()];
  const splits = new Set(
    [...covered].flatMap(([vendor, own]) => (own.some(({ part }) => part === 'whole') ? [] : [vendor])),
  );
  const groups = Map.groupBy(all, ({ vendor, period, model }) =>
    JSON.stringify({ vendor, ...period, ...(groupBy.includes('model') && { model }) }),
  );
  const rows = [...groups].map(([id, members]) => ({
    ...(JSON.parse(id) as { vendor: string; day?: string; week?: string; month?: string }),
    ...toFigures(members, splits),
  }));
  const toTime = (row: (typeof rows)[number]): string => row.day ?? row.week ?? row.month ?? '';
  rows.sort((a, b) => toTime(a).localeCompare(toTime(b)) || Math.abs(b.bill_usd) - Math.abs(a.bill_usd));
  return { rows: rows.slice(0, limit), totals: toFigures(all, splits), truncated: rows.length > limit };
}

async function readLines(database: Database, { workspaceId, from, to, model }: ReportFilter): Promise<BillLine[]> {
  const { rows } = await database.execute<BillLine>(sql`
    SELECT vendor, day, model, part, coalesce(sum(amount_usd), 0)::float8 AS amount,
      coalesce(sum(amount_usd) FILTER (WHERE service_tier NOT IN ('standard', 'default')), 0)::float8 AS other_tier,
      sum(tokens_in + tokens_out + cache_read + cache_write)::float8 AS tokens
    FROM (
      SELECT b.*, CASE WHEN b.amount_usd < 0 THEN 'credit' WHEN b.model IS NOT NULL THEN 'model'
        WHEN b.line_item IS NOT NULL THEN 'item' ELSE 'whole' END AS part
      FROM ${billRows} AS b
      WHERE b.workspace_id = ${workspaceId}
        AND (${from}::timestamptz IS NULL OR (b.day || 'T00:00:00Z')::timestamptz >= ${from}::timestamptz)
        AND (${to}::timestamptz IS NULL OR (b.day || 'T00:00:00Z')::timestamptz < ${to}::timestamptz)
    ) AS line
    GROUP BY 1, 2, 3, 4`);
  const wanted = model === undefined ? undefined : new Set(model.map((name) => toBilledModel(name)));
  return wanted === undefined ? rows : rows.filter((row) => wanted.has(toBilledModel(row.model)));
}

interface UsageKeys {
  day?: string | null | undefined;
  agent?: string | null | undefined;
  model?: string | null | undefined;
}

type FindCell = (vendor: string, day: string, model: string | null) => Cell;

/** Adds transcripts and telemetry of the vendors, on the days between the first and the last that their bill has. */
async function addUsage(
  database: Database,
  filter: ReportFilter,
  covered: ReadonlyMap<string, readonly BillLine[]>,
  findCell: FindCell,
): Promise<void> {
  const days = [...covered.values()].flat().map(({ day }) => day);
  if (days.length === 0) return;
  const spans = new Map([...covered].map(([vendor, lines]) => [vendor, toSpan(lines.map(({ day }) => day))]));
  const span = toSpan(days);
  const inUtc = { ...filter, timeZone: 'UTC', from: toMoment(span.first, 0), to: toMoment(span.last, 1) };
  const page = { groupBy: ['day', 'agent', 'model'] as const, limit: MAX_GROUPS };
  const find = (row: UsageKeys): Cell | undefined => {
    const { day, agent = null, model = null } = row;
    const vendor = findBillVendor(agent, model);
    const own = vendor === undefined ? undefined : spans.get(vendor);
    const isCovered = own !== undefined && day != null && own.first <= day && day <= own.last;
    return isCovered && vendor !== undefined ? findCell(vendor, day, model) : undefined;
  };
  const usage = await readUsageReport(database, inUtc, page);
  for (const row of usage.rows) {
    const cell = find(row);
    if (cell === undefined) continue;
    cell.transcripts = add(cell.transcripts, row.own.cost_usd);
    cell.transcriptTokens += row.own.total_tokens;
    cell.responses += row.own.responses;
    cell.unpriced += row.own.unpriced.responses;
  }
  const telemetry = await readTelemetryReport(database, inUtc, page);
  for (const row of telemetry.rows) {
    const cell = row.requests > 0 || row.telemetry_tokens > 0 ? find(row) : undefined;
    if (cell === undefined) continue;
    cell.telemetry = add(cell.telemetry, row.telemetry_cost_usd);
    cell.missing += row.missing_cost_usd ?? 0;
    cell.onlyTelemetry += (row.telemetry_only_cost_usd ?? 0) - (row.missing_cost_usd ?? 0);
  }
}

const DAY_MS = 24 * 60 * 60_000;
const toMoment = (day: string, daysLater: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + daysLater * DAY_MS).toISOString();

function toSpan(days: readonly string[]): { first: string; last: string } {
  const sorted = days.toSorted();
  return { first: sorted[0] ?? '', last: sorted.at(-1) ?? '' };
}

const add = (a: number | null, b: number | null): number | null => (a === null ? b : a + (b ?? 0));

function toPeriod(day: string, groupBy: readonly BillKey[]): Cell['period'] {
  const values = { day, week: toMonday(day), month: day.slice(0, 7) };
  return Object.fromEntries(groupBy.flatMap((key) => (key === 'model' ? [] : [[key, values[key]]])));
}

const createCell = (vendor: string, period: Cell['period'], model: string | null): Cell => ({
  vendor,
  period,
  model,
  amounts: { model: 0, item: 0, credit: 0, whole: 0 },
  otherTier: 0,
  billTokens: null,
  telemetry: null,
  missing: 0,
  onlyTelemetry: 0,
  transcripts: null,
  transcriptTokens: 0,
  responses: 0,
  unpriced: 0,
});

function addLine(cell: Cell, { part, amount, other_tier: otherTier, tokens }: BillLine): void {
  cell.amounts[part] += amount;
  cell.otherTier += otherTier;
  cell.billTokens = add(cell.billTokens, tokens);
}

/** The known parts of a cell's difference. `isSplit` if the vendor's bill has amounts by model. */
function explain({ amounts, missing, onlyTelemetry, responses, transcripts }: Cell, isSplit: boolean) {
  const isBilled = amounts.model !== 0;
  const bill = amounts.model + amounts.item + amounts.credit + amounts.whole;
  const difference = bill - (transcripts ?? 0);
  const parts = {
    other_items_usd: amounts.item,
    credits_usd: amounts.credit,
    missing_sessions_usd: missing,
    only_telemetry_usd: onlyTelemetry,
    no_transcripts_usd:
      isSplit && isBilled && responses === 0 ? Math.max(0, amounts.model - missing - onlyTelemetry) : 0,
    not_billed_usd: isSplit && !isBilled ? -(transcripts ?? 0) - missing - onlyTelemetry : 0,
  };
  const explained = Object.values(parts).reduce((sum, value) => sum + value, 0);
  return { bill, difference, parts, unexplained: difference - explained };
}

const round = (usd: number): number => Math.round(usd * COST_UNITS_PER_USD) / COST_UNITS_PER_USD + 0;

function toFigures(cells: readonly Cell[], splits: ReadonlySet<string>): Figures {
  const found = cells.map((cell) => explain(cell, splits.has(cell.vendor)));
  const sum = <Item>(items: readonly Item[], read: (item: Item) => number): number =>
    items.reduce((total, item) => total + read(item), 0);
  const known = (read: (cell: Cell) => number | null): number | null => {
    const values = cells.flatMap((cell) => read(cell) ?? []);
    return values.length === 0 ? null : sum(values, (value) => value);
  };
  const part = (name: keyof (typeof found)[number]['parts']): number => round(sum(found, ({ parts }) => parts[name]));
  const transcripts = known((cell) => cell.transcripts);
  const telemetry = known((cell) => cell.telemetry);
  return {
    bill_usd: round(sum(found, ({ bill }) => bill)),
    telemetry_usd: telemetry === null ? null : round(telemetry),
    transcript_usd:
      transcripts === null ? (sum(cells, ({ responses }) => responses) > 0 ? null : 0) : round(transcripts),
    bill_tokens: known((cell) => cell.billTokens),
    transcript_tokens: sum(cells, ({ transcriptTokens }) => transcriptTokens),
    difference_usd: round(sum(found, ({ difference }) => difference)),
    other_items_usd: part('other_items_usd'),
    credits_usd: part('credits_usd'),
    missing_sessions_usd: part('missing_sessions_usd'),
    only_telemetry_usd: part('only_telemetry_usd'),
    no_transcripts_usd: part('no_transcripts_usd'),
    not_billed_usd: part('not_billed_usd'),
    unexplained_usd: round(sum(found, ({ unexplained }) => unexplained)),
    other_tier_usd: round(sum(cells, ({ otherTier }) => otherTier)),
    unpriced_responses: sum(cells, ({ unpriced }) => unpriced),
  };
}
