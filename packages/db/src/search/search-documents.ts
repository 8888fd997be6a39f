import type { Database, DatabasePool } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import { type ReportFilter, type ReportRequest, resolveReportFilter } from '../filters/report-filter.ts';
import { searchDocuments as documents, type SearchKind } from '../schema/search.ts';
import { sessions } from '../schema/transcripts.ts';
import { type SearchQuery, type SearchTarget, toTsquery, toWorkspaceTsquery } from './parse-search-query.ts';
import { readSearchBacklog } from './read-search-backlog.ts';
import { type SnippetPart, toSubstringSnippet, toWordSnippet } from './search-snippet.ts';
import { toGrams } from './search-words.ts';

/** Project, branch, agent and model are the session's. Documents without a timestamp pass neither `from` nor `to`. */
export interface SearchRequest extends ReportRequest {
  kinds?: readonly SearchKind[] | undefined;
}

/** The end of a page (the sort key of its last result). */
interface SearchCursor {
  rank: number;
  timestamp: string | null;
  sessionId: string;
  messageId: string;
  blockOrder: number;
}

export interface SearchPage {
  /** Substrings have no `relevance`, They come newest first. */
  sort: 'relevance' | 'newest';
  limit: number;
  after?: SearchCursor | undefined;
}

export interface SearchResult {
  session_id: string;
  transcript_id: string;
  message_id: string;
  block_order: number;
  kind: SearchKind;
  timestamp: string | null;
  is_subagent: boolean;
  line_number: number;
  byte_offset: number;
  project: string | null;
  title: string | null;
  /** Its beginning. */
  initial_prompt: string | null;
  /** Number of matching copies of the same text, in forks and replays, including this one. */
  copy_count: number;
  is_cut: boolean;
  snippet: SnippetPart[];
}

interface SearchResults {
  results: SearchResult[];
  /** Number of matching texts, each counted once however many copies there are. */
  matchCount: number;
  /** There are more. Only the newest MAX_FOUND_DOCUMENTS of the mode were ranked and counted. */
  isMatchCountCapped: boolean;
  /** Sessions of the workspace that search does not find yet, or only partly. */
  waitingSessions: number;
  next: SearchCursor | undefined;
}

/** The number of matching documents to consider, newest first. A common word is in most documents. */
const MAX_FOUND_DOCUMENTS = { text: 2000, substring: 1000 } as const;
const DEFAULT_TIMEOUT_MS = 5000;
const QUERY_CANCELED = '57014';
/** Weights D, C, B, A; divided by 1 + the logarithm of the document's length. */
const RANKING = { weights: '{0.1, 0.2, 0.5, 1}', normalization: 1 };

/** The search exceeded its time limit. A longer query matches fewer documents. */
export class SearchTimeoutError extends Error {
  override name = 'SearchTimeoutError';
}

type SearchFilter = ReportFilter & Pick<SearchRequest, 'kinds'>;

