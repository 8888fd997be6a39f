import { createHash } from 'node:crypto';
import type { ReportBody, ReportTotals } from '@recount/contract';
import { PERSON_FIELDS } from '@recount/contract/access';
import { COST_UNITS_PER_USD, createLocalClock, type LocalClock, toUsd } from '@recount/core';
import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { joinPeople, toPeopleKey } from '../filters/attributed-to.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import { isDayKey, toDayKeys } from './local-days.ts';
import { toConditions, toReportSource } from './report-source.ts';

type TelemetryKey =
  | 'day'
  | 'week'
  | 'month'
  | 'agent'
  | 'person'
  | 'team'
  | 'cost_centre'
  | 'machine'
  | 'model'
  | 'repository'
  | 'project'
  | 'session';
type Figures = ReportTotals<'telemetry'>;

interface Part extends Record<string, unknown> {
  /** The 15 minutes that it is in. */
  at_ms: number | null;
  agent: string | null;
  person: string | null;
  team: string | null;
  cost_centre: string | null;
  machine: string | null;
  model: string | null;
  purpose: string | null;
  repository: string | null;
  project: string | null;
  session: string;
  /** The session that telemetry names; null if it does not have it. */
  witness_session: string | null;
  is_missing: boolean;
  is_unseen: boolean;
  requests: number;
  matched: number;
  differing: number;
  responses: number;
  transcript_only: number;
  telemetry_tokens: number;
  transcript_tokens: number;
  /** In units of 1e-10 dollars; null if none is known. */
  telemetry_units: number | null;
  transcript_units: number | null;
  telemetry_only_units: number | null;
  transcript_only_units: number | null;
}

/**
 * The clocks of telemetry and transcripts may differ, and a request be on the other side of the filter’s edge. What is
 * compared extends over the edges by this.
 */
const MARGIN = sql`interval '7 days'`;
/** No agent nests its sub-agents nearly as deep. */
const MAX_DEPTH = sql.raw('20');

const TOKENS = ['tokens_in', 'tokens_out', 'cache_read', 'cache_write'] as const;
const listTokens = (alias: string): SQL => sql.raw(TOKENS.map((name) => `${alias}.${name}`).join(', '));
const addTokens = (alias: string): SQL => sql.raw(TOKENS.map((name) => `${alias}.${name}`).join(' + '));

const SOURCE = toReportSource('s', { time: 'timestamp', own: ['model', 'git_branch', 'agent_version'] });

const isNear = ({ from, to }: Pick<ReportFilter, 'from' | 'to'>, time: SQL): SQL =>
  sql.join(
    [
      sql`true`,
      ...(from === null ? [] : [sql`${time} >= ${from}::timestamptz - ${MARGIN}`]),
      ...(to === null ? [] : [sql`${time} < ${to}::timestamptz + ${MARGIN}`]),
    ],
    sql` AND `,
  );

/**
 * Pairs of requests and responses. First by id: agents name the request or the response. Then, within a session and its
 * sub-agents, by equal tokens, the first with the first.
 */
const PAIRS = sql`
  by_id AS MATERIALIZED (
    SELECT DISTINCT ON (q.agent, q.record_key) q.agent, q.record_key, p.response_key
    FROM request AS q JOIN (
      SELECT agent, response_key, request_id AS id FROM response WHERE request_id IS NOT NULL
      UNION SELECT agent, response_key, provider_message_id FROM response WHERE provider_message_id IS NOT NULL
    ) AS p ON p.agent = q.agent AND p.id = q.request_id
    ORDER BY q.agent, q.record_key, p.response_key
  ), left_request AS (
    SELECT q.agent, q.record_key, q.root, ${listTokens('q')}, row_number() OVER (
      PARTITION BY q.agent, q.root, ${listTokens('q')} ORDER BY q."timestamp", q.record_key) AS number
    FROM request AS q
    WHERE NOT EXISTS (SELECT FROM by_id AS i WHERE i.agent = q.agent AND i.record_key = q.record_key)
  ), left_response AS (
    SELECT p.agent, p.response_key, p.root, ${listTokens('p')}, row_number() OVER (
      PARTITION BY p.agent, p.root, ${listTokens('p')} ORDER BY p."timestamp", p.response_key) AS number
    FROM response AS p
    WHERE NOT EXISTS (SELECT FROM by_id AS i WHERE i.agent = p.agent AND i.response_key = p.response_key)
  ), pair AS MATERIALIZED (
    SELECT * FROM by_id
    UNION ALL
    SELECT q.agent, q.record_key, p.response_key
    FROM left_request AS q JOIN left_response AS p USING (agent, root, number, ${sql.raw(TOKENS.join(', '))})
  )`;

