import type { RepositoryList } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { joinPeople, toPeopleKey } from '../filters/attributed-to.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import { readUsageReport } from './read-usage-report.ts';
import { toConditions, toReportSource } from './report-source.ts';

interface Activity {
  name: string;
  people: number;
  first_ms: number | null;
  last_ms: number | null;
}

/** Repositories with the figures of the usage report, the most expensive first, then those without usage by name. */
export async function listRepositories(
  database: Database,
  filter: ReportFilter,
  limit: number,
): Promise<Pick<RepositoryList, 'repositories' | 'truncated'>> {
  const { rows: usage } = await readUsageReport(database, filter, { groupBy: ['repository'], limit: limit + 1 });
  const used = usage.flatMap(({ repository }) => repository ?? []);
  const conditions = toConditions(filter, toReportSource('s', { time: 'first_timestamp' }));
  const sessionPerson = sql`s.person`;
  const person = toPeopleKey('person', sessionPerson, filter.people);
  const joined = joinPeople(['person'], { person: sessionPerson, time: sql`s.first_timestamp` }, filter.people);
  const { rows } = await database.execute<Activity & Record<string, unknown>>(sql`
    SELECT s.repository AS name, count(DISTINCT ${person})::int AS people,
      extract(epoch FROM min(s.first_timestamp))::float8 * 1000 AS first_ms,
      extract(epoch FROM max(s.last_timestamp))::float8 * 1000 AS last_ms
    FROM recount.sessions AS s ${joined} WHERE ${conditions} AND s.repository IS NOT NULL
    GROUP BY s.repository ORDER BY s.repository <> ALL(${sql.param(used)}::text[]), s.repository LIMIT ${limit + 1}::int`);
  const activities = new Map(rows.map((row) => [row.name, row]));
  const names = [...new Set([...used, ...activities.keys()])];
  const repositories = names.slice(0, limit).map((name) => {
    const figures = usage.find(({ repository }) => repository === name);
    const activity = activities.get(name);
    return {
      ...{ name, sessions: figures?.sessions ?? 0, people: activity?.people ?? 0 },
      cost_usd: figures === undefined ? null : figures.own.cost_usd,
      ...{ first_activity: toIso(activity?.first_ms), last_activity: toIso(activity?.last_ms) },
    };
  });
  return { repositories, truncated: names.length > limit };
}

const toIso = (ms: number | null | undefined): string | null => (ms == null ? null : new Date(ms).toISOString());
