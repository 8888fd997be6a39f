import type { SourceItem, TranscriptSource } from '@recount/sources';
import { type BackfillOutcome, type BackfillReport, countFailed, countSkipped, createReport } from './backfill-report.ts';
import { type BackfillTarget, BackfillTargetError, MAX_STATUS_IDS, type StoredTranscript } from './backfill-target.ts';
import { type FollowedTranscript, followIngestion } from './follow-ingestion.ts';
import { readContent, type SourceContent } from './read-content.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy, withRetries } from './with-retries.ts';

export type BackfillEvent =
  /** Counts changed, or more input was consumed. */
  | { kind: 'progress' }
  /** `transcript` is there unless it was skipped, failed before it was stored, or this is a dry run. */
  | { kind: 'outcome'; location: string; outcome: BackfillOutcome; reason?: string; transcript?: StoredTranscript }
  /** Nothing of what waits was ingested for a while: perhaps no worker runs. */
  | { kind: 'stalled'; waitingCount: number };

export interface BackfillDeps {
  /** Undefined only in a dry run, which then takes everything for new. */
  target: BackfillTarget | undefined;
  /** Called often, with the report as it is now. */
  onEvent?: (event: BackfillEvent, report: Readonly<BackfillReport>) => void;
}

export interface BackfillOptions {
  /** Transcripts read and delivered at once. Default 4, at most 16. */
  concurrency?: number;
  /** Reads, identifies and hashes, and stores nothing. */
  isDryRun?: boolean;
  /** Whether to ask first if the target has the bytes already. Default true. */
  asksFirst?: boolean;
  /** Whether to stay until all that was stored is ingested. Default true. */
  waitsForIngestion?: boolean;
  /** Aborting ends the run with a report of what was done. */
  signal?: AbortSignal;
  retryPolicy?: RetryPolicy;
  /** First pause between two looks at what is being ingested; they grow while nothing happens. Default 200. */
  pollIntervalMs?: number;
  /** Default 20,000. */
  stallMs?: number;
}

export const MAX_BACKFILL_CONCURRENCY = 16;
const DEFAULT_CONCURRENCY = 4;
/** Shorter transcripts are read once and held; all those under way share the second bound. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;
const MAX_HELD_BYTES_IN_ALL = 64 * 1024 * 1024;
/** Stored and not yet ingested: reading pauses at this many. */
const MAX_WAITING = 1000;
/** A target that could not take this many in a row, after all attempts, will not take the next either. */
const MAX_UNAVAILABLE_IN_A_ROW = 4;
/** Ingested transcripts looked at again at the end, since a later one may be their continuation. */
const MAX_RECHECKED = 100_000;

