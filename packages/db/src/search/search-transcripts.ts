import { performance } from 'node:perf_hooks';
import type { SearchResult } from '@recount/contract';
import { toSessionTitle } from '@recount/core';
import type { Database, DatabasePool } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { type ReportRequest, resolveReportFilter } from '../filters/report-filter.ts';
import type { ResolvedNames, UnmatchedName } from '../filters/resolve-names.ts';
import type { SearchKind } from '../schema/search.ts';
import { sessions } from '../schema/transcripts.ts';
import { selectTitleSources, type TitledRow } from '../transcripts/title-sources.ts';
import { type FoundText, findTexts, type SearchFilter } from './find-texts.ts';
import type { SearchTarget } from './parse-search-query.ts';
import { rankTexts } from './rank-texts.ts';
import { readSearchBacklog } from './read-search-backlog.ts';
import { readTexts } from './read-texts.ts';
import { toSubstringSnippet, toWordSnippet } from './search-snippet.ts';
import { toBlockText, toSearchableText } from './search-text.ts';
import { compareText } from './search-words.ts';

/** Project, branch, agent and model are the session's. Texts without a timestamp pass neither `from` nor `to`. */
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

interface SearchResults {
  results: SearchResult[];
  /** Number of matching texts, each counted once however many copies there are. */
  matchCount: number;
  /** There are more. Only the newest MAX_FOUND_TEXTS were ranked and counted. */
  isMatchCountCapped: boolean;
  /** Sessions of the workspace that search does not find yet, or only partly. */
  waitingSessions: number;
  /** The full names that the request means. */
  names: ResolvedNames;
  unmatched: readonly UnmatchedName[];
  next: SearchCursor | undefined;
}

/** The number of matching texts to consider, newest first. A common word is in most texts. */
const MAX_FOUND_TEXTS = 500;
const DEFAULT_TIMEOUT_MS = 5000;
const QUERY_CANCELED = '57014';

/** The search exceeded its time limit. A longer query matches fewer texts. */
export class SearchTimeoutError extends Error {
  override name = 'SearchTimeoutError';
}

