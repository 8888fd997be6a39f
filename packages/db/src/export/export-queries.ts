import type { EXPORT_DATASETS } from '@recount/contract/choices';
import type { DatabasePool } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { joinPeople, PEOPLE_KEYS, type PeopleKey, toPeopleKey } from '../filters/attributed-to.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import { joinSessions, type ReportSource, toConditions, toReportSource } from '../reports/report-source.ts';
import { COST_COLUMNS, TOKEN_CLASSES, TOKEN_COLUMNS } from '../schema/usage-columns.ts';
import { selectTitleSources } from '../transcripts/title-sources.ts';

export type ExportDataset = (typeof EXPORT_DATASETS)[number];

/** The query of a data set. Its columns and their order are a public contract. See ../../export. */
export function toExportQuery(dataset: ExportDataset, filter: ReportFilter): SQL {
  return QUERIES[dataset](filter);
}

const QUERIES = { usage: toUsageQuery, messages: toMessagesQuery, sessions: toSessionsQuery };

const OWN_TOKENS = TOKEN_CLASSES.map((name) => `own_${name}`);
const toPerson = (key: PeopleKey, { people }: ReportFilter): SQL =>
  sql`${toPeopleKey(key, sql`s.person`, people)} AS ${sql.identifier(key)}`;
const toTeam = (filter: ReportFilter): SQL => sql`${toPerson('team', filter)}, ${toPerson('cost_centre', filter)}`;
const joinPeopleOf = (filter: ReportFilter, { time }: Pick<ReportSource, 'time'>): SQL =>
  joinPeople(PEOPLE_KEYS, { person: sql`s.person`, time }, filter.people);
const ofAlias = (alias: string, names: readonly string[]): SQL =>
  sql.raw(names.map((name) => `${alias}.${name}`).join(', '));

/** API responses, each once, in order of time. */
function toUsageQuery(filter: ReportFilter): SQL {
  const source = toReportSource('u', { time: 'timestamp', own: ['git_branch', 'agent_version', 'model', 'turn_line'] });
  return sql`
    SELECT
      u.response_key AS response_id, u.agent, u.session_id, t.id AS transcript_id, u.message_id, u.source, u."timestamp",
      s.project, u.git_branch, u.agent_version, u.is_subagent, u.agent_id, u.model, u.provider_message_id, u.request_id,
      ${ofAlias('u', TOKEN_COLUMNS)},
      u.web_search_requests, u.web_fetch_requests, u.service_tier, u.speed, u.inference_geo, u.is_unfinalised,
      u.estimated_tokens_out, ${ofAlias('u', COST_COLUMNS)}, u.reported_cost_usd, u.price_basis, u.price_version, u.copy_count,
      s.machine, ${toPerson('person', filter)}, s.repository, ${toTeam(filter)}
    FROM recount.usage_ledger AS u ${joinSessions(source, filter)} ${joinPeopleOf(filter, source)}
    LEFT JOIN recount.transcripts AS t ON t.workspace_id = u.workspace_id AND t.row_set_id = u.row_set_id
    WHERE ${toConditions(filter, source)}
    ORDER BY u."timestamp" NULLS LAST, u.agent, u.response_key`;
}

/** Messages of every session's primary transcript, transcript by transcript. */
function toMessagesQuery(filter: ReportFilter): SQL {
  const source = {
    ...toReportSource('m', { time: 'timestamp', own: ['model'] }),
    isSubagent: sql`(s.is_subagent OR m.is_sidechain)`,
  };
  return sql`
    SELECT
      m.session_id, t.id AS transcript_id, m.id AS message_id, m.ordinal, m.line_number, m.byte_offset, m.byte_length,
      m.message_type, m.role, m.model, m."timestamp", s.agent, s.project, s.git_branch,
      s.is_subagent OR m.is_sidechain AS is_subagent, m.agent_id, ${ofAlias('m', TOKEN_CLASSES)},
      m.cost_usd, m.stop_reason, m.has_text, m.has_thinking, m.has_tool_use, m.has_tool_result,
      m.provider_message_id, m.request_id, m.uuid, m.parent_uuid, m.metadata, s.machine, ${toPerson('person', filter)}, s.repository, ${toTeam(filter)}
    FROM recount.sessions AS s
    JOIN recount.transcripts AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id
    JOIN recount.transcript_messages AS m ON m.workspace_id = t.workspace_id AND m.row_set_id = t.row_set_id
    ${joinPeopleOf(filter, source)}
    WHERE ${toConditions(filter, source)}
    ORDER BY t.id, m.id`;
}