/** Records of telemetry, and the responses of the sessions that it names and of their sub-agents. */
const selectCompared = (filter: ReportFilter): SQL => sql`
  witness AS MATERIALIZED (
    SELECT t.* FROM recount.telemetry_records AS t
    WHERE t.workspace_id = ${filter.workspaceId} AND ${isNear(filter, sql`t."timestamp"`)}
  ), climb AS (
    SELECT w.session_id, w.session_id AS top, 0 AS depth FROM (SELECT DISTINCT session_id FROM witness) AS w
    UNION ALL
    SELECT c.session_id, s.parent_session_id, c.depth + 1
    FROM climb AS c JOIN recount.sessions AS s ON s.workspace_id = ${filter.workspaceId} AND s.session_id = c.top
    WHERE s.parent_session_id IS NOT NULL AND c.depth < ${MAX_DEPTH}
  ), root AS MATERIALIZED (
    SELECT DISTINCT ON (session_id) session_id, top AS root FROM climb ORDER BY session_id, depth DESC
  ), tree AS (
    SELECT r.root AS session_id, r.root, 0 AS depth FROM (SELECT DISTINCT root FROM root) AS r
    UNION ALL
    SELECT s.session_id, t.root, t.depth + 1
    FROM tree AS t JOIN recount.sessions AS s ON s.workspace_id = ${filter.workspaceId} AND s.parent_session_id = t.session_id
    WHERE t.depth < ${MAX_DEPTH}
  ), member AS MATERIALIZED (
    SELECT DISTINCT ON (session_id) session_id, root FROM tree ORDER BY session_id, depth
  ), stored_root AS MATERIALIZED (
    SELECT DISTINCT m.root FROM member AS m
    JOIN recount.sessions AS s ON s.workspace_id = ${filter.workspaceId} AND s.session_id = m.session_id
  ), request AS MATERIALIZED (
    SELECT w.*, r.root FROM witness AS w JOIN root AS r ON r.session_id = w.session_id WHERE w.kind = 'request'
  ), response AS MATERIALIZED (
    SELECT l.agent, l.response_key, m.root, l.session_id, l.request_id, l.provider_message_id, l.model, l."timestamp",
      ${listTokens('l')}, l.cost_usd
    FROM member AS m JOIN recount.usage_ledger AS l
      ON l.workspace_id = ${filter.workspaceId} AND l.session_id = m.session_id
    WHERE ${isNear(filter, sql`l."timestamp"`)}
  )`;

const PART_COLUMNS =
  sql.raw(`agent, session_id, witness_session, is_missing, is_unseen, "timestamp", model, purpose, said_person, said_machine,
  requests, matched, differing, responses, transcript_only, telemetry_tokens, transcript_tokens, telemetry_cost,
  transcript_cost, telemetry_only_cost, transcript_only_cost`);

/**
 * Each request, with its response; each response without one; sums of sessions without requests; unseen sessions.
 * Materialized, because Citus loses the names of columns of a part that it puts in the place of its name.
 */
