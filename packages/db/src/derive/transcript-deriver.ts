import { deserialize, serialize } from 'node:v8';
import { sumActiveGaps, type TranscriptBatch, type TranscriptSummary } from '@recount/core';
import { toTranscriptFigures } from '../transcripts/transcript-rows.ts';
import type { DerivedOrigin, DerivedRows, ReplacedRows } from './derived-rows.ts';
import { FindingDeriver, type FindingState } from './findings.ts';
import { ResponseDeriver, type ResponseState } from './responses.ts';
import { RollupDeriver, type RollupState } from './rollups.ts';

/**
 * Responses and tool calls that are kept in memory, at about a kilobyte each; transcripts of some 500 MB have as many.
 * SQL derives the rows of larger ones.
 */
const MAX_RESPONSES = 20_000;
const MAX_CALLS = 20_000;

/** Messages whose times are kept. */
const MAX_MESSAGES = 500_000;

/** Increase it whenever the state, or what a part keeps in it, changes. Older states are then rejected. */
const STATE_VERSION = 2;

/** As for the parser's checkpoint: beyond it, deriving everything again is cheaper. */
const MAX_STATE_BYTES = 4 * 1024 * 1024;

/** Everything that was derived up to the parser's checkpoint. */
interface ClosedState {
  rollups: RollupState;
  findings: FindingState;
  responses: ResponseState;
}

interface State {
  version: number;
  /** A ClosedState. */
  closed: Uint8Array;
  /** Derived from everything after the checkpoint, which a longer transcript's parse gives again. */
  openBuckets: Set<number | null>;
  openKeys: string[];
}

/**
 * Derives from the batches of a parse what SQL would otherwise derive from its stored rows: the ledger, the roll-ups, the
 * findings and the session's figures. Pure; it knows nothing of other transcripts. The SQL in `usage/` and `findings/`
 * stays the definition that `recount verify` compares with.
 */
export class TranscriptDeriver {
  readonly #origin: DerivedOrigin;
  /** The state at the end of the shorter version; undefined if all of the transcript is parsed. */
  readonly #before: State | undefined;
  #rollups: RollupDeriver;
  #findings: FindingDeriver;
  #responses: ResponseDeriver;
  /** Times of messages that have one, milliseconds since 1970. */
  #times: number[] = [];
  #needsSql = false;
  /** Set at the parse's checkpoint. */
  #closed: Uint8Array | undefined;
  #closedBuckets = new Set<number | null>();
  #openKeys: string[] = [];

  /** For the parse of a whole transcript; `continue` passes what came before. */
  constructor(origin: DerivedOrigin, before?: State, closed?: ClosedState) {
    this.#origin = origin;
    this.#before = before;
    this.#rollups = new RollupDeriver(origin, closed?.rollups);
    this.#findings = new FindingDeriver(origin, closed?.findings);
    this.#responses = new ResponseDeriver(origin, closed?.responses);
  }

  /**
   * For a parse that continues from a checkpoint, with the state of that parse. Undefined if the state comes from another
   * version of recount or Node.
   */
  static continue(origin: DerivedOrigin, bytes: Uint8Array): TranscriptDeriver | undefined {
    try {
      const state: State = deserialize(bytes);
      if (state.version !== STATE_VERSION) return undefined;
      return new TranscriptDeriver(origin, state, deserialize(state.closed));
    } catch {
      return undefined;
    }
  }

  /** Takes the batches of the parse, each once and in order. */
  add(batch: TranscriptBatch): void {
    if (this.#needsSql) return;
    if (batch.checkpoint !== undefined) this.#close();
    for (const response of batch.apiResponses) {
      const { now, before } = this.#responses.add(response);
      if (before !== undefined) this.#rollups.addResponse(before, -1);
      this.#rollups.addResponse(now);
      if (this.#closed !== undefined) this.#openKeys.push(response.response_key);
    }
    for (const message of batch.messages) {
      this.#rollups.addMessage(message);
      if (message.timestamp !== null) this.#times.push(Date.parse(message.timestamp));
    }
    for (const call of batch.toolCalls) this.#rollups.addCall(call);
    for (const event of batch.events) if (event.kind === 'turn') this.#rollups.addTurn(event);
    this.#findings.add(batch);
    if (this.#isTooLarge() || !this.#findings.isExact || !this.#responses.isExact) this.#leaveToSql();
  }

  /** The rows, once the last batch was added. Undefined if only `settleSessions` can derive them. */
  finish(summary: TranscriptSummary): DerivedRows | undefined {
    const sums = this.#rollups.sumResponses();
    const coldCaches = this.#responses.findColdCaches();
    const activeMs = summary.activeMs ?? this.#sumActiveMs();
    const isExact = Object.values(sums).every(Number.isSafeInteger) && !this.#findings.hasCopies();
    if (this.#needsSql || !isExact || coldCaches === undefined || activeMs === undefined) {
      this.#leaveToSql();
      return undefined;
    }
    const { workspaceId: workspace_id, sessionId: session_id, rowSetId: row_set_id } = this.#origin;
    const findings = [...coldCaches.found, ...this.#findings.toFindings(summary, sums)];
    const { line_count: _lines, ...figures } = toTranscriptFigures(summary, this.#origin.sentRepository);
    const buckets =
      this.#before && new Set([...this.#before.openBuckets, ...this.#closedBuckets, ...this.#rollups.touched]);
    const openKeys = new Set(this.#before?.openKeys);
    return {
      ...this.#rollups.toRows(buckets),
      findings: findings.map((found) => ({ workspace_id, session_id, row_set_id, ...found })),
      ledger: this.#responses.toLedger(),
      responseKeys: this.#responses.toKeys().filter((key) => !openKeys.has(key)),
      days: this.#rollups.listDays(buckets),
      session: { ...figures, active_ms: activeMs },
      replaces: buckets && toReplaced(buckets, openKeys),
    };
  }

  /** After `finish`, the state for continuing the parse from its checkpoint; undefined if there is none, or no room. */
  toState(): Uint8Array | undefined {
    if (this.#needsSql || this.#closed === undefined || this.#closed.length > MAX_STATE_BYTES) return undefined;
    const open = { openBuckets: this.#rollups.touched, openKeys: this.#openKeys };
    return serialize({ version: STATE_VERSION, closed: this.#closed, ...open } satisfies State);
  }

  #close(): void {
    const responses = this.#responses.toState();
    if (responses === undefined) {
      this.#leaveToSql();
      return;
    }
    const closed: ClosedState = { rollups: this.#rollups.state, findings: this.#findings.toState(), responses };
    this.#closed = serialize(closed);
    this.#closedBuckets = this.#rollups.takeTouched();
  }

  #isTooLarge(): boolean {
    return (
      this.#responses.count > MAX_RESPONSES || this.#findings.callCount > MAX_CALLS || this.#times.length > MAX_MESSAGES
    );
  }

  #leaveToSql(): void {
    this.#needsSql = true;
    this.#rollups = new RollupDeriver(this.#origin);
    this.#findings = new FindingDeriver(this.#origin);
    this.#responses = new ResponseDeriver(this.#origin);
    this.#times = [];
  }

  /** The times of a shorter version's messages are unknown. */
  #sumActiveMs(): number | undefined {
    if (this.#before !== undefined) return undefined;
    return sumActiveGaps(this.#times.toSorted((one, other) => one - other));
  }
}

const toReplaced = (buckets: ReadonlySet<number | null>, responseKeys: ReadonlySet<string>): ReplacedRows => ({
  buckets: [...buckets].filter((bucketMs) => bucketMs !== null),
  responseKeys: [...responseKeys],
});
