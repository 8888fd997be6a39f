import { setMaxListeners } from 'node:events';
import type { SourceItem, TranscriptSource } from '@recount/sources';
import type { BackfillReport } from './backfill-report.ts';
import { createTally, type OnBackfillEvent } from './backfill-tally.ts';
import { type BackfillTarget, BackfillTargetError } from './backfill-target.ts';
import { deliverTranscript } from './deliver-transcript.ts';
import { readContent } from './read-content.ts';
import { settleIngestion } from './settle-ingestion.ts';
import { createRetry, DEFAULT_RETRY_POLICY, type RetryPolicy } from './with-retries.ts';

export interface BackfillDeps {
  /** Undefined only in a dry run, which then takes everything for new. */
  target: BackfillTarget | undefined;
  /** Called often, with the report as it is now. */
  onEvent?: OnBackfillEvent | undefined;
}

export interface BackfillOptions {
  /** Transcripts read and delivered at once. Default 4, at most 16. */
  concurrency?: number | undefined;
  /** Reads, identifies and hashes, and stores nothing. */
  isDryRun?: boolean | undefined;
  /** Whether to ask the target first if it has the bytes already. Default true. */
  asksFirst?: boolean | undefined;
  /** Whether to stay until all that was stored is ingested. Default true. */
  waitsForIngestion?: boolean | undefined;
  /** Aborting ends the run with a report of what was done. */
  signal?: AbortSignal | undefined;
  retryPolicy?: RetryPolicy | undefined;
  /** First pause between two looks at what is being ingested; they grow while nothing happens. Default 200. */
  pollIntervalMs?: number | undefined;
  /** Where nothing is ingested or worked on for so long, a `stalled` event is sent. Default 20,000. */
  stallMs?: number | undefined;
}

export const DEFAULT_BACKFILL_CONCURRENCY = 4;
export const MAX_BACKFILL_CONCURRENCY = 16;
const DEFAULT_POLL_INTERVAL_MS = 200;
const DEFAULT_STALL_MS = 20_000;
/** Shorter transcripts are read once and held; all those under way share the second bound. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;
const MAX_HELD_BYTES_IN_ALL = 64 * 1024 * 1024;
/** A target that could not take this many in a row, after all attempts, will not take the next either. */
const MAX_UNAVAILABLE_IN_A_ROW = 4;

/**
 * Brings every transcript of `sources` to the target and sees it ingested. What the target has already is left alone, so
 * that a second run adds nothing, and one after an interruption goes on where that ended. Bounded in memory, whatever the
 * number and size of the sources; of those that open only once, long ones are delivered one at a time.
 *
 * Bad sources and refused transcripts are counted. Rejects with a BackfillTargetError where the target denies everything or
 * stays unavailable, and with what the iteration of `sources` throws.
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
  const concurrency = Math.min(
    Math.max(options.concurrency ?? DEFAULT_BACKFILL_CONCURRENCY, 1),
    MAX_BACKFILL_CONCURRENCY,
  );
  const maxHeldBytes = Math.min(MAX_HELD_BYTES, MAX_HELD_BYTES_IN_ALL / concurrency);
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  setMaxListeners(0, signal);
  const tally = createTally(onEvent);
  const { report } = tally;
  const retry = createRetry(options.retryPolicy ?? DEFAULT_RETRY_POLICY, signal, ({ message }, delayMs) =>
    tally.emit({ kind: 'retrying', reason: message, delayMs }),
  );
  const underWay = new Set<Promise<void>>();
  let unavailableInARow = 0;
  let fatal: unknown;

  const end = (error: unknown): void => {
    fatal ??= error;
    stop.abort(error);
  };
  const settler =
    target &&
    settleIngestion(target, tally, {
      waitsForIngestion: options.waitsForIngestion ?? true,
      retry,
      pollIntervalMs: options.pollIntervalMs ?? DEFAULT_POLL_INTERVAL_MS,
      stallMs: options.stallMs ?? DEFAULT_STALL_MS,
      signal,
      onError: end,
    });
  const deliverOptions = {
    isDryRun: options.isDryRun ?? false,
    asksFirst: options.asksFirst ?? true,
    retry,
    signal,
    onRead: (bytes: number): void => {
      report.readBytes += bytes;
    },
  };

  const deliver = async (source: TranscriptSource, content: Awaited<ReturnType<typeof readContent>>): Promise<void> => {
    if (typeof content === 'string') {
      report.found -= 1;
      tally.countSkipped(source.location, content);
      return;
    }
    const delivered = await deliverTranscript(target, source, content, deliverOptions);
    unavailableInARow = 0;
    if (delivered === undefined) tally.count(source.location, 'new');
    else settler?.accept(source.location, delivered.transcript, delivered.isOurs);
  };

  const fail = (location: string, error: unknown): void => {
    if (signal.aborted) return;
    tally.countFailed({ location, reason: error instanceof Error ? error.message : 'unknown error' });
    if (!(error instanceof BackfillTargetError)) return;
    unavailableInARow = error.code === 'unavailable' ? unavailableInARow + 1 : 0;
    if (error.code === 'denied' || unavailableInARow >= MAX_UNAVAILABLE_IN_A_ROW) end(error);
  };

  /** Resolves when the next item may be asked for: at once, or when a source that opens only once has been read. */
  const startTranscript = async (source: TranscriptSource): Promise<void> => {
    const reading = readContent(source, maxHeldBytes, signal);
    const task = reading
      .then((content) => deliver(source, content))
      .catch((error) => fail(source.location, error))
      .finally(() => underWay.delete(task));
    underWay.add(task);
    if (source.reopenable) return;
    const content = await reading.catch(() => undefined);
    if (typeof content === 'object' && content.measure === undefined) await task;
  };

  return {
    report,
    fatalError: () => fatal,
    async take(item: SourceItem): Promise<void> {
      while (underWay.size >= concurrency) await Promise.race(underWay);
      await settler?.waitForRoom();
      signal.throwIfAborted();
      report.consumedInputBytes = item.consumedInputBytes;
      tally.emit({ kind: 'progress' });
      if (item.kind === 'skipped') return tally.countSkipped(item.location, item.reason);
      report.found += 1;
      if (item.kind === 'failed') tally.countFailed({ location: item.location, reason: item.error.message });
      else await startTranscript(item);
    },
    async finish(): Promise<void> {
      await Promise.all(underWay);
      await settler?.finish();
      signal.throwIfAborted();
    },
    /** Ends what is under way. */
    async abandon(error: unknown): Promise<void> {
      stop.abort(error);
      await Promise.all(underWay);
    },
  };
}
