import { findAgentFormat } from '@recount/core';
import {
  type AgentEvent,
  type AgentExit,
  createCheckpointRegistry,
  DEFAULT_MAX_BUFFER_BYTES,
  MAX_WAIT_MS,
  type StreamOutcome,
  type StreamSummary,
  toStreamOutcome,
} from '@recount/core/live';
import {
  addLiveEvents,
  appendLiveBytes,
  endLiveStream,
  type LiveStreamRow,
  listLiveArrivals,
  lockLiveSession,
  type NewLiveEvent,
  readLiveChunks,
  readWorkspaceSettings,
  uncountLiveStreams,
} from '@recount/db';
import { monotonicFactory } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { compareStreams, isOutdated, type StreamComparison } from './compare-streams.ts';
import { cutName, toEventRow } from './cut-event.ts';
import { createLiveBudget, type LiveShare } from './live-budget.ts';
import { LiveError } from './live-error.ts';
import { settleLiveStream } from './settle-live-stream.ts';
import { readStreamBytes } from './stream-bytes.ts';
import { createStreamReader, type StreamReader, toFigures } from './stream-reader.ts';

/** An offset, and when the bytes before it had arrived, in milliseconds since 1970. */
export type ArrivalPair = [endOffset: number, timeMs: number];

const MIN_SPACING_MS = 1000;
const MAX_ARRIVALS = 5000;

/**
 * Reduces the number of pairs with little loss. Bytes that came within a second count as simultaneous; if more than
 * 5,000 pairs remain, the span grows. A pair has the time of its first bytes.
 */
export function thinOutArrivals(arrivals: readonly ArrivalPair[]): ArrivalPair[] {
  let spacingMs = MIN_SPACING_MS;
  for (;;) {
    const thinned: ArrivalPair[] = [];
    for (const [endOffset, timeMs] of arrivals) {
      const last = thinned.at(-1);
      if (last !== undefined && timeMs - last[1] < spacingMs) last[0] = endOffset;
      else thinned.push([endOffset, timeMs]);
    }
    if (thinned.length <= MAX_ARRIVALS) return thinned;
    spacingMs *= 2;
  }
}

export interface LiveDependencies extends IngestDependencies {
  /** Milliseconds since 1970. Default Date.now. */
  now?: () => number;
}

/** The end of the agent, or that it was silent for `silentMs`. */
export type LiveEnding = { exit?: AgentExit | undefined } | { silentMs: number };

/** Appends to one stream. Everything stored is durable and announced to the session's followers. */
export interface LiveWriter {
  readonly storedBytes: number;
  /**
   * Takes in bytes, which are stored within FLUSH_DELAY_MS. Waits while earlier ones are being stored. Throws LiveError
   * `too-large`, `taken-over` or `no-memory`, and database errors; the writer is then unusable.
   */
  append(bytes: Uint8Array): Promise<void>;
  /** Stores pending bytes. Throws like `append`. */
  flush(): Promise<void>;
  /** Rejects once something could not be stored, even between calls. */
  readonly failed: Promise<never>;
  /**
   * Stores pending bytes, ends the stream, and turns it into a transcript. Throws like `append` and `settleLiveStream`.
   */
  end(ending: LiveEnding): Promise<LiveStreamRow>;
}

/** The time that bytes wait for more, in milliseconds. Leaves most of a second for the database. */
const FLUSH_DELAY_MS = 200;
/** This many bytes are stored without waiting. */
const FLUSH_BYTES = 256 * 1024;
/**
 * Bytes read at a time, and the number of events until they are stored. Short lines make hundreds of times their bytes.
 */
const PIECE_BYTES = 16 * 1024;
const MAX_EVENTS_AT_ONCE = 2000;
/** If nothing more comes, the reader is polled for events that have waited long enough. */
const POLL_DELAY_MS = MAX_WAIT_MS + 100;
const MAX_CHECKPOINTS = 100;
const LINE_FEED = 10;
const NO_BYTES = new Uint8Array(0);