/** A page of results in a workspace. Throws SearchTimeoutError. */
export async function searchTranscripts(
  pool: Pick<DatabasePool, 'database' | 'withSnapshot'>,
  workspaceId: string,
  target: SearchTarget,
  { kinds, ...request }: SearchRequest,
  page: SearchPage,
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<SearchResults> {
  const { filter: report } = await resolveReportFilter(pool.database, workspaceId, request);
  const filter = { ...report, kinds };
  let rows: ResultRow[];
  try {
    rows = await pool.withSnapshot((snapshot) => readRows(snapshot, target, filter, page, timeoutMs));
  } catch (error) {
    const { cause = error } = error as { cause?: unknown };
    if ((cause as { code?: unknown }).code !== QUERY_CANCELED) throw error;
    throw new SearchTimeoutError(`The search took longer than ${timeoutMs} ms`);
  }
  const { waitingSessions } = await readSearchBacklog(pool.database, workspaceId);
  const results = rows.slice(0, page.limit);
  const [first] = rows;
  const last = rows.length > page.limit ? results.at(-1) : undefined;
  return {
    results: results.map((row) => toResult(row, target)),
    matchCount: first?.match_count ?? 0,
    isMatchCountCapped: (first?.document_count ?? 0) >= MAX_FOUND_DOCUMENTS[target.mode],
    waitingSessions,
    next: last && toCursor(last),
  };
}

type ResultRow = Omit<SearchResult, 'snippet'> & {
  text: string;
  rank: number;
  match_count: number;
  document_count: number;
  [column: string]: unknown;
};

function toResult({ text, rank, match_count, document_count, ...row }: ResultRow, target: SearchTarget): SearchResult {
  const snippet = target.mode === 'text' ? toWordSnippet(text, target.query) : toSubstringSnippet(text, target.part);
  return { ...(row as Omit<SearchResult, 'snippet'>), snippet };
}

const toCursor = (row: ResultRow): SearchCursor => ({
  rank: row.rank,
  timestamp: row.timestamp,
  sessionId: row.session_id,
  messageId: row.message_id,
  blockOrder: row.block_order,
});

/** Characters shown of a session's first prompt, which serves as its title. */
const SHOWN_PROMPT_LENGTH = 200;

async function readRows(
  snapshot: Database,
  target: SearchTarget,
  filter: SearchFilter,
  page: SearchPage,
  timeoutMs: number,
): Promise<ResultRow[]> {
  await snapshot.execute(sql.raw(`SET LOCAL statement_timeout = ${Math.ceil(timeoutMs)}`));
  // An equal rank for all keeps them newest first.
  const rank = target.mode === 'text' && page.sort === 'relevance' ? toRank(target.query) : sql`0::float8`;
  const { rows } = await snapshot.execute<ResultRow>(sql`
    WITH document AS MATERIALIZED (
      SELECT * FROM (
        SELECT d.session_id, d.message_id, d.block_order, d.kind, d."timestamp", d.is_subagent, d.line_number,
          d.byte_offset, d.copy_key, d.is_cut, ${target.mode === 'text' ? sql`d.words` : sql`NULL::tsvector`} AS words,
          s.primary_transcript_id AS transcript_id, s.project, s.title, s.first_timestamp
        FROM ${documents} AS d
        JOIN ${sessions} AS s ON s.workspace_id = d.workspace_id AND s.session_id = d.session_id
        WHERE ${sql.join([...toIndexConditions(filter.workspaceId, target), ...toConditions(filter)], sql` AND `)}
        ORDER BY d."timestamp" DESC NULLS LAST, d.session_id, d.message_id, d.block_order
        ${target.mode === 'text' ? sql`LIMIT ${MAX_FOUND_DOCUMENTS.text}` : sql`OFFSET 0`}
      ) AS candidate
      WHERE ${toTextCondition(filter.workspaceId, target)}
      LIMIT ${MAX_FOUND_DOCUMENTS[target.mode]}
    ), copy AS (
      SELECT *, ${rank} AS rank, count(*) OVER () AS document_count, count(*) OVER (PARTITION BY copy_key) AS copy_count,
        row_number() OVER (
          PARTITION BY copy_key
          ORDER BY "timestamp" NULLS LAST, first_timestamp NULLS LAST, session_id, message_id, block_order
        ) AS copy_number
      FROM document
    ), found AS (
      SELECT *, coalesce("timestamp", '-infinity') AS sort_time, count(*) OVER () AS match_count
      FROM copy WHERE copy_number = 1
    ), page AS (
      SELECT * FROM found WHERE ${toPageCondition(page.after)}
      ORDER BY rank DESC, sort_time DESC, session_id DESC, message_id DESC, block_order DESC
      LIMIT ${page.limit + 1}
    )
    SELECT p.session_id, p.transcript_id, p.message_id, p.block_order, p.kind,
      to_char(p."timestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "timestamp",
      p.is_subagent, p.line_number, p.byte_offset::float8 AS byte_offset, p.project, p.title,
      (SELECT left(s.initial_prompt, ${SHOWN_PROMPT_LENGTH}::int) FROM ${sessions} AS s
        WHERE s.workspace_id = ${filter.workspaceId} AND s.session_id = p.session_id) AS initial_prompt,
      p.copy_count::int AS copy_count, p.is_cut, d.text, p.rank,
      p.match_count::int AS match_count, p.document_count::int AS document_count
    FROM page AS p
    JOIN ${documents} AS d ON d.workspace_id = ${filter.workspaceId} AND d.session_id = p.session_id
      AND d.message_id = p.message_id AND d.block_order = p.block_order
    ORDER BY p.rank DESC, p.sort_time DESC, p.session_id DESC, p.message_id DESC, p.block_order DESC`);
  return rows;
}

function toRank(query: SearchQuery): SQL {
  const { weights, normalization } = RANKING;
  return sql`ts_rank_cd(${weights}::real[], words, ${toTsquery(query)}::tsquery, ${normalization}::int)::float8`;
}

/**
 * The conditions that the index answers, exactly in text mode; in substring mode with some false positives that only
 * share the grams.
 */
function toIndexConditions(workspaceId: string, target: SearchTarget): SQL[] {
  const ofWorkspace = sql`d.workspace_id = ${workspaceId}`;
  if (target.mode === 'text') {
    return [ofWorkspace, sql`d.words @@ ${toWorkspaceTsquery(workspaceId, target.query)}::tsquery`];
  }
  const grams = `{${toGrams(target.part).join()}}`;
  const wordCondition = sql`d.words @@ ${toWorkspaceTsquery(workspaceId)}::tsquery`;
  return [ofWorkspace, wordCondition, sql`d.grams @> ${grams}::smallint[]`];
}

/** Reads the texts one by one until there are enough results (the slow part). */
function toTextCondition(workspaceId: string, target: SearchTarget): SQL {
  if (target.mode === 'text') return sql`true`;
  const pattern = `%${target.part.replace(/[\\%_]/g, '\\$&')}%`;
  return sql`(
    SELECT d.text ILIKE ${pattern} FROM ${documents} AS d
    WHERE d.workspace_id = ${workspaceId} AND d.session_id = candidate.session_id
      AND d.message_id = candidate.message_id AND d.block_order = candidate.block_order)`;
}

function toConditions(filter: SearchFilter): SQL[] {
  const conditions = [
    filter.kinds && sql`d.kind = ANY(${sql.param([...filter.kinds])}::text[])`,
    filter.from && sql`d."timestamp" >= ${filter.from}::timestamptz`,
    filter.to && sql`d."timestamp" < ${filter.to}::timestamptz`,
    filter.sessionId && sql`d.session_id = ${filter.sessionId}`,
    filter.project && sql`s.project = ${filter.project}`,
    filter.gitBranch && sql`s.git_branch = ${filter.gitBranch}`,
    filter.agent && sql`s.agent = ${filter.agent}`,
    filter.machine && sql`s.machine = ${filter.machine}`,
    filter.person && sql`s.person = ${filter.person}`,
    filter.model && sql`${filter.model} = ANY(s.models)`,
    filter.subagents === 'include' ? undefined : sql`d.is_subagent = ${filter.subagents === 'only'}`,
  ];
  return conditions.filter((condition) => condition instanceof Object);
}

function toPageCondition(after: SearchCursor | undefined): SQL {
  if (after === undefined) return sql`true`;
  const { rank, timestamp, sessionId, messageId, blockOrder } = after;
  return sql`(rank, sort_time, session_id, message_id, block_order)
    < (${rank}::float8, ${timestamp ?? '-infinity'}::timestamptz, ${sessionId}, ${messageId}, ${blockOrder}::int)`;
}