/** A page of results in a workspace. Throws SearchTimeoutError. */
export async function searchTranscripts(
  pool: Pick<DatabasePool, 'database' | 'withSnapshot'>,
  workspaceId: string,
  target: SearchTarget,
  { kinds, ...request }: SearchRequest,
  page: SearchPage,
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<SearchResults> {
  const { filter: report, unmatched } = await resolveReportFilter(pool.database, workspaceId, request);
  const filter = { ...report, kinds };
  const found = await withTimeout(timeoutMs, (check) =>
    pool.withSnapshot((snapshot) => readPage(snapshot, target, filter, page, { timeoutMs, check })),
  );
  const { waitingSessions } = await readSearchBacklog(pool.database, workspaceId);
  return { ...found, waitingSessions, names: report, unmatched };
}

/** `check` throws once the time is over; the server cancels statements that take as long. */
async function withTimeout<T>(timeoutMs: number, work: (check: () => void) => Promise<T>): Promise<T> {
  const endMs = performance.now() + timeoutMs;
  const toError = () => new SearchTimeoutError(`The search took longer than ${timeoutMs} ms`);
  try {
    return await work(() => {
      if (performance.now() > endMs) throw toError();
    });
  } catch (error) {
    const { cause = error } = error as { cause?: unknown };
    throw (cause as { code?: unknown }).code === QUERY_CANCELED ? toError() : error;
  }
}

/** The first of the copies of a text, with what orders it. */
interface RankedText {
  text: FoundText;
  rank: number;
  copyCount: number;
}

async function readPage(
  snapshot: Database,
  target: SearchTarget,
  filter: SearchFilter,
  page: SearchPage,
  { timeoutMs, check }: { timeoutMs: number; check: () => void },
): Promise<Omit<SearchResults, 'waitingSessions' | 'names' | 'unmatched'>> {
  await snapshot.execute(sql.raw(`SET LOCAL statement_timeout = ${Math.ceil(timeoutMs)}`));
  const found = await findTexts(snapshot, target, filter, MAX_FOUND_TEXTS, check);
  // An equal rank for all keeps them newest first.
  const ranks =
    target.mode === 'text' && page.sort === 'relevance' ? await rankTexts(snapshot, found, target.query) : [];
  check();
  const ranked = chooseCopies(found, ranks).sort(compareRanked);
  const following = page.after === undefined ? ranked : ranked.filter(isAfter(page.after));
  const shown = following.slice(0, page.limit);
  const last = following.length > page.limit ? shown.at(-1) : undefined;
  return {
    results: await toResults(snapshot, filter.workspaceId, target, shown),
    matchCount: ranked.length,
    isMatchCountCapped: found.length >= MAX_FOUND_TEXTS,
    next: last && toCursor(last),
  };
}

/** Copies are one result, at the earliest place. */
function chooseCopies(found: readonly FoundText[], ranks: readonly number[]): RankedText[] {
  const copies = Map.groupBy(
    found.map((text, index) => ({ text, rank: ranks[index] ?? 0 })),
    ({ text }) => text.copyKey,
  );
  return [...copies.values()].map((group) => {
    const [first] = group.sort((one, other) => compareCopies(one.text, other.text));
    if (first === undefined) throw new Error('A group has a text');
    return { ...first, copyCount: group.length };
  });
}

const toSortTime = ({ timeMs }: FoundText): number => (timeMs === Number.NEGATIVE_INFINITY ? Infinity : timeMs);

function compareCopies(one: FoundText, other: FoundText): number {
  return (
    compareNumbers(toSortTime(one), toSortTime(other)) ||
    compareNumbers(one.rowSet.firstMs ?? Infinity, other.rowSet.firstMs ?? Infinity) ||
    compareKeys(one, other)
  );
}

const compareNumbers = (one: number, other: number): number => (one === other ? 0 : one < other ? -1 : 1);

const compareKeys = (one: FoundText, other: FoundText): number =>
  compareText(one.rowSet.sessionId, other.rowSet.sessionId) ||
  compareText(one.messageId, other.messageId) ||
  one.blockOrder - other.blockOrder;

/** Best first, then newest. */
const compareRanked = (one: RankedText, other: RankedText): number =>
  compareNumbers(other.rank, one.rank) ||
  compareNumbers(other.text.timeMs, one.text.timeMs) ||
  compareKeys(other.text, one.text);

function isAfter({ rank, timestamp, sessionId, messageId, blockOrder }: SearchCursor): (text: RankedText) => boolean {
  const timeMs = timestamp === null ? Number.NEGATIVE_INFINITY : Date.parse(timestamp);
  return ({ text, rank: textRank }) =>
    (compareNumbers(rank, textRank) ||
      compareNumbers(timeMs, text.timeMs) ||
      compareText(sessionId, text.rowSet.sessionId) ||
      compareText(messageId, text.messageId) ||
      blockOrder - text.blockOrder) > 0;
}

const toTimestamp = ({ timeMs }: FoundText): string | null =>
  timeMs === Number.NEGATIVE_INFINITY ? null : new Date(timeMs).toISOString();

const toCursor = ({ text, rank }: RankedText): SearchCursor => ({
  rank,
  timestamp: toTimestamp(text),
  sessionId: text.rowSet.sessionId,
  messageId: text.messageId,
  blockOrder: text.blockOrder,
});

/** Characters shown of a session's first prompt. */
const SHOWN_PROMPT_LENGTH = 200;

async function toResults(
  snapshot: Database,
  workspaceId: string,
  target: SearchTarget,
  ranked: readonly RankedText[],
): Promise<SearchResult[]> {
  const keys = ranked.map(({ text }) => ({ ...text, rowSetId: text.rowSet.rowSetId }));
  const texts = new Map<number, string>();
  for (const row of await readTexts(snapshot, workspaceId, keys)) {
    texts.set(row.index, toSearchableText(toBlockText(row)?.text ?? ''));
  }
  const titled = await readTitles(
    snapshot,
    workspaceId,
    ranked.map(({ text }) => text.rowSet.sessionId),
  );
  return ranked.map(({ text, copyCount }, index) => {
    const { sessionId, transcriptId, project } = text.rowSet;
    const about = titled.get(sessionId);
    const whole = texts.get(index) ?? '';
    return {
      session_id: sessionId,
      transcript_id: transcriptId,
      message_id: text.messageId,
      block_order: text.blockOrder,
      kind: text.kind,
      timestamp: toTimestamp(text),
      is_subagent: text.isSubagent,
      line_number: text.lineNumber,
      byte_offset: text.byteOffset,
      project,
      title: about === undefined ? sessionId : toSessionTitle(about.title_sources),
      initial_prompt: about?.prompt ?? null,
      copy_count: copyCount,
      is_cut: text.isCut,
      snippet: target.mode === 'text' ? toWordSnippet(whole, target.query) : toSubstringSnippet(whole, target.part),
    };
  });
}

type TitledPrompt = TitledRow & { prompt: string | null };

async function readTitles(
  snapshot: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<Map<string, TitledPrompt>> {
  const { rows } = await snapshot.execute<TitledPrompt & { session_id: string }>(sql`
    SELECT f.session_id, left(f.initial_prompt, ${SHOWN_PROMPT_LENGTH}::int) AS prompt, ${selectTitleSources(workspaceId)} AS title_sources
    FROM ${sessions} AS f WHERE f.workspace_id = ${workspaceId} AND f.session_id = ANY(${sql.param([...new Set(sessionIds)])}::text[])`);
  return new Map(rows.map((row) => [row.session_id, row]));
}