/** Rolls back the end of a stream because another one of its session, which the comparison missed, ended first. */
class OutdatedComparison extends Error {}

const newTranscriptId = monotonicFactory();

/**
 * A writer for a stream whose row names it as the appending one. Reads the stored bytes, to continue from their end.
 */
export async function createLiveWriter(
  deps: LiveDependencies,
  stream: LiveStreamRow,
  { maxBytes, share = createLiveBudget(Number.MAX_SAFE_INTEGER).open() }: { maxBytes: number; share?: LiveShare },
): Promise<LiveWriter> {
  const writer = new StreamWriter(deps, stream, maxBytes, share);
  await writer.replay();
  return writer;
}

interface EventRows {
  rows: NewLiveEvent[];
  checkpoints: string[];
}

class StreamWriter implements LiveWriter {
  readonly failed: Promise<never>;
  readonly #deps: LiveDependencies;
  readonly #stream: LiveStreamRow;
  readonly #maxBytes: number;
  readonly #share: LiveShare;
  readonly #fail: (error: unknown) => void;
  #reader: StreamReader | undefined;
  #receivedMs: number;
  #storedBytes: number;
  /** Bytes of the last line so far, which the reader holds. */
  #lineBytes = 0;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** Bytes that no longer wait, but are not stored yet. */
  #storingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #pollTimer: NodeJS.Timeout | undefined;
  #storing: Promise<void> = Promise.resolve();

  constructor(deps: LiveDependencies, stream: LiveStreamRow, maxBytes: number, share: LiveShare) {
    this.#deps = deps;
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    this.#share = share;
    this.#receivedMs = Date.parse(stream.started_at);
    this.#storedBytes = stream.stored_bytes;
    const failure = Promise.withResolvers<never>();
    // Callers may observe it or not; without this, Node would report an unhandled rejection.
    failure.promise.catch(() => undefined);
    this.failed = failure.promise;
    this.#fail = failure.reject;
  }

  get storedBytes(): number {
    return this.#storedBytes;
  }

