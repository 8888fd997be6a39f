import { performance } from 'node:perf_hooks';
import type { Database, DatabasePool } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { type ReportRequest, resolveReportFilter } from '../filters/report-filter.ts';
import type { SearchKind } from '../schema/search.ts';
import { sessions } from '../schema/transcripts.ts';
import { type FoundText, findTexts, type SearchFilter } from './find-texts.ts';
import type { SearchTarget } from './parse-search-query.ts';
import { rankTexts } from './rank-texts.ts';
import { readSearchBacklog } from './read-search-backlog.ts';
import { readTexts } from './read-texts.ts';
import { type SnippetPart, toSubstringSnippet, toWordSnippet } from './search-snippet.ts';
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
  /** There are more. Only the newest MAX_FOUND_TEXTS were ranked and counted. */
  isMatchCountCapped: boolean;
  /** Sessions of the workspace that search does not find yet, or only partly. */
  waitingSessions: number;
  next: SearchCursor | undefined;
}

/** The number of matching texts to consider, newest first. A common word is in most texts. */
const MAX_FOUND_TEXTS = 1000;
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
  const { filter: report } = await resolveReportFilter(pool.database, workspaceId, request);
  const filter = { ...report, kinds };
  const found = await withTimeout(timeoutMs, (check) =>
    pool.withSnapshot((snapshot) => readPage(snapshot, target, filter, page, { timeoutMs, check })),
  );
  const { waitingSessions } = await readSearchBacklog(pool.database, workspaceId);
  return { ...found, waitingSessions };
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
): Promise<Omit<SearchResults, 'waitingSessions'>> {
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

/** Characters shown of a session's first prompt, which serves as its title. */
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
  const prompts = await readInitialPrompts(
    snapshot,
    workspaceId,
    ranked.map(({ text }) => text.rowSet.sessionId),
  );
  return ranked.map(({ text, copyCount }, index) => {
    const { sessionId, transcriptId, project, title } = text.rowSet;
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
      title,
      initial_prompt: prompts.get(sessionId) ?? null,
      copy_count: copyCount,
      is_cut: text.isCut,
      snippet: target.mode === 'text' ? toWordSnippet(whole, target.query) : toSubstringSnippet(whole, target.part),
    };
  });
}

async function readInitialPrompts(
  snapshot: Database,
  workspaceId: string,
  sessionIds: readonly string[],
): Promise<Map<string, string | null>> {
  const { rows } = await snapshot.execute<{ session_id: string; prompt: string | null }>(sql`
    SELECT session_id, left(initial_prompt, ${SHOWN_PROMPT_LENGTH}::int) AS prompt FROM ${sessions}
    WHERE workspace_id = ${workspaceId} AND session_id = ANY(${sql.param([...new Set(sessionIds)])}::text[])`);
  return new Map(rows.map(({ session_id, prompt }) => [session_id, prompt]));
}
