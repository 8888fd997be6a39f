import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { fromPart, type GroupPart, restrict, withQueries } from './group-part.ts';
import type { ReportScope } from './report-keys.ts';
import type { ReportSource } from './report-source.ts';

/** The sources of a page. */
export interface FoundPage {
  narrow(part: GroupPart): GroupPart;
  /** The last moment of the narrowed parts' rows, ISO 8601. */
  until?: string;
  /** Number of sessions in all groups, if known. */
  sessionCount?: number;
}

const BUCKETS_PER_HOUR = 4;
/** Read beyond the page. If clocks go back over midnight, an hour of the previous day comes after one of the next. */
const MARGIN_HOURS = 24;

/**
 * Narrows parts to the hours of a page, if the first part has more. Rows are ordered by hours first, and all sums come
 * from days. The last hour may lack buckets. It is beyond the page.
 */
export async function findHours(
  database: Database,
  scope: ReportScope,
  limit: number,
  first: GroupPart,
): Promise<FoundPage | undefined> {
  if (typeof first.table !== 'function') return undefined;
  const buckets = (limit + MARGIN_HOURS) * BUCKETS_PER_HOUR;
  const { rows } = await database.execute<{ last_ms: number | null }>(sql`
    SELECT CASE WHEN count(*) = ${buckets}::int THEN extract(epoch FROM max(bucket))::float8 * 1000 END AS last_ms FROM (
      SELECT DISTINCT ${first.source.time} AS bucket ${fromPart(first, { ...scope, listsSessions: false })}
        AND ${first.source.time} IS NOT NULL
      ORDER BY bucket LIMIT ${buckets}
    ) AS buckets`);
  const lastMs = rows[0]?.last_ms ?? null;
  if (lastMs === null) return undefined;
  const until = new Date(lastMs).toISOString();
  const isUntil = ({ time }: ReportSource) => sql`(${time} IS NULL OR ${time} <= ${until}::timestamptz)`;
  return { until, narrow: (part) => restrict(part, isUntil(part.source)) };
}

/** Narrows parts to the sessions of a page, if more of the first part's sessions have a rank above zero. */
export async function findSessions(
  database: Database,
  scope: ReportScope,
  limit: number,
  first: GroupPart,
  ranking: readonly SQL[],
): Promise<FoundPage | undefined> {
  const ranks = ranking.map((rank) => sql`coalesce(${rank}, 0)`);
  const { rows } = await database.execute<{ ids: string[]; is_more: boolean | null; session_count: number }>(sql`
    ${withQueries([first], scope)}
    SELECT array_agg(id) AS ids, count(*) > ${limit}::int AND bool_and(is_ranked) AS is_more,
      max(session_count)::float8 AS session_count
    FROM (
      SELECT ${first.source.sessionId} AS id, greatest(${sql.join(ranks, sql`, `)}) > 0 AS is_ranked,
        count(*) OVER () AS session_count
      ${fromPart(first, scope)}
      GROUP BY 1 ORDER BY ${sql.join(ranks.map((rank) => sql`${rank} DESC, `))} 1
      LIMIT ${limit + 1}
    ) AS ranked`);
  const [found] = rows;
  if (!found?.is_more) return undefined;
  const ids = sql`${sql.param(found.ids)}::text[]`;
  return {
    narrow: (part) => restrict(part, sql`${part.source.sessionId} = ANY(${ids})`),
    sessionCount: found.session_count,
  };
}