/** Sessions by their start, with own and shared usage separate. */
function toSessionsQuery(filter: ReportFilter): SQL {
  // Conditions about a session are about the alias s.
  const source = toReportSource('s', { time: 'first_timestamp', own: ['git_branch', 'agent_version'] });
  const sum = (column: string, isShared: boolean) =>
    sql.raw(`coalesce(sum(${column}) FILTER (WHERE ${isShared ? '' : 'NOT '}is_shared), 0)`);
  /** Null if there are responses but none has a price. */
  const cost = (isShared: boolean) => sql`
    CASE
      WHEN ${sum('responses', isShared)} = 0 THEN 0
      WHEN ${sum('responses', isShared)} > ${sum('unpriced_responses', isShared)}
      THEN round(${sum('cost_units', isShared)} * 1e-10, 10)
    END`;
  return sql`
    SELECT
      s.session_id, s.agent, s.is_subagent, s.parent_session_id, s.agent_id, s.primary_transcript_id,
      s.transcript_count, s.project, s.git_branch, s.agent_version, ${selectTitleSources(filter.workspaceId, 's')}::text AS title, s.initial_prompt, s.models,
      s.first_timestamp, s.last_timestamp, s.duration_ms, s.active_ms, s.prompt_count, s.turn_count,
      s.total_messages, s.user_messages, s.assistant_messages, s.tool_use_count, s.subagent_count,
      s.api_response_count, ${ofAlias('s', TOKEN_CLASSES)}, s.web_search_count,
      s.cost_estimate_usd AS cost_usd, s.unfinalised_count, s.unpriced_count, s.reported_cost_usd,
      u.own_responses, ${ofAlias('u', OWN_TOKENS)}, u.own_cost_usd,
      u.shared_responses, u.shared_cost_usd, u.own_unpriced_responses, u.shared_unpriced_responses,
      s.machine, ${toPerson('person', filter)}, s.output_only_count, s.repository, s.commit_hash, s.repository_url,
      a.given_title, coalesce(a.is_starred, false) AS is_starred, coalesce(a.tags, '{}') AS tags, a.note, ${toTeam(filter)}
    FROM recount.sessions AS s
    LEFT JOIN recount.session_annotations AS a ON a.workspace_id = ${filter.workspaceId} AND a.session_id = s.session_id
    CROSS JOIN LATERAL (
      SELECT
        ${sum('responses', false)} AS own_responses,
        ${sql.join(
          TOKEN_CLASSES.map((name) => sql`${sum(name, false)} AS ${sql.identifier(`own_${name}`)}`),
          sql`, `,
        )},
        ${cost(false)} AS own_cost_usd,
        ${sum('responses', true)} AS shared_responses,
        ${cost(true)} AS shared_cost_usd,
        ${sum('unpriced_responses', false)} AS own_unpriced_responses,
        ${sum('unpriced_responses', true)} AS shared_unpriced_responses
      FROM recount.usage_rollup AS r WHERE r.workspace_id = ${filter.workspaceId} AND r.session_id = s.session_id
    ) AS u ${joinPeopleOf(filter, source)}
    WHERE ${toConditions(filter, source)}
    ORDER BY s.first_timestamp NULLS LAST, s.session_id`;
}

/** Rows held in memory at a time; so few, because the metadata of a message may have a few hundred kilobytes. */
const EXPORT_BATCH_ROWS = 100;

export type ExportRow = Record<string, unknown>;

/**
 * Runs a query through a cursor. All rows are from the moment when it starts, and at most one batch is in memory. The
 * next batch is fetched when `onRows` has resolved. Aborting ends the query. Values are the driver's. Bigint and
 * numeric as text, timestamps as Postgres prints them.
 */
export async function readInBatches(
  database: Pick<DatabasePool, 'withTransaction'>,
  query: SQL,
  onRows: (rows: ExportRow[]) => Promise<void>,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  await database.withTransaction(
    async (transaction) => {
      // A slow reader holds no lock that others wait for.
      await transaction.execute(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`);
      await transaction.execute(sql`DECLARE recount_export NO SCROLL CURSOR FOR ${query}`);
      for (;;) {
        const { rows } = await transaction.execute<ExportRow>(
          sql.raw(`FETCH FORWARD ${EXPORT_BATCH_ROWS} FROM recount_export`),
        );
        if (rows.length > 0) await onRows(rows);
        if (rows.length < EXPORT_BATCH_ROWS) return;
      }
    },
    { signal },
  );
}
