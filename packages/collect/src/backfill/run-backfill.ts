import { setMaxListeners } from 'node:events';
import { identifyAttachment } from '@recount/core';
import type { SourceItem } from '@recount/storage/sources';
import { createDeliveryRetry, type RetryPolicy, UPLOAD_RETRIES } from '../deliver/delivery-retry.ts';
import type { DeliveryTarget } from '../deliver/delivery-target.ts';
import type { BackfillReport } from './backfill-report.ts';
import { type BackfillTally, createTally, type OnBackfillEvent } from './backfill-tally.ts';
import { createTranscriptHandler } from './handle-transcript.ts';
import { settleIngestion } from './settle-ingestion.ts';

export interface BackfillDeps {
  /** May be undefined only in a dry run, which then treats everything as new. */
  target: DeliveryTarget | undefined;
  /** Called often, with the current report. */
  onEvent?: OnBackfillEvent | undefined;
}

export interface BackfillOptions {
  /** Number of transcripts read and delivered concurrently. Default 4, at most 16. */
  concurrency?: number | undefined;
  /** Reads, identifies and hashes, but stores nothing. */
  isDryRun?: boolean | undefined;
  /** True to first ask the target if it has the bytes already. Default true. */
  asksFirst?: boolean | undefined;
  /** True to wait until everything stored is ingested. Default true. */
  waitsForIngestion?: boolean | undefined;
  /** Aborting ends the run; the report covers what was done. */
  signal?: AbortSignal | undefined;
  retryPolicy?: RetryPolicy | undefined;
  /** First pause between polls of the ingestion; pauses grow while nothing happens. Default 200. */
  pollIntervalMs?: number | undefined;
  /** If nothing is ingested or worked on for this long, a `stalled` event is sent. Default 20,000. */
  stallMs?: number | undefined;
}

const DEFAULT_BACKFILL_CONCURRENCY = 4;
const MAX_BACKFILL_CONCURRENCY = 16;
const DEFAULT_POLL_INTERVAL_MS = 200;
const DEFAULT_STALL_MS = 20_000;
/** Shorter transcripts are read once and held; all those in progress share the second bound. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;
const MAX_HELD_BYTES_IN_ALL = 64 * 1024 * 1024;

/**
 * Delivers every transcript of `sources` to the target and waits for its ingestion. Transcripts that the target already
 * has are skipped, so a second run adds nothing, and a run after an interruption continues. Bounded in memory, whatever
 * the number and size of the sources; long sources that can be opened only once are delivered one at a time.
 *
 * Bad sources and rejected transcripts are counted. Rejects with a DeliveryError if the target denies everything
 * or stays unavailable, and with errors of iterating `sources`.
 */
export async function runBackfill(
  deps: BackfillDeps,
  sources: AsyncIterable<SourceItem>,
  options: BackfillOptions = {},
): Promise<BackfillReport> {
  const run = createRun(deps, options);
  try {
    for await (const item of sources) await run.take(item);
    await run.finish();
  } catch (error) {
    await run.abandon(error);
    if (options.signal?.aborted !== true) throw run.fatalError() ?? error;
    run.report.isInterrupted = true;
  }
  return run.report;
}

function createRun({ target, onEvent }: BackfillDeps, options: BackfillOptions) {
  const concurrency = toConcurrency(options.concurrency);
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  setMaxListeners(0, signal);
  const tally = createTally(onEvent);
  const { report } = tally;
  const tasks = new Set<Promise<void>>();
  /** If the target accepts more small transcripts, each frees its slot once it is read. */
  const slots = new Set<Promise<void>>();
  const small = new Set<Promise<void>>();
  const maxSmall = target?.maxSmallDeliveries ?? 0;
  const addUntil = (set: Set<Promise<void>>, end: Promise<void>): void => {
    set.add(end);
    end.finally(() => set.delete(end));
  };
  let fatal: unknown;
  const onFatal = (error: unknown): void => {
    fatal ??= error;
    stop.abort(error);
  };
  const { settler, handle } = assemble(target, tally, { ...options, concurrency, signal, onFatal });
  return {
    report,
    fatalError: () => fatal,
    async take(item: SourceItem): Promise<void> {
      while (slots.size >= concurrency) await Promise.race(slots);
      await settler?.waitForRoom();
      signal.throwIfAborted();
      report.consumedInputBytes = item.consumedInputBytes;
      tally.emit({ kind: 'progress' });
      if (item.kind === 'skipped') return tally.countSkipped(item.location, item.reason);
      // A file with a tool's output is not a session, whatever it contains.
      if (item.kind === 'transcript' && identifyAttachment(item.path) !== undefined) {
        return tally.countSkipped(item.location, 'not-a-transcript');
      }
      report.found += 1;
      if (item.kind === 'failed') {
        return tally.countFailed({ location: item.location, reason: item.error.message });
      }
      const { task, isRead, isHeld } = handle(item);
      addUntil(tasks, task);
      const leavesSlot = isHeld.then(() => {
        if (small.size >= maxSmall) return task;
        addUntil(small, task);
        return undefined;
      });
      addUntil(slots, Promise.race([task, leavesSlot]));
      await isRead;
    },
    async finish(): Promise<void> {
      await Promise.all(tasks);
      tally.emit({ kind: 'delivered' });
      await settler?.finish();
      signal.throwIfAborted();
    },
    /** Aborts everything in progress. */
    async abandon(error: unknown): Promise<void> {
      stop.abort(error);
      await Promise.all(tasks);
    },
  };
}

function toConcurrency(concurrency = DEFAULT_BACKFILL_CONCURRENCY): number {
  return Math.min(Math.max(concurrency, 1), MAX_BACKFILL_CONCURRENCY);
}

function assemble(
  target: DeliveryTarget | undefined,
  tally: BackfillTally,
  options: BackfillOptions & { concurrency: number; signal: AbortSignal; onFatal: (error: unknown) => void },
) {
  const { signal, onFatal } = options;
  const retry = createDeliveryRetry(options.retryPolicy ?? UPLOAD_RETRIES, signal, ({ message }, delayMs) =>
    tally.emit({ kind: 'retrying', reason: message, delayMs }),
  );
  const settler =
    target &&
    settleIngestion(target, tally, {
      waitsForIngestion: options.waitsForIngestion ?? true,
      retry,
      pollIntervalMs: options.pollIntervalMs ?? DEFAULT_POLL_INTERVAL_MS,
      stallMs: options.stallMs ?? DEFAULT_STALL_MS,
      signal,
      onError: onFatal,
    });
  const handle = createTranscriptHandler(target, settler, tally, {
    isDryRun: options.isDryRun ?? false,
    asksFirst: options.asksFirst ?? true,
    maxHeldBytes: Math.min(MAX_HELD_BYTES, MAX_HELD_BYTES_IN_ALL / options.concurrency),
    retry,
    signal,
    onFatal,
    onRead: (bytes) => {
      tally.report.readBytes += bytes;
    },
  });
  return { settler, handle };
}
