import { setMaxListeners } from 'node:events';
import { identifyAttachment } from '@recount/core';
import type { SourceItem } from '@recount/storage/sources';
import { createDeliveryRetry, type RetryPolicy, UPLOAD_RETRIES } from '../deliver/delivery-retry.ts';
import type { DeliveryTarget } from '../deliver/delivery-target.ts';
import { createRepositoryReader } from '../find/read-repository.ts';
import type { BackfillReport } from './backfill-report.ts';
import { type BackfillTally, createTally, type OnBackfillEvent } from './backfill-tally.ts';
import { createTranscriptHandler } from './handle-transcript.ts';
import { IngestionSettler } from './settle-ingestion.ts';

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
  const run = new BackfillRun(deps, options);
  try {
    for await (const item of sources) await run.take(item);
    await run.finish();
  } catch (error) {
    await run.abandon(error);
    if (options.signal?.aborted !== true) throw run.fatalError ?? error;
    run.report.isInterrupted = true;
  }
  return run.report;
}

class BackfillRun {
  readonly #tally: BackfillTally;
  readonly #concurrency: number;
  readonly #maxSmall: number;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #parts: ReturnType<typeof assemble>;
  readonly #tasks = new Set<Promise<void>>();
  /** If the target accepts more small transcripts, each frees its slot once it is read. */
  readonly #slots = new Set<Promise<void>>();
  readonly #small = new Set<Promise<void>>();
  /** The first error that ended the run. */
  fatalError: unknown;

  constructor({ target, onEvent }: BackfillDeps, options: BackfillOptions) {
    const stop = this.#stop;
    const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
    setMaxListeners(0, signal);
    this.#signal = signal;
    this.#tally = createTally(onEvent);
    this.#concurrency = toConcurrency(options.concurrency);
    this.#maxSmall = target?.maxSmallDeliveries ?? 0;
    const onFatal = (error: unknown): void => {
      this.fatalError ??= error;
      stop.abort(error);
    };
    this.#parts = assemble(target, this.#tally, { ...options, concurrency: this.#concurrency, signal, onFatal });
  }

  get report(): BackfillReport {
    return this.#tally.report;
  }

  async take(item: SourceItem): Promise<void> {
    while (this.#slots.size >= this.#concurrency) await Promise.race(this.#slots);
    await this.#parts.settler?.waitForRoom();
    this.#signal.throwIfAborted();
    this.report.consumedInputBytes = item.consumedInputBytes;
    this.#tally.emit({ kind: 'progress' });
    if (item.kind === 'skipped') return this.#tally.countSkipped(item.location, item.reason);
    // A file with a tool's output is not a session, whatever it contains.
    if (item.kind === 'transcript' && identifyAttachment(item.path) !== undefined) {
      return this.#tally.countSkipped(item.location, 'not-a-transcript');
    }
    this.report.found += 1;
    if (item.kind === 'failed') {
      return this.#tally.countFailed({ location: item.location, reason: item.error.message });
    }
    const { task, isRead, isHeld } = this.#parts.handle(item);
    addUntil(this.#tasks, task);
    const leavesSlot = isHeld.then(() => {
      if (this.#small.size >= this.#maxSmall) return task;
      addUntil(this.#small, task);
      return undefined;
    });
    addUntil(this.#slots, Promise.race([task, leavesSlot]));
    await isRead;
  }

  async finish(): Promise<void> {
    await Promise.all(this.#tasks);
    this.#tally.emit({ kind: 'delivered' });
    await this.#parts.settler?.finish();
    this.#signal.throwIfAborted();
  }

  /** Aborts everything in progress. */
  async abandon(error: unknown): Promise<void> {
    this.#stop.abort(error);
    await Promise.all(this.#tasks);
  }
}

function addUntil(set: Set<Promise<void>>, end: Promise<void>): void {
  set.add(end);
  end.finally(() => set.delete(end));
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
    new IngestionSettler(target, tally, {
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
    readRepository: createRepositoryReader(),
    signal,
    onFatal,
    onRead: (bytes) => {
      tally.report.readBytes += bytes;
    },
  });
  return { settler, handle };
}
