import type { DigestPreview } from '@recount/contract';
import { PERSON_FIELDS } from '@recount/contract/access';
import { createLocalClock } from '@recount/core';
import type { Database } from '../database/database.ts';
import { resolveKeptFilters } from '../filters/kept-filters.ts';
import { NAME_PARAMETERS } from '../filters/resolve-names.ts';
import { hideFilters, readPolicyRenaming } from '../filters/visible-names.ts';
import { addDays, narrowTime, toLocalDay, toMonday, toMonthStart } from '../reports/local-days.ts';
import { readUsageReport } from '../reports/read-usage-report.ts';
import type { digests } from '../schema/digests.ts';

type DigestRow = typeof digests.$inferSelect;

/** The content of a digest: figures of the report on usage for the same filters and time. */
export type DigestContent = Omit<DigestPreview['content'], 'filters'> & { filters: Record<string, unknown> };
type DigestFigures = DigestContent['totals'];

const GROUPS = ['repository', 'person', 'model'] as const;
const MAX_ROWS = 10;

/** The latest period that is over at a moment: its first day, and the day after its last one. */
export function findLastPeriod(
  { period, time_zone }: Pick<DigestRow, 'period' | 'time_zone'>,
  nowMs: number,
): { from: string; to: string } {
  const today = toLocalDay(nowMs, createLocalClock(time_zone));
  if (period === 'month') return { from: toMonthStart(today, -1), to: toMonthStart(today) };
  const to = toMonday(today);
  return { from: addDays(to, -7), to };
}

type Totals = Awaited<ReturnType<typeof readUsageReport>>['totals'];

const toFigures = ({ own, sessions }: Totals): DigestFigures => ({
  ...{ cost_usd: own.cost_usd, total_tokens: own.total_tokens, sessions, unpriced_responses: own.unpriced.responses },
});

/** Reads a digest of the latest period that is over. Throws UnresolvedNameError. */
export async function readDigest(database: Database, digest: DigestRow, nowMs: number): Promise<DigestContent> {
  const { id: digest_id, name, period, time_zone } = digest;
  const { filter, unmatched } = await resolveKeptFilters(database, digest);
  const clock = createLocalClock(time_zone);
  const within = (from: string, to: string) => narrowTime(filter, clock.toDayStartMs(from), clock.toDayStartMs(to));
  const { from, to } = findLastPeriod(digest, nowMs);
  const before = period === 'month' ? toMonthStart(from, -1) : addDays(from, -7);
  const { totals } = await readUsageReport(database, within(from, to), { limit: 1 });
  const { totals: previous } = await readUsageReport(database, within(before, from), { limit: 1 });
  const groups: DigestContent['groups'] = [];
  // Anyone may get a digest.
  const hidden = await readPolicyRenaming(database, digest.workspace_id);
  const scope = { ...within(from, to), hiddenOrder: hidden?.hiddenOrder };
  for (const by of GROUPS) {
    // Pseudonyms alone would tell their reader nothing.
    if (by === 'person' && hidden?.hidesAll) continue;
    const { rows, truncated } = await readUsageReport(database, scope, { groupBy: [by], limit: MAX_ROWS });
    const toName = (name: string | null): string | null =>
      hidden === undefined || name === null || by !== 'person' ? name : hidden.rename(by, name);
    groups.push({ by, rows: rows.map((row) => ({ name: toName(row[by] ?? null), ...toFigures(row) })), truncated });
  }
  const filters = hidden === undefined ? digest.filters : hideFilters(digest.filters, hidden.rename);
  return {
    ...{ digest_id, name, period, time_zone, filters, from, to, groups },
    ...{ totals: toFigures(totals), previous: toFigures(previous) },
    // They offer names that are similar.
    unmatched: unmatched
      .filter(({ field }) => hidden === undefined || !PERSON_FIELDS.has(NAME_PARAMETERS[field]))
      .map(({ message }) => message),
  };
}
