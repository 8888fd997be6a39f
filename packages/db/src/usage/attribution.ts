import type { Database } from '../database/database.ts';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { ATTRIBUTION, messageDayRollup, staleDays, usageDayRollup } from '../schema/rollups.ts';
import { sessions } from '../schema/transcripts.ts';
import { toDay } from './stale-days.ts';

/** The attribution of a session's usage, and the transcript that its figures come from. */
type Attribution = Record<(typeof ATTRIBUTION)[number], string | null> & { primary_transcript_id: string };

/** The attribution of sessions, by their ids. */
export type Attributions = ReadonlyMap<string, Attribution>;

/** The columns of `toAttributions`, for a SELECT or RETURNING. */
export const ATTRIBUTION_COLUMNS = sql.raw(['session_id', 'primary_transcript_id', ...ATTRIBUTION].join(', '));

export type AttributionRow = Attribution & { session_id: string };

export const toAttributions = (rows: readonly AttributionRow[]): Attributions =>
  new Map(rows.map((row) => [row.session_id, row]));

/** Joins what the sessions of a roll-up's rows are attributed to, as `s`. Looked up row by row, as days have few sessions. */
export const joinAttribution = (alias: string, workspaceId: string): SQL => sql`
  LEFT JOIN LATERAL (
    SELECT ${sql.raw(ATTRIBUTION.join(', '))} FROM ${sessions}
    WHERE workspace_id = ${opaqueWorkspaceId(workspaceId)} AND session_id = ${sql.raw(`${alias}.session_id`)} OFFSET 0
  ) AS s ON true`;

/** Marks the totals of all days of those sessions as stale that are attributed to something else than before. */
export async function markReattributed(
  transaction: Database,
  workspaceId: string,
  before: Attributions,
  after: Attributions,
): Promise<void> {
  const ids = [...after.keys()].filter((id) => {
    const [old, now] = [before.get(id), after.get(id)];
    return old !== undefined && now !== undefined && ATTRIBUTION.some((key) => old[key] !== now[key]);
  });
  if (ids.length === 0) return;
  const days = [usageDayRollup, messageDayRollup].map(
    (table) => sql`
      SELECT ${toDay('first_bucket_start')} AS day FROM ${table}
      WHERE workspace_id = ${opaqueWorkspaceId(workspaceId)} AND session_id = ANY(${sql.param(ids)}::text[])
        AND first_bucket_start IS NOT NULL`,
  );
  await transaction.execute(sql`
    INSERT INTO ${staleDays} (workspace_id, day)
    SELECT ${workspaceId}, day FROM (${sql.join(days, sql` UNION `)}) AS each`);
}