  /** To be called once, before anything else. */
  async replay(): Promise<void> {
    this.#reader = await replay(
      this.#deps,
      this.#stream,
      (timeMs, bytes) => {
        this.#receivedMs = timeMs;
        this.#measureLine(bytes);
        if (!this.#share.hold(this.#lineBytes)) throw this.#toNoMemory();
      },
      () => this.#receivedMs,
    );
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (this.#storedBytes + this.#waitingBytes + bytes.length > this.#maxBytes) {
      await this.flush();
      throw new LiveError('too-large', `A stream has ${this.#maxBytes} bytes at most`, this.#storedBytes);
    }
    if (!this.#share.hold(this.#lineBytes + this.#storingBytes + this.#waitingBytes + bytes.length)) {
      await this.flush();
      if (!this.#share.hold(this.#lineBytes + bytes.length)) throw this.#toNoMemory();
    }
    // Copied, because the caller's buffer may be reused.
    this.#waiting.push(Uint8Array.from(bytes));
    this.#waitingBytes += bytes.length;
    this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), FLUSH_DELAY_MS);
    if (this.#waitingBytes >= FLUSH_BYTES) await this.flush();
  }

  flush(): Promise<void> {
    this.#storing = this.#storing.then(() => this.#storeWaiting());
    this.#storing.catch(this.#fail);
    return this.#storing;
  }

  async end(ending: LiveEnding): Promise<LiveStreamRow> {
    await this.flush();
    clearTimeout(this.#pollTimer);
    return await settleLiveStream(this.#deps, await this.#endStream(ending));
  }

  get #openReader(): StreamReader {
    if (this.#reader === undefined) throw new Error('The stream was not replayed');
    return this.#reader;
  }

  get #key() {
    return { workspaceId: this.#stream.workspace_id, streamId: this.#stream.id };
  }

  get #sessionKey() {
    return { workspaceId: this.#stream.workspace_id, sessionId: this.#stream.session_id };
  }

  get #position() {
    return { ...this.#key, writerId: this.#stream.writer_id, storedBytes: this.#storedBytes };
  }

  get #now(): number {
    return (this.#deps.now ?? Date.now)();
  }

  #measureLine(bytes: Uint8Array): void {
    const feed = bytes.lastIndexOf(LINE_FEED);
    const length = feed === -1 ? this.#lineBytes + bytes.length : bytes.length - feed - 1;
    this.#lineBytes = Math.min(length, DEFAULT_MAX_BUFFER_BYTES);
  }

  #toNoMemory(): LiveError {
    const message = 'The streams of the server hold as much as they may. Continue later';
    return new LiveError('no-memory', message, this.#storedBytes);
  }

  async #storeWaiting(): Promise<void> {
    clearTimeout(this.#timer);
    clearTimeout(this.#pollTimer);
    this.#timer = undefined;
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    // A clock that is set back must not reorder lines.
    this.#receivedMs = Math.max(this.#receivedMs, this.#now);
    this.#storingBytes = bytes.length;
    if (bytes.length === 0) {
      const events = toRows(await this.#openReader.poll());
      if (events.rows.length === 0) return;
      await this.#store(bytes, events);
    }
    while (this.#storingBytes > 0) {
      const left = bytes.subarray(bytes.length - this.#storingBytes);
      const length = await this.#share.run(async () => await this.#storePieces(left));
      this.#storingBytes -= length;
      this.#share.hold(this.#lineBytes + this.#storingBytes + this.#waitingBytes);
    }
    this.#pollTimer = setTimeout(() => void this.flush().catch(() => undefined), POLL_DELAY_MS);
    this.#pollTimer.unref();
  }

  /** Stores the first bytes, until they make very many events. Returns their number. */
  async #storePieces(bytes: Uint8Array): Promise<number> {
    const read: AgentEvent[][] = [];
    let length = 0;
    let eventCount = 0;
    for (const piece of toPieces(bytes)) {
      const events = await this.#openReader.push(piece);
      read.push(events);
      length += piece.length;
      eventCount += events.length;
      if (eventCount >= MAX_EVENTS_AT_ONCE) break;
    }
    const stored = bytes.subarray(0, length);
    await this.#store(stored, toRows(read.flat()));
    this.#measureLine(stored);
    return length;
  }

  async #store(bytes: Uint8Array, { rows, checkpoints }: EventRows): Promise<void> {
    await this.#deps.database.withTransaction(async (transaction) => {
      const receivedAt = new Date(this.#receivedMs).toISOString();
      const figures = toFigures(this.#openReader.toSummary());
      const isStored = await appendLiveBytes(transaction, this.#position, { bytes, receivedAt, figures });
      if (!isStored) throw toTakenOver();
      if (rows.length === 0) return;
      await addLiveEvents(transaction, this.#sessionKey, this.#stream.id, rows, toCheckpoints(checkpoints));
    });
    this.#storedBytes += bytes.length;
  }

  async #endStream(ending: LiveEnding): Promise<LiveStreamRow> {
    const { rows, checkpoints } = toRows(await this.#openReader.finish());
    const summary = this.#openReader.toSummary();
    const outcome = toOutcome(summary, ending);
    const { success, aborted, error } = outcome;
    const endedMs = this.#now;
    const exit = 'silentMs' in ending ? undefined : ending.exit;
    const close = toEventRow({ type: 'close', timestampMs: endedMs, ...outcome, exit, summary });
    const isTranscript = findAgentFormat(this.#stream.agent, 'stream') !== undefined && this.#storedBytes > 0;
    const arrivals = isTranscript ? await listLiveArrivals(this.#deps.database.database, this.#key) : undefined;
    const end = {
      ...toFigures(summary),
      ...{ ended_at: new Date(endedMs).toISOString(), success, aborted, error },
      transcript_id: isTranscript ? newTranscriptId() : null,
      arrivals: arrivals === undefined ? null : thinOutArrivals(arrivals),
    };
    // Each further round means that another stream of the session ended during the previous one.
    for (;;) {
      const comparison = await compareStreams(this.#deps, this.#stream, {
        ...{ storedBytes: this.#storedBytes, aborted },
        read: () => readStreamBytes(this.#deps, this.#stream),
      });
      try {
        return await this.#endCompared(comparison, end, { rows: [...rows, close], checkpoints });
      } catch (error) {
        if (!(error instanceof OutdatedComparison)) throw error;
      }
    }
  }

  async #endCompared(
    comparison: StreamComparison,
    end: Omit<Parameters<typeof endLiveStream>[2], 'is_counted'> & { aborted: boolean },
    { rows, checkpoints }: EventRows,
  ): Promise<LiveStreamRow> {
    return await this.#deps.database.withTransaction(async (transaction) => {
      const is_counted = !comparison.isContained;
      const ended = await endLiveStream(transaction, this.#position, { ...end, is_counted });
      if (ended === undefined) throw toTakenOver();
      // From here on no other stream of the session can end.
      await lockLiveSession(transaction, this.#sessionKey);
      const ending = { storedBytes: this.#storedBytes, aborted: end.aborted };
      if (await isOutdated(transaction, this.#stream, ending, comparison)) throw new OutdatedComparison();
      await uncountLiveStreams(transaction, this.#stream.workspace_id, comparison.contains);
      await addLiveEvents(transaction, this.#sessionKey, this.#stream.id, rows, toCheckpoints(checkpoints));
      return ended;
    });
  }
}

function toRows(events: readonly AgentEvent[]): EventRows {
  const checkpoints = events.flatMap((event) =>
    event.type === 'progress' && event.checkpoint !== undefined ? cutName(event.checkpoint) : [],
  );
  return { rows: events.map(toEventRow), checkpoints };
}

/**
 * A reader that has emitted the stream's events so far. It reads the stored bytes and is polled as if at the original
 * times.
 */
async function replay(
  { database }: LiveDependencies,
  stream: LiveStreamRow,
  onTime: (timeMs: number, bytes: Uint8Array) => void,
  now: () => number,
): Promise<StreamReader> {
  const settings = await readWorkspaceSettings(database.database, stream.workspace_id);
  const reader = await createStreamReader({ agent: stream.agent, redaction: settings?.redaction ?? 'off', now });
  if (stream.stored_bytes === 0) return reader;
  const key = { workspaceId: stream.workspace_id, streamId: stream.id };
  for await (const { bytes, receivedAt, polledAt } of readLiveChunks(database.database, key)) {
    onTime(Date.parse(receivedAt), bytes);
    for (const piece of toPieces(bytes)) await reader.push(piece);
    if (polledAt === null) continue;
    onTime(Date.parse(polledAt), NO_BYTES);
    await reader.poll();
  }
  return reader;
}

function* toPieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) yield bytes.subarray(start, start + PIECE_BYTES);
}

const toTakenOver = (): LiveError =>
  new LiveError('taken-over', 'Another request continues the stream, or has ended it');

/** Without an end from the agent, the stream counts as aborted. */
function toOutcome(summary: StreamSummary, ending: LiveEnding): StreamOutcome {
  if (!('silentMs' in ending)) return toStreamOutcome(summary, ending.exit);
  const outcome = toStreamOutcome(summary);
  const success = summary.lastResult?.success === true;
  const error = success ? null : (outcome.error ?? `No data for ${ending.silentMs} milliseconds`);
  return { ...outcome, success, error, aborted: true };
}

/** Adds to the known ones, and keeps the newest. */
const toCheckpoints =
  (added: readonly string[]) =>
  (known: string[]): string[] => {
    if (added.length === 0) return known;
    const registry = createCheckpointRegistry({ maxPerSession: MAX_CHECKPOINTS });
    for (const uuid of [...known, ...added]) registry.addCheckpoint('', uuid);
    return registry.getCheckpoints('');
  };