/**
 * Brings every transcript of `sources` to the target and sees it ingested. What the target has already is left alone, so
 * that a second run adds nothing and one after an interruption goes on where that ended. Bounded in memory, whatever the
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
    for await (const item of sources) {
      await run.waitForRoom();
      await run.take(item);
    }
    await run.finish();
  } catch (error) {
    await run.abandon(error);
    if (options.signal?.aborted !== true) throw run.fatalError() ?? error;
    run.report.isInterrupted = true;
  }
  return run.report;
}

function createRun({ target, onEvent }: BackfillDeps, options: BackfillOptions) {
  const concurrency = Math.min(Math.max(options.concurrency ?? DEFAULT_CONCURRENCY, 1), MAX_BACKFILL_CONCURRENCY);
  const maxHeldBytes = Math.min(MAX_HELD_BYTES, MAX_HELD_BYTES_IN_ALL / concurrency);
  const retryPolicy = options.retryPolicy ?? DEFAULT_RETRY_POLICY;
  const waits = options.waitsForIngestion ?? true;
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const report = createReport();
  const underWay = new Set<Promise<void>>();
  const ingestedIds: string[] = [];
  let unavailableInARow = 0;
  let fatal: unknown;

  const emit = (event: BackfillEvent): void => onEvent?.(event, report);
  const end = (error: unknown): void => {
    fatal ??= error;
    stop.abort(error);
  };
  const settle = (location: string, outcome: BackfillOutcome, transcript?: StoredTranscript, reason?: string): void => {
    if (outcome === 'failed') countFailed(report, { location, reason: reason ?? '' });
    else if (outcome === 'already-there') report.alreadyThere += 1;
    else if (outcome !== 'skipped') report[outcome] += 1;
    emit({ kind: 'outcome', location, outcome, ...(transcript && { transcript }), ...(reason && { reason }) });
  };

  const follower =
    target &&
    followIngestion(target, {
      retryPolicy,
      signal,
      pollIntervalMs: options.pollIntervalMs ?? 200,
      stallMs: options.stallMs ?? 20_000,
      onStalled: (waitingCount) => emit({ kind: 'stalled', waitingCount }),
      onGone: (followed) => settleStored(followed, undefined),
      onSettled: settleStored,
    });

  function settleStored({ location, isOurs }: FollowedTranscript, stored: StoredTranscript | undefined): void {
    if (isOurs) report.queued -= 1;
    if (stored === undefined) settle(location, 'failed', undefined, 'deleted before it was ingested');
    else if (stored.status === 'failed') settle(location, 'failed', stored, stored.failureReason ?? 'given up');
    else if (!isOurs) settle(location, 'already-there', stored);
    else settle(location, stored.status === 'superseded' ? 'superseded' : 'ingested', stored);
    if (isOurs && stored?.status === 'ingested' && ingestedIds.length < MAX_RECHECKED) ingestedIds.push(stored.transcriptId);
  }

  /** The target has it: counted now where it is in a final state or nobody waits, else when it is. */
  function accept(location: string, stored: StoredTranscript, isOurs: boolean): void {
    const isFinal = stored.status !== 'queued' && stored.status !== 'processing';
    if (isOurs) settle(location, 'queued', stored);
    if (isFinal) settleStored({ location, isOurs }, stored);
    else if (waits && follower !== undefined) {
      follower.follow(stored.transcriptId, { location, isOurs });
      follower.waitForLessThan(1).catch(end);
    } else if (!isOurs) settle(location, 'already-there', stored);
  }

  async function deliver(source: TranscriptSource, content: SourceContent): Promise<void> {
    const { sessionId, measure } = content;
    if (target !== undefined && sessionId !== undefined && measure !== undefined && (options.asksFirst ?? true)) {
      const { sha256 } = measure;
      const stored = await withRetries(() => target.find({ sessionId, sha256 }, signal), retryPolicy, signal);
      if (stored !== undefined) return accept(source.location, stored, false);
    }
    if (target === undefined || options.isDryRun) return settle(source.location, 'new');
    const body = createBody(content);
    const delivery = { path: source.path, sizeBytes: measure?.sizeBytes, open: body.open };
    const policy = measure === undefined ? { ...retryPolicy, maxAttempts: 1 } : retryPolicy;
    try {
      const received = await withRetries(() => body.attempt(() => target.receive(delivery, signal)), policy, signal);
      unavailableInARow = 0;
      accept(source.location, received.transcript, !received.isDuplicate);
    } finally {
      report.readBytes += measure?.sizeBytes ?? body.readBytes();
    }
  }

  function fail(location: string, error: unknown): void {
    if (signal.aborted) return;
    settle(location, 'failed', undefined, error instanceof Error ? error.message : 'unknown error');
    if (!(error instanceof BackfillTargetError)) return;
    unavailableInARow = error.code === 'unavailable' ? unavailableInARow + 1 : 0;
    if (error.code === 'denied' || unavailableInARow >= MAX_UNAVAILABLE_IN_A_ROW) end(error);
  }

  /** Resolves when the next item may be asked for: at once, or when a source that opens only once has been read. */
  async function takeTranscript(source: TranscriptSource): Promise<void> {
    const reading = readContent(source, maxHeldBytes);
    const task = reading
      .then((content) => (typeof content === 'string' ? skip(source.location, content) : deliver(source, content)))
      .catch((error) => fail(source.location, error))
      .finally(() => underWay.delete(task));
    underWay.add(task);
    if (source.reopenable) return;
    const content = await reading.catch(() => undefined);
    if (typeof content === 'object' && content.measure === undefined) await task;
  }

  function skip(location: string, reason: Parameters<typeof countSkipped>[1]): void {
    countSkipped(report, reason);
    report.found -= 1;
    settle(location, 'skipped', undefined, reason);
  }

  /** An earlier version of a transcript may have been ingested before the later one made it superfluous. */
  async function recheckIngested(): Promise<void> {
    for (let index = 0; index < ingestedIds.length; index += MAX_STATUS_IDS) {
      const ids = ingestedIds.slice(index, index + MAX_STATUS_IDS);
      const found = await withRetries(async () => (await target?.readStatuses(ids, signal)) ?? [], retryPolicy, signal);
      const count = found.filter(({ status }) => status === 'superseded').length;
      report.ingested -= count;
      report.superseded += count;
    }
  }

  return {
    report,
    fatalError: () => fatal,
    async waitForRoom(): Promise<void> {
      while (underWay.size >= concurrency) await Promise.race(underWay);
      await follower?.waitForLessThan(MAX_WAITING);
      signal.throwIfAborted();
    },
    async take(item: SourceItem): Promise<void> {
      report.consumedInputBytes = item.consumedInputBytes;
      report.found += 1;
      emit({ kind: 'progress' });
      if (item.kind === 'transcript') await takeTranscript(item);
      else if (item.kind === 'skipped') skip(item.location, item.reason);
      else settle(item.location, 'failed', undefined, item.error.message);
    },
    async finish(): Promise<void> {
      await Promise.all(underWay);
      await follower?.waitForLessThan(1);
      signal.throwIfAborted();
      await recheckIngested();
    },
    /** Ends what is under way. */
    async abandon(error: unknown): Promise<void> {
      stop.abort(error);
      await Promise.all(underWay);
    },
  };
}

/** Remembers what went wrong with the content itself: a target may report that as a fault of the connection. */
function createBody(content: SourceContent) {
  let failure: { error: unknown } | undefined;
  let readBytes = 0;
  return {
    readBytes: () => readBytes,
    async *open(): AsyncGenerator<Uint8Array> {
      try {
        for await (const chunk of content.open()) {
          readBytes += chunk.length;
          yield chunk;
        }
      } catch (error) {
        failure = { error };
        throw error;
      }
    },
    async attempt<Result>(receive: () => Promise<Result>): Promise<Result> {
      failure = undefined;
      try {
        return await receive();
      } catch (error) {
        throw failure === undefined ? error : failure.error;
      }
    },
  };
}