const selectParts = (filter: ReportFilter): SQL => sql`
  part (${PART_COLUMNS}) AS MATERIALIZED (
    SELECT q.agent, coalesce(p.session_id, q.session_id), q.session_id, s.root IS NULL, false, q."timestamp",
      coalesce(p.model, q.model), q.purpose, q.person, q.machine, 1, (i.response_key IS NOT NULL)::int,
      (i.response_key IS NOT NULL AND (${listTokens('p')}) IS DISTINCT FROM (${listTokens('q')}))::int,
      (i.response_key IS NOT NULL)::int, 0, ${addTokens('q')}, coalesce(${addTokens('p')}, 0), q.reported_cost_usd,
      p.cost_usd, CASE WHEN i.response_key IS NULL THEN q.reported_cost_usd END, NULL::numeric
    FROM request AS q
    LEFT JOIN pair AS i ON i.agent = q.agent AND i.record_key = q.record_key
    LEFT JOIN response AS p ON p.agent = i.agent AND p.response_key = i.response_key
    LEFT JOIN stored_root AS s ON s.root = q.root
    UNION ALL
    SELECT p.agent, p.session_id, NULL, false, false, p."timestamp", p.model, NULL, NULL, NULL, 0, 0, 0, 1,
      has_requests::int, 0, ${addTokens('p')}, NULL, p.cost_usd, NULL, CASE WHEN has_requests THEN p.cost_usd END
    FROM response AS p
    CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM request AS q WHERE q.root = p.root) AS has_requests) AS r
    WHERE NOT EXISTS (SELECT FROM pair AS i WHERE i.agent = p.agent AND i.response_key = p.response_key)
    UNION ALL
    SELECT w.agent, w.session_id, w.session_id, s.root IS NULL, false, w."timestamp", w.model, w.purpose, w.person, w.machine, 0, 0, 0,
      0, 0, ${addTokens('w')}, 0, w.reported_cost_usd, NULL, NULL, NULL
    FROM witness AS w JOIN root AS r ON r.session_id = w.session_id LEFT JOIN stored_root AS s ON s.root = r.root
    WHERE w.kind = 'sum' AND NOT EXISTS (SELECT FROM request AS q WHERE q.root = r.root)
    UNION ALL
    SELECT s.agent, u.session_id, NULL, false, true, u.bucket_start, u.model, NULL, NULL, NULL, 0, 0, 0, u.responses, 0, 0, 0,
      NULL, CASE WHEN u.responses > u.unpriced_responses THEN u.cost_units / ${sql.raw(`${COST_UNITS_PER_USD}`)} END, NULL, NULL
    FROM recount.usage_rollup AS u
    JOIN recount.sessions AS s ON s.workspace_id = ${filter.workspaceId} AND s.session_id = u.session_id
    WHERE u.workspace_id = ${filter.workspaceId} AND NOT u.is_shared AND ${isNear(filter, sql`u.bucket_start`)}
      AND s.agent IN (SELECT agent FROM witness) AND NOT EXISTS (SELECT FROM member AS m WHERE m.session_id = u.session_id)
      AND NOT EXISTS (
        SELECT FROM recount.telemetry_records AS t
        WHERE t.workspace_id = ${filter.workspaceId} AND t.session_id IN (s.session_id, s.parent_session_id))
  )`;

const sum = (name: string) => sql.raw(`sum(${name})::float8 AS ${name}`);
const units = (name: string) => sql.raw(`sum(round(${name}_cost * ${COST_UNITS_PER_USD}))::float8 AS ${name}_units`);

async function readParts(database: Database, filter: ReportFilter, groupBy: readonly TelemetryKey[]): Promise<Part[]> {
  // Keys that are not asked for are not joined.
  const ofPeople = (['person', 'team', 'cost_centre'] as const).map((key) =>
    groupBy.includes(key)
      ? sql`${toPeopleKey(key, sql`s.person`, filter.people)} AS ${sql.identifier(key)}`
      : sql`NULL::text AS ${sql.identifier(key)}`,
  );
  const { rows } = await database.execute<Part>(sql`
    WITH RECURSIVE ${selectCompared(filter)}, ${PAIRS}, ${selectParts(filter)}
    SELECT extract(epoch FROM date_bin('15 minutes', "timestamp", '2000-01-01Z'))::float8 * 1000 AS at_ms, s.agent, s.machine,
      s.model, s.purpose, s.repository, s.project, s.session_id AS session, s.witness_session, s.is_missing, s.is_unseen,
      ${sql.join(ofPeople, sql`, `)},
      ${sum('requests')}, ${sum('matched')}, ${sum('differing')}, ${sum('responses')}, ${sum('transcript_only')},
      ${sum('telemetry_tokens')}, ${sum('transcript_tokens')}, ${units('telemetry')}, ${units('transcript')},
      ${units('telemetry_only')}, ${units('transcript_only')}
    FROM (
      SELECT part.*, ${filter.workspaceId}::text AS workspace_id, k.project, k.repository, k.git_branch, k.agent_version,
        coalesce(k.is_subagent, false) AS is_subagent, coalesce(k.person, said_person) AS person,
        coalesce(k.machine, said_machine) AS machine
      FROM part LEFT JOIN recount.sessions AS k
        ON k.workspace_id = ${filter.workspaceId} AND k.session_id = part.session_id
    ) AS s ${joinPeople(groupBy, { person: sql`s.person`, time: sql`s."timestamp"` }, filter.people)}
    WHERE ${toConditions(filter, SOURCE)}
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14`);
  return rows;
}

