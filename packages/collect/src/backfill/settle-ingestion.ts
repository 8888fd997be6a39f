import { setTimeout as sleep } from 'node:timers/promises';
import { type DeliveryTarget, MAX_STATUS_IDS, type StoredTranscript } from '../deliver/delivery-target.ts';
import type { BackfillTally } from './backfill-tally.ts';
import { type Arrival, type FollowedTranscript, type FollowOptions, followIngestion } from './follow-ingestion.ts';

interface SettleOptions extends Pick<FollowOptions, 'retry' | 'pollIntervalMs' | 'stallMs' | 'signal'> {
  waitsForIngestion: boolean;
  /** Called with the error that ended the polling. */
  onError(error: unknown): void;
}

export interface IngestionSettler {
  /** The target has the transcript: counts it now if its state is final or no one waits, otherwise when it is final. */
  accept(location: string, stored: StoredTranscript, arrival: Arrival): void;
  /** Resolves when few enough transcripts are waiting for ingestion. */
  waitForRoom(): Promise<void>;
  /** Resolves when none is waiting and search finds everything ingested, or when indexing makes no progress. */
  finish(): Promise<void>;
}

/** Maximum number of transcripts stored but not yet ingested; no more are sent. */
const MAX_WAITING = 1000;
/** Ingested transcripts that are checked again at the end. */
const MAX_RECHECKED = 100_000;

/** Counts the outcomes of the transcripts that a target has. */
export function settleIngestion(
  target: DeliveryTarget,
  tally: BackfillTally,
  options: SettleOptions,
): IngestionSettler {
  const { report } = tally;
  const { retry, signal } = options;
  const ingestedIds: string[] = [];

  const settle = ({ location, arrival }: FollowedTranscript, stored: StoredTranscript): void => {
    const isOurs = arrival === 'ours';
    if (isOurs) report.queued -= 1;
    if (stored.status === 'failed') {
      tally.countFailed({ location, reason: stored.failureReason ?? 'its ingestion failed' }, stored);
    } else if (arrival !== 'ours') tally.count(location, arrival, stored);
    else tally.count(location, stored.status === 'superseded' ? 'superseded' : 'ingested', stored);
    const isIngested = isOurs && stored.status === 'ingested';
    if (isIngested && ingestedIds.length < MAX_RECHECKED) ingestedIds.push(stored.transcriptId);
  };
  const follower = followIngestion(target, {
    ...options,
    onSettled: settle,
    onGone({ location, arrival }) {
      if (arrival === 'ours') report.queued -= 1;
      tally.countFailed({ location, reason: 'deleted before it was ingested' });
    },
    onStalled: (waitingCount) => tally.emit({ kind: 'stalled', waitingCount }),
  });

  /** A version may have been ingested before a longer one superseded it. */
  const recheckIngested = async (): Promise<void> => {
    for (let index = 0; index < ingestedIds.length; index += MAX_STATUS_IDS) {
      const ids = ingestedIds.slice(index, index + MAX_STATUS_IDS);
      const found = await retry(() => target.readStatuses(ids, signal));
      const supersededCount = found.filter(({ status }) => status === 'superseded').length;
      report.ingested -= supersededCount;
      report.superseded += supersededCount;
    }
  };

  /** Waits for other people's uploads too, because search indexes the oldest sessions first. */
  const waitForSearch = async (): Promise<void> => {
    let fewest = Number.POSITIVE_INFINITY;
    let movedAtMs = performance.now();
    for (;;) {
      report.unindexed = await retry(() => target.countUnindexed(signal));
      tally.emit({ kind: 'progress' });
      if (report.unindexed < fewest) movedAtMs = performance.now();
      fewest = Math.min(fewest, report.unindexed);
      if (fewest === 0 || performance.now() - movedAtMs > options.stallMs) return;
      await sleep(options.pollIntervalMs, undefined, { signal });
    }
  };

  return {
    accept(location, stored, arrival) {
      const isOurs = arrival === 'ours';
      const isFinal = stored.status !== 'queued' && stored.status !== 'processing';
      if (isOurs) tally.count(location, 'queued', stored);
      if (isFinal) settle({ location, arrival }, stored);
      else if (options.waitsForIngestion) {
        follower.follow(stored.transcriptId, { location, arrival });
        follower.waitForLessThan(1).catch(options.onError);
      } else if (arrival !== 'ours') tally.count(location, arrival, stored);
    },
    waitForRoom: () => follower.waitForLessThan(MAX_WAITING),
    async finish() {
      await follower.waitForLessThan(1);
      await recheckIngested();
      if (options.waitsForIngestion) await waitForSearch();
    },
  };
}
