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
  const { now = Date.now } = deps;
  const key = { workspaceId: stream.workspace_id, streamId: stream.id };
  const sessionKey = { workspaceId: stream.workspace_id, sessionId: stream.session_id };
  let receivedMs = Date.parse(stream.started_at);
  /** Bytes of the last line so far, which the reader holds. */
  let lineBytes = 0;
  const measureLine = (bytes: Uint8Array): void => {
    const feed = bytes.lastIndexOf(LINE_FEED);
    const length = feed === -1 ? lineBytes + bytes.length : bytes.length - feed - 1;
    lineBytes = Math.min(length, DEFAULT_MAX_BUFFER_BYTES);
  };
  const toNoMemory = (): LiveError =>
    new LiveError('no-memory', 'The streams of the server hold as much as they may. Continue later', storedBytes);
  let storedBytes = stream.stored_bytes;
  const reader = await replay(
    deps,
    stream,
    (timeMs, bytes) => {
      receivedMs = timeMs;
      measureLine(bytes);
      if (!share.hold(lineBytes)) throw toNoMemory();
    },
    () => receivedMs,
  );
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  /** Bytes that no longer wait, but are not stored yet. */
  let storingBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let pollTimer: NodeJS.Timeout | undefined;
  let storing: Promise<void> = Promise.resolve();
  const failure = Promise.withResolvers<never>();
  // Callers may observe it or not; without this, Node would report an unhandled rejection.
  failure.promise.catch(() => undefined);

  const position = () => ({ ...key, writerId: stream.writer_id, storedBytes });
  const toRows = (events: readonly AgentEvent[]): { rows: NewLiveEvent[]; checkpoints: string[] } => {
    const checkpoints = events.flatMap((event) =>
      event.type === 'progress' && event.checkpoint !== undefined ? cutName(event.checkpoint) : [],
    );
    return { rows: events.map(toEventRow), checkpoints };
  };

  const store = async (bytes: Uint8Array, { rows, checkpoints }: ReturnType<typeof toRows>): Promise<void> => {
    await deps.database.withTransaction(async (transaction) => {
      const receivedAt = new Date(receivedMs).toISOString();
      const figures = toFigures(reader.toSummary());
      const isStored = await appendLiveBytes(transaction, position(), { bytes, receivedAt, figures });
      if (!isStored) throw toTakenOver();
      if (rows.length === 0) return;
      await addLiveEvents(transaction, sessionKey, stream.id, rows, toCheckpoints(checkpoints));
    });
    storedBytes += bytes.length;
  };

  /** Stores the first bytes, until they make very many events. Returns their number. */
  const storePieces = async (bytes: Uint8Array): Promise<number> => {
    const read: AgentEvent[][] = [];
    let length = 0;
    let eventCount = 0;
    for (const piece of toPieces(bytes)) {
      const events = await reader.push(piece);
      read.push(events);
      length += piece.length;
      eventCount += events.length;
      if (eventCount >= MAX_EVENTS_AT_ONCE) break;
    }
    const stored = bytes.subarray(0, length);
    await store(stored, toRows(read.flat()));
    measureLine(stored);
    return length;
  };

  const storeWaiting = async (): Promise<void> => {
    clearTimeout(timer);
    clearTimeout(pollTimer);
    timer = undefined;
    const bytes = Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
    // A clock that is set back must not reorder lines.
    receivedMs = Math.max(receivedMs, now());
    storingBytes = bytes.length;
    if (bytes.length === 0) {
      const events = toRows(await reader.poll());
      if (events.rows.length === 0) return;
      await store(bytes, events);
    }
    while (storingBytes > 0) {
      storingBytes -= await share.run(async () => await storePieces(bytes.subarray(bytes.length - storingBytes)));
      share.hold(lineBytes + storingBytes + waitingBytes);
    }
    pollTimer = setTimeout(() => void flush().catch(() => undefined), POLL_DELAY_MS);
    pollTimer.unref();
  };

  const flush = (): Promise<void> => {
    storing = storing.then(storeWaiting);
    storing.catch(failure.reject);
    return storing;
  };

  const endStream = async (ending: LiveEnding): Promise<LiveStreamRow> => {
    const { rows, checkpoints } = toRows(await reader.finish());
    const summary = reader.toSummary();
    const outcome = toOutcome(summary, ending);
    const endedMs = now();
    const exit = 'silentMs' in ending ? undefined : ending.exit;
    const close = toEventRow({ type: 'close', timestampMs: endedMs, ...outcome, exit, summary });
    const isTranscript = findAgentFormat(stream.agent, 'stream') !== undefined && storedBytes > 0;
    const arrivals = isTranscript ? thinOutArrivals(await listLiveArrivals(deps.database.database, key)) : null;
    const comparedEnding = { storedBytes, aborted: outcome.aborted };
    const endCompared = async (comparison: StreamComparison) =>
      await deps.database.withTransaction(async (transaction) => {
        const ended = await endLiveStream(transaction, position(), {
          ...toFigures(summary),
          ended_at: new Date(endedMs).toISOString(),
          success: outcome.success,
          aborted: outcome.aborted,
          is_counted: !comparison.isContained,
          error: outcome.error,
          transcript_id: isTranscript ? newTranscriptId() : null,
          arrivals,
        });
        if (ended === undefined) throw toTakenOver();
        // From here on no other stream of the session can end.
        await lockLiveSession(transaction, sessionKey);
        if (await isOutdated(transaction, stream, comparedEnding, comparison)) throw new OutdatedComparison();
        await uncountLiveStreams(transaction, stream.workspace_id, comparison.contains);
        await addLiveEvents(transaction, sessionKey, stream.id, [...rows, close], toCheckpoints(checkpoints));
        return ended;
      });
    // Each further round means that another stream of the session ended during the previous one.
    for (;;) {
      const read = () => readStreamBytes(deps, stream);
      const comparison = await compareStreams(deps, stream, { ...comparedEnding, read });
      try {
        return await endCompared(comparison);
      } catch (error) {
        if (!(error instanceof OutdatedComparison)) throw error;
      }
    }
  };

  return {
    get storedBytes() {
      return storedBytes;
    },
    failed: failure.promise,
    async append(bytes) {
      if (storedBytes + waitingBytes + bytes.length > maxBytes) {
        await flush();
        throw new LiveError('too-large', `A stream has ${maxBytes} bytes at most`, storedBytes);
      }
      if (!share.hold(lineBytes + storingBytes + waitingBytes + bytes.length)) {
        await flush();
        if (!share.hold(lineBytes + bytes.length)) throw toNoMemory();
      }
      // Copied, because the caller's buffer may be reused.
      waiting.push(Uint8Array.from(bytes));
      waitingBytes += bytes.length;
      timer ??= setTimeout(() => void flush().catch(() => undefined), FLUSH_DELAY_MS);
      if (waitingBytes >= FLUSH_BYTES) await flush();
    },
    flush,
    async end(ending) {
      await flush();
      clearTimeout(pollTimer);
      return await settleLiveStream(deps, await endStream(ending));
    },
  };
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
