import type { Database } from '../database/database.ts';
import { type SQL, sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { SearchKind } from '../schema/search.ts';
import { type CandidateReader, type CandidateText, openCandidates } from './candidate-reader.ts';
import { createSubstringMatcher, createTextMatcher, type WordPositions } from './match-text.ts';
import type { SearchTarget } from './parse-search-query.ts';
import { listPrimaryRowSets, type PrimaryRowSet, readPrimaryRowSets } from './primary-row-sets.ts';
import { readTexts, type StoredText } from './read-texts.ts';
import { toBlockText, toCopyKey, toSearchableText, toSearchKind } from './search-text.ts';
import { compareText } from './search-words.ts';
import type { TextRole } from './segment-documents.ts';

export interface SearchFilter extends ReportFilter {
  kinds?: readonly SearchKind[] | undefined;
}

/** A text that matches, verified by its block. */
export interface FoundText {
  rowSet: PrimaryRowSet;
  messageId: string;
  blockOrder: number;
  kind: SearchKind;
  /** Milliseconds since 1970; without a time, minus infinity. */
  timeMs: number;
  isSubagent: boolean;
  lineNumber: number;
  byteOffset: number;
  copyKey: string;
  isCut: boolean;
  /** Positions of the query's words, for ranking; none by substring. */
  positions: WordPositions;
  length: number;
}

/** Candidates taken together: at first as many as usually suffice, and many more at a time if few are of the filter's sessions. */
const FIRST_CANDIDATES = 256;
const MAX_CANDIDATES = 16_384;
/** Texts in memory at a time. */
const MAX_READ_TEXTS = 1024;

const ROLES_BY_KIND: Readonly<Record<SearchKind, readonly TextRole[]>> = {
  prompt: ['prompt'],
  answer: ['text', 'prompt'],
  summary: ['text', 'prompt'],
  context: ['text'],
  thinking: ['thinking'],
  tool_input: ['tool_input'],
  tool_result: ['tool_result'],
};

/**
 * The newest texts that match, at most `limit`; newest first, and by their keys if they are equally old. Segments tell
 * which texts may match, the blocks which do. `check` is called between statements, and may throw.
 */
export async function findTexts(
  snapshot: Database,
  target: SearchTarget,
  filter: SearchFilter,
  limit: number,
  check: () => void,
): Promise<FoundText[]> {
  const listed = await listPrimaryRowSets(snapshot, filter);
  check();
  const candidates = await openCandidates(snapshot, filter.workspaceId, target, {
    roles: filter.kinds && new Set(filter.kinds.flatMap((kind) => ROLES_BY_KIND[kind])),
    fromMs: filter.from === null ? undefined : Date.parse(filter.from),
    rowSetIds: listed && new Set(listed.map(({ rowSetId }) => rowSetId)),
  });
  const verifier = new Verifier(snapshot, target, filter, listed ?? []);
  let size = FIRST_CANDIDATES;
  let verified = 0;
  while (!verifier.isComplete(candidates, limit)) {
    check();
    const texts = await candidates.next(size);
    if (texts === undefined) break;
    const wantedCount = await verifier.verify(texts, check);
    verified += texts.length;
    // As many as will probably do, if as many match as until now.
    const missing = (limit - verifier.found.length) * (verified / Math.max(1, verifier.found.length));
    const largest = wantedCount * 4 < texts.length ? MAX_CANDIDATES : MAX_READ_TEXTS;
    size = Math.max(FIRST_CANDIDATES / 4, Math.min(Math.ceil(missing), size * 4, largest));
  }
  return verifier.found.sort(compareNewest).slice(0, limit);
}

function compareNewest(one: FoundText, other: FoundText): number {
  if (one.timeMs !== other.timeMs) return other.timeMs - one.timeMs;
  return (
    compareText(one.rowSet.sessionId, other.rowSet.sessionId) ||
    compareText(one.messageId, other.messageId) ||
    one.blockOrder - other.blockOrder
  );
}

const NO_POSITIONS: WordPositions = new Map();

class Verifier {
  readonly found: FoundText[] = [];
  readonly #snapshot: Database;
  readonly #filter: SearchFilter;
  readonly #match: (text: string) => WordPositions | undefined;
  /** Undefined for those that search does not show. */
  readonly #rowSets = new Map<string, PrimaryRowSet | undefined>();

  constructor(snapshot: Database, target: SearchTarget, filter: SearchFilter, known: readonly PrimaryRowSet[]) {
    this.#snapshot = snapshot;
    this.#filter = filter;
    for (const rowSet of known) this.#rowSets.set(rowSet.rowSetId, rowSet);
    if (target.mode === 'text') this.#match = createTextMatcher(target.query);
    else {
      const contains = createSubstringMatcher(target.part);
      this.#match = (text) => (contains(text) ? NO_POSITIONS : undefined);
    }
  }

  /** No candidate left may be among the newest `limit`. */
  isComplete(candidates: CandidateReader, limit: number): boolean {
    if (this.found.length < limit) return false;
    const times = Float64Array.from(this.found, ({ timeMs }) => timeMs).sort();
    return (times[times.length - limit] ?? Number.NEGATIVE_INFINITY) > candidates.latestLeftMs;
  }

  /** Returns how many of the texts are of sessions that pass the filter. */
  async verify(texts: readonly CandidateText[], check: () => void): Promise<number> {
    await this.#readRowSets(texts);
    const wanted = texts.flatMap((text) => {
      const rowSet = this.#rowSets.get(text.rowSetId);
      return rowSet === undefined ? [] : [{ ...text, rowSet }];
    });
    const { workspaceId } = this.#filter;
    for (let start = 0; start < wanted.length; start += MAX_READ_TEXTS) {
      check();
      const some = wanted.slice(start, start + MAX_READ_TEXTS);
      for (const row of await readTexts(this.#snapshot, workspaceId, some, toMessageCondition(this.#filter, some))) {
        const text = some[row.index];
        const found = text && this.#verifyText(text, row);
        if (found !== undefined) this.found.push(found);
      }
    }
    return wanted.length;
  }

  /** Each is read once. */
  async #readRowSets(texts: readonly CandidateText[]): Promise<void> {
    const rowSets = this.#rowSets;
    const unknown = new Set(texts.map(({ rowSetId }) => rowSetId).filter((id) => !rowSets.has(id)));
    if (unknown.size === 0) return;
    for (const id of unknown) rowSets.set(id, undefined);
    for (const rowSet of await readPrimaryRowSets(this.#snapshot, this.#filter, [...unknown])) {
      rowSets.set(rowSet.rowSetId, rowSet);
    }
  }

  #verifyText(text: CandidateText & { rowSet: PrimaryRowSet }, row: StoredText): FoundText | undefined {
    const isSubagent = row.is_sidechain || text.rowSet.isSubagent;
    const { subagents, kinds } = this.#filter;
    if (subagents !== 'include' && isSubagent !== (subagents === 'only')) return undefined;
    const content = toBlockText(row);
    if (content === undefined) return undefined;
    const kind = toSearchKind(text.role === 'prompt' && content.role === 'text' ? 'prompt' : content.role, row);
    if (kinds !== undefined && !kinds.includes(kind)) return undefined;
    const searchable = toSearchableText(content.text);
    const positions = this.#match(searchable);
    if (positions === undefined) return undefined;
    return {
      rowSet: text.rowSet,
      messageId: text.messageId,
      blockOrder: text.blockOrder,
      kind,
      timeMs: row.time_ms ?? Number.NEGATIVE_INFINITY,
      isSubagent,
      lineNumber: row.line_number,
      byteOffset: row.byte_offset,
      copyKey: toCopyKey(row, kind, searchable),
      isCut: row.metadata.truncated === true || searchable.length < content.text.length,
      positions,
      length: text.length,
    };
  }
}

/** Messages without a time pass neither `from` nor `to`. */
function toMessageCondition({ from, to, subagents }: SearchFilter, texts: readonly { rowSet: PrimaryRowSet }[]): SQL {
  const subagentIds = new Set(texts.filter(({ rowSet }) => rowSet.isSubagent).map(({ rowSet }) => rowSet.rowSetId));
  const conditions = [
    sql`true`,
    from !== null && sql`m."timestamp" >= ${from}::timestamptz`,
    to !== null && sql`m."timestamp" < ${to}::timestamptz`,
    subagents === 'exclude' && sql`NOT m.is_sidechain`,
    subagents === 'only' && sql`(m.is_sidechain OR m.row_set_id = ANY(${sql.param([...subagentIds])}::text[]))`,
  ];
  return sql.join(
    conditions.filter((condition) => condition instanceof Object),
    sql` AND `,
  );
}
