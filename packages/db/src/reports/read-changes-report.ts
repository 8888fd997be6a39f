import type { ReportBody, ReportTotals } from '@recount/contract';
import { createLocalClock } from '@recount/core';
import type { Database } from '../database/database.ts';
import { type ReportFilter, toMoment } from '../filters/report-filter.ts';
import { addDays, DAY_MS, toLocalDay } from './local-days.ts';
import { readUsageReport } from './read-usage-report.ts';
import type { ReportKey } from './report-keys.ts';

/** Groups of each period; those beyond are not compared. */
const MAX_GROUPS = 10_000;
/** Roll-ups have rows of 15 minutes. */
const BUCKET_MS = 15 * 60_000;

type Figures = ReportTotals<'changes'>;
type Usage = Awaited<ReturnType<typeof readUsageReport>>['totals'];
type ChangedKey = Extract<
  ReportKey,
  | 'repository'
  | 'model'
  | 'person'
  | 'team'
  | 'cost_centre'
  | 'agent'
  | 'project'
  | 'machine'
  | 'git_branch'
  | 'kind_of_work'
>;

interface ChangesPage {
  groupBy: readonly ChangedKey[];
  limit: number;
  nowMs: number;
  previousFrom?: string | undefined;
  previousTo?: string | undefined;
}

/** Two answers of `readUsageReport`, each group beside the same one of the earlier period. */
export async function readChangesReport(
  database: Database,
  filter: ReportFilter,
  { groupBy, limit, ...page }: ChangesPage,
): Promise<ReportBody<'changes'>> {
  const previous = toPrevious(filter, page);
  const read = (times: Pick<ReportFilter, 'from' | 'to'>) =>
    readUsageReport(database, { ...filter, ...times }, { groupBy, limit: MAX_GROUPS });
  const now = await read(filter);
  const before = previous === null ? { rows: [], totals: undefined, truncated: false } : await read(previous);
  const toId = (row: object): string => JSON.stringify(groupBy.map((key) => (row as Record<string, unknown>)[key]));
  const earlier = new Map(before.rows.map((row) => [toId(row), row]));
  const later = new Map(now.rows.map((row) => [toId(row), row]));
  const ids = [...new Set([...later.keys(), ...earlier.keys()])].filter(
    // A group that is missing in a list that is cut off may have a cost.
    (id) => (later.has(id) || !now.truncated) && (earlier.has(id) || !before.truncated),
  );
  const rows = ids
    .map((id) => {
      const row = later.get(id) ?? earlier.get(id);
      const names = Object.fromEntries(groupBy.map((key) => [key, row?.[key]]));
      return { ...names, ...compare(later.get(id), earlier.get(id)) };
    })
    .sort((a, b) => toSize(b) - toSize(a) || (b.cost_usd ?? 0) - (a.cost_usd ?? 0));
  return {
    rows: rows.slice(0, limit),
    totals: compare(now.totals, before.totals),
    truncated: rows.length > limit || now.truncated || before.truncated,
    previous,
  };
}

const toSize = ({ change_usd }: Figures): number => Math.abs(change_usd ?? -1);

function compare(now: Usage | undefined, before: Usage | undefined): Figures {
  const [cost, costBefore] = [now, before].map((usage) => (usage === undefined ? 0 : usage.own.cost_usd)) as [
    number | null,
    number | null,
  ];
  return {
    cost_usd: cost,
    previous_cost_usd: costBefore,
    change_usd: cost === null || costBefore === null ? null : cost - costBefore,
    total_tokens: now?.own.total_tokens ?? 0,
    previous_total_tokens: before?.own.total_tokens ?? 0,
    sessions: now?.sessions ?? 0,
    previous_sessions: before?.sessions ?? 0,
  };
}

/** Null without a beginning. Whole days are as many days before, also where clocks change in between. */
function toPrevious(
  { from, to, timeZone }: ReportFilter,
  { previousFrom, previousTo, nowMs }: Pick<ChangesPage, 'previousFrom' | 'previousTo' | 'nowMs'>,
): { from: string; to: string } | null {
  const clock = createLocalClock(timeZone);
  const end = toMoment(previousTo, clock) ?? from;
  if (end === null) return null;
  const wanted = toMoment(previousFrom, clock);
  if (wanted !== null) return { from: wanted, to: end };
  if (from === null) return null;
  const [fromMs, toMs] = [Date.parse(from), to === null ? nowMs : Date.parse(to)];
  const startsDay = (ms: number): boolean => clock.toDayStartMs(toLocalDay(ms, clock)) === ms;
  const days = Math.round((toMs - fromMs) / DAY_MS);
  const startMs =
    startsDay(fromMs) && startsDay(toMs)
      ? clock.toDayStartMs(addDays(toLocalDay(fromMs, clock), -days))
      : Math.floor((fromMs - (toMs - fromMs)) / BUCKET_MS) * BUCKET_MS;
  return { from: new Date(startMs).toISOString(), to: end };
}
