import { setTimeout as sleep } from 'node:timers/promises';
import { type DeliveryTarget, MAX_STATUS_IDS, type StoredTranscript } from '../deliver/delivery-target.ts';
import type { BackfillTally } from './backfill-tally.ts';
import { type Arrival, type FollowedTranscript, type FollowOptions, IngestionFollower } from './follow-ingestion.ts';

interface SettleOptions extends Pick<FollowOptions, 'retry' | 'pollIntervalMs' | 'stallMs' | 'signal'> {
  waitsForIngestion: boolean;
  /** Called with the error that ended the polling. */
  onError(error: unknown): void;
}

/** Maximum number of transcripts stored but not yet ingested; no more are sent. */
const MAX_WAITING = 1000;
/** Ingested transcripts that are checked again at the end. */
const MAX_RECHECKED = 100_000;

/** Counts the outcomes of the transcripts that a target has. */
export class IngestionSettler {
  readonly #target: DeliveryTarget;
  readonly #tally: BackfillTally;
  readonly #options: SettleOptions;
  readonly #follower: IngestionFollower;
  readonly #ingestedIds: string[] = [];

  constructor(target: DeliveryTarget, tally: BackfillTally, options: SettleOptions) {
    this.#target = target;
    this.#tally = tally;
    this.#options = options;
    this.#follower = new IngestionFollower(target, {
      ...options,
      onSettled: (followed, stored) => this.#settle(followed, stored),
      onGone({ location, arrival }) {
        if (arrival === 'ours') tally.report.queued -= 1;
        tally.countFailed({ location, reason: 'deleted before it was ingested' });
      },
      onStalled: (waitingCount) => tally.emit({ kind: 'stalled', waitingCount }),
    });
  }

  /** The target has the transcript: counts it now if its state is final or no one waits, otherwise when it is final. */
  accept(location: string, stored: StoredTranscript, arrival: Arrival): void {
    const isOurs = arrival === 'ours';
    const isFinal = stored.status !== 'queued' && stored.status !== 'processing';
    if (isOurs) this.#tally.count(location, 'queued', stored);
    if (isFinal) this.#settle({ location, arrival }, stored);
    else if (this.#options.waitsForIngestion) {
      this.#follower.follow(stored.transcriptId, { location, arrival });
      this.#follower.waitForLessThan(1).catch(this.#options.onError);
    } else if (arrival !== 'ours') this.#tally.count(location, arrival, stored);
  }

  /** Resolves when few enough transcripts are waiting for ingestion. */
  async waitForRoom(): Promise<void> {
    await this.#follower.waitForLessThan(MAX_WAITING);
  }

  /** Resolves when none is waiting and search finds everything ingested, or when indexing makes no progress. */
  async finish(): Promise<void> {
    await this.#follower.waitForLessThan(1);
    await this.#recheckIngested();
    if (this.#options.waitsForIngestion) await this.#waitForSearch();
  }

  #settle({ location, arrival }: FollowedTranscript, stored: StoredTranscript): void {
    const isOurs = arrival === 'ours';
    if (isOurs) this.#tally.report.queued -= 1;
    if (stored.status === 'failed') {
      this.#tally.countFailed({ location, reason: stored.failureReason ?? 'its ingestion failed' }, stored);
    } else if (arrival !== 'ours') this.#tally.count(location, arrival, stored);
    else this.#tally.count(location, stored.status === 'superseded' ? 'superseded' : 'ingested', stored);
    const isIngested = isOurs && stored.status === 'ingested';
    if (isIngested && this.#ingestedIds.length < MAX_RECHECKED) this.#ingestedIds.push(stored.transcriptId);
  }

  /** A version may have been ingested before a longer one superseded it. */
  async #recheckIngested(): Promise<void> {
    const { retry, signal } = this.#options;
    const { report } = this.#tally;
    for (let index = 0; index < this.#ingestedIds.length; index += MAX_STATUS_IDS) {
      const ids = this.#ingestedIds.slice(index, index + MAX_STATUS_IDS);
      const found = await retry(() => this.#target.readStatuses(ids, signal));
      const supersededCount = found.filter(({ status }) => status === 'superseded').length;
      report.ingested -= supersededCount;
      report.superseded += supersededCount;
    }
  }

  /** Waits for other people's uploads too, because search indexes the oldest sessions first. */
  async #waitForSearch(): Promise<void> {
    const { pollIntervalMs, retry, signal, stallMs } = this.#options;
    const { report } = this.#tally;
    let fewest = Number.POSITIVE_INFINITY;
    let movedAtMs = performance.now();
    for (;;) {
      report.unindexed = await retry(() => this.#target.countUnindexed(signal));
      this.#tally.emit({ kind: 'progress' });
      if (report.unindexed < fewest) movedAtMs = performance.now();
      fewest = Math.min(fewest, report.unindexed);
      if (fewest === 0 || performance.now() - movedAtMs > stallMs) return;
      await sleep(pollIntervalMs, undefined, { signal });
    }
  }
}