/** Telemetry and transcripts by groups; by time in its order, then the most telemetry cost first. */
export async function readTelemetryReport(
  database: Database,
  filter: ReportFilter,
  { groupBy, limit }: { groupBy: readonly TelemetryKey[]; limit: number },
): Promise<ReportBody<'telemetry'>> {
  const clock = createLocalClock(filter.timeZone);
  const parts = await readParts(database, filter, groupBy);
  const groups = Map.groupBy(parts, (part) => JSON.stringify(toValues(part, groupBy, clock)));
  const hasNames = groupBy.some((key) => filter.hiddenOrder?.kinds.has(PERSON_FIELDS.get(key)));
  const toPlace = (id: string): string =>
    hasNames ? createHash('sha256').update(`${filter.hiddenOrder?.salt}${id}`).digest('hex') : id;
  // By their keys first, because the database has no order for rows that are equal otherwise.
  const rows = [...groups]
    .map(([id, members]) => ({ place: toPlace(id), id, members }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ id, members }) => ({
      ...(JSON.parse(id) as Partial<Record<TelemetryKey, string>>),
      ...toFigures(members),
    }));
  const time = groupBy.find(isDayKey);
  rows.sort(
    (a, b) =>
      (time === undefined ? 0 : (a[time] ?? '').localeCompare(b[time] ?? '')) ||
      (b.telemetry_cost_usd ?? 0) - (a.telemetry_cost_usd ?? 0) ||
      b.requests - a.requests,
  );
  const shown = groupBy.length === 0 ? [toFigures(parts)] : rows;
  return {
    rows: shown.slice(0, limit),
    totals: toFigures(parts),
    truncated: shown.length > limit,
    only_in_telemetry: listPurposes(parts),
  };
}

const MAX_PURPOSES = 100;

/** Requests of sessions with transcripts that no transcript has, by their purpose. */
function listPurposes(parts: readonly Part[]): ReportBody<'telemetry'>['only_in_telemetry'] {
  const only = parts.filter(({ requests, matched, is_missing }) => requests > matched && !is_missing);
  const groups = Map.groupBy(only, ({ agent, purpose }) => JSON.stringify([agent, purpose]));
  const rows = [...groups.values()].map((members) => {
    const { agent = null, purpose = null } = members[0] ?? {};
    const figures = toFigures(members);
    return { agent, purpose, requests: figures.telemetry_only_requests, cost_usd: figures.telemetry_only_cost_usd };
  });
  return rows.sort((a, b) => b.requests - a.requests).slice(0, MAX_PURPOSES);
}

function toValues(
  part: Part,
  groupBy: readonly TelemetryKey[],
  clock: LocalClock,
): Partial<Record<TelemetryKey, string | null>> {
  const times = toDayKeys(part.at_ms, clock);
  return Object.fromEntries(groupBy.map((key) => [key, isDayKey(key) ? times[key] : part[key]]));
}

function toFigures(parts: readonly Part[]): Figures {
  const total = (name: keyof Part, of = parts): number => of.reduce((all, part) => all + Number(part[name] ?? 0), 0);
  /** 0 if there is nothing to state a cost of, null if no part states one. */
  const cost = (name: keyof Part, count: keyof Part, of = parts): number | null => {
    const known = of.filter((part) => part[name] !== null);
    return known.length > 0 ? toUsd(total(name, known)) : total(count, of) === 0 ? 0 : null;
  };
  const sessions = (of: readonly Part[], name: 'session' | 'witness_session'): number =>
    new Set(of.flatMap((part) => part[name] ?? [])).size;
  const missing = parts.filter(({ is_missing }) => is_missing);
  const unseen = parts.filter(({ is_unseen }) => is_unseen);
  const seen = parts.filter(({ is_unseen }) => !is_unseen);
  const onlyTelemetry = parts.filter(({ requests, matched }) => requests > matched);
  const onlyTranscripts = parts.filter(({ transcript_only }) => transcript_only > 0);
  return {
    telemetry_sessions: sessions(parts, 'witness_session'),
    missing_sessions: sessions(missing, 'witness_session'),
    requests: total('requests'),
    matched_requests: total('matched'),
    differing_requests: total('differing'),
    telemetry_only_requests: total('requests') - total('matched'),
    transcript_only_requests: total('transcript_only'),
    unseen_sessions: sessions(unseen, 'session'),
    unseen_responses: total('responses', unseen),
    telemetry_tokens: total('telemetry_tokens'),
    transcript_tokens: total('transcript_tokens'),
    telemetry_cost_usd: cost('telemetry_units', 'telemetry_tokens'),
    transcript_cost_usd: cost('transcript_units', 'responses', seen),
    missing_cost_usd: cost('telemetry_units', 'telemetry_tokens', missing),
    telemetry_only_cost_usd: cost('telemetry_only_units', 'requests', onlyTelemetry),
    transcript_only_cost_usd: cost('transcript_only_units', 'transcript_only', onlyTranscripts),
    unseen_cost_usd: cost('transcript_units', 'responses', unseen),
  };
}
