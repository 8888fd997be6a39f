import type { ReportBody, ReportRow, WasteKind } from '@recount/contract';
import { createLocalClock, type LocalClock } from '@recount/core';
import type { Database } from '../database/database.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import { type Addressed, listAddressed } from '../findings/finding-decisions.ts';
import { compareWeeks, MAX_COMPARED_WEEKS } from './compare-weeks.ts';
import { addDays, countDays, narrowTime, toLocalDay } from './local-days.ts';
import { readUsageReport } from './read-usage-report.ts';
import { readWasteParts } from './read-waste-report.ts';

type Week = ReportBody<'addressed'>['weeks'][number];
type Side = ReportRow<'addressed'>['before'];

const WEEK_DAYS = 7;
const NONE_DISMISSED = new Map();
/** Days of eight weeks before the earliest day, or of many kinds, and after the latest. */
const MAX_DAYS = 10_000;

/** The weeks before and after the day since which each kind of finding is addressed. */
export async function readAddressedReport(
  database: Database,
  filter: ReportFilter,
  { limit }: { limit: number },
  nowMs: number,
): Promise<ReportBody<'addressed'>> {
  const clock = createLocalClock(filter.timeZone);
  const endMs = filter.to === null ? nowMs : Math.min(Date.parse(filter.to), nowMs);
  /** The day that is not over; only whole days before it count. */
  const today = toLocalDay(endMs, clock);
  const firstDay = filter.from === null ? undefined : toFirstWholeDay(Date.parse(filter.from), clock);
  const all = await listAddressed(database, filter.workspaceId);
  const rows: ReportBody<'addressed'>['rows'] = [];
  const weeks: Week[] = [];
  for (const addressed of all.slice(0, limit)) {
    const ofKind = await readWeeks(database, filter, addressed, { today, firstDay, clock });
    weeks.push(...ofKind);
    rows.push(toRow(addressed, ofKind));
  }
  return { rows, weeks, totals: { addressed: all.length }, truncated: all.length > limit };
}

function toFirstWholeDay(ms: number, clock: LocalClock): string {
  const day = toLocalDay(ms, clock);
  return clock.toDayStartMs(day) < ms ? addDays(day, 1) : day;
}

/** Complete weeks, counted from the day since which the kind is addressed. */
async function readWeeks(
  database: Database,
  filter: ReportFilter,
  { kind, since }: Addressed,
  { today, firstDay, clock }: { today: string; firstDay: string | undefined; clock: LocalClock },
): Promise<Week[]> {
  const countWeeks = (from: string, to: string): number =>
    Math.max(0, Math.min(MAX_COMPARED_WEEKS, Math.floor(countDays(from, to) / WEEK_DAYS)));
  const after = countWeeks(since, today);
  const before = firstDay === undefined ? MAX_COMPARED_WEEKS : countWeeks(firstDay, since);
  const start = addDays(since, -before * WEEK_DAYS);
  const end = addDays(since, after * WEEK_DAYS);
  const weeks = Array.from({ length: before + after }, (_, index): Week => {
    const from = addDays(start, index * WEEK_DAYS);
    const figures = { findings: 0, waste_usd: 0, cost_usd: 0, waste_share: null };
    return { kind: kind as WasteKind, is_after: index >= before, from, to: addDays(from, WEEK_DAYS), ...figures };
  });
  const inTime = narrowTime(filter, clock.toDayStartMs(start), clock.toDayStartMs(end));
  const weekOf = (day: string): Week | undefined => weeks[Math.floor(countDays(start, day) / WEEK_DAYS)];
  for (const { at_ms, findings, cost } of await readWasteParts(database, inTime, [kind as WasteKind], NONE_DISMISSED)) {
    const week = at_ms === null ? undefined : weekOf(toLocalDay(at_ms, clock));
    if (week === undefined) continue;
    week.findings += findings;
    week.waste_usd += cost;
  }
  const usage = await readUsageReport(database, inTime, { groupBy: ['day'], limit: MAX_DAYS });
  for (const { day, own } of usage.rows) {
    const week = day == null ? undefined : weekOf(day);
    if (week !== undefined) week.cost_usd = (week.cost_usd ?? 0) + (own.cost_usd ?? 0);
  }
  return weeks.map((week) => ({ ...week, waste_share: toShare(week) }));
}

const toShare = ({ waste_usd: wasteUsd, cost_usd: costUsd }: Pick<Week, 'waste_usd' | 'cost_usd'>): number | null =>
  costUsd === null || costUsd === 0 ? null : wasteUsd / costUsd;

function toRow({ kind, ...addressed }: Addressed, weeks: readonly Week[]): ReportRow<'addressed'> {
  const [before, after] = [false, true].map((isAfter) =>
    toSide(
      weeks.filter(({ is_after }) => is_after === isAfter),
      addressed.since,
    ),
  ) as [Side, Side];
  const isKnown = before.waste_share !== null && after.waste_share !== null;
  return {
    ...{ kind: kind as WasteKind, ...addressed, before, after },
    change: isKnown ? (after.waste_share ?? 0) - (before.waste_share ?? 0) : null,
    ...compareWeeks(
      weeks.map(({ is_after, waste_usd, cost_usd }) => ({ isAfter: is_after, wasteUsd: waste_usd, costUsd: cost_usd })),
    ),
  };
}

function toSide(weeks: readonly Week[], since: string): Side {
  const sum = (figure: 'findings' | 'waste_usd' | 'cost_usd'): number =>
    weeks.reduce((total, week) => total + (week[figure] ?? 0), 0);
  const sums = { findings: sum('findings'), waste_usd: sum('waste_usd'), cost_usd: sum('cost_usd') };
  const spentWeeks = weeks.filter(({ cost_usd }) => cost_usd !== null && cost_usd > 0).length;
  const range = { from: weeks[0]?.from ?? since, to: weeks.at(-1)?.to ?? since };
  return { ...range, ...sums, waste_share: toShare(sums), weeks: spentWeeks };
}
