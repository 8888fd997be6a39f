import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliveryRetry } from '../deliver/delivery-retry.ts';
import { type DeliveryTarget, MAX_STATUS_IDS, type StoredTranscript } from '../deliver/delivery-target.ts';

/**
 * `ours`: stored by this run. `healed`: existed already, but its bytes were lost or damaged and this run replaced them.
 */
export type Arrival = 'ours' | 'already-there' | 'healed';

export interface FollowedTranscript {
  location: string;
  arrival: Arrival;
}

export interface FollowOptions {
  onSettled(followed: FollowedTranscript, stored: StoredTranscript): void;
  /** The transcript was deleted before it was ingested. */
  onGone(followed: FollowedTranscript): void;
  /** Nothing was settled or worked on for a while: perhaps no worker is running. Called once for each lull. */
  onStalled(waitingCount: number): void;
  retry: DeliveryRetry;
  pollIntervalMs: number;
  stallMs: number;
  signal: AbortSignal;
}

const SLOWEST_POLL_INTERVAL_MS = 2000;
const SLOWDOWN = 1.5;
/** If at least this share of a page is settled, the next page is requested immediately. */
const MIN_SETTLED_SHARE = 0.5;

/** Polls the states of transcripts until each is final, page by page, longest waiting first. */
export class IngestionFollower {
  readonly #target: DeliveryTarget;
  readonly #options: FollowOptions;
  /** By transcript: identical files are one transcript. */
  readonly #waiting = new Map<string, FollowedTranscript[]>();
  #waitingCount = 0;
  #movedAtMs = performance.now();
  #intervalMs: number;
  /** Only one loop polls at a time, for all that wait. */
  #polling: Promise<void> | undefined;

  constructor(target: DeliveryTarget, options: FollowOptions) {
    this.#target = target;
    this.#options = options;
    this.#intervalMs = options.pollIntervalMs;
  }

  follow(transcriptId: string, followed: FollowedTranscript): void {
    if (this.#waitingCount === 0) this.#movedAtMs = performance.now();
    this.#waitingCount += 1;
    this.#waiting.set(transcriptId, [...(this.#waiting.get(transcriptId) ?? []), followed]);
  }

  /** Resolves when fewer than `count` are awaited; rejects with what ended the polling, or when aborted. */
  async waitForLessThan(count: number): Promise<void> {
    while (this.#waitingCount >= count) {
      this.#options.signal.throwIfAborted();
      this.#polling ??= this.#pollAndSleep().finally(() => {
        this.#polling = undefined;
      });
      await this.#polling;
    }
  }

  async #pollAndSleep(): Promise<void> {
    const { onStalled, pollIntervalMs, signal, stallMs } = this.#options;
    const { settledShare, isMoving } = await this.#poll();
    if (isMoving) this.#movedAtMs = performance.now();
    if (settledShare > 0) this.#intervalMs = pollIntervalMs;
    if (settledShare > MIN_SETTLED_SHARE) return;
    if (performance.now() - this.#movedAtMs > stallMs) {
      onStalled(this.#waitingCount);
      this.#movedAtMs = Number.POSITIVE_INFINITY;
    }
    await sleep(this.#intervalMs, undefined, { signal });
    this.#intervalMs = Math.min(this.#intervalMs * SLOWDOWN, SLOWEST_POLL_INTERVAL_MS);
  }

  /** Polls one page: returns how much of it was settled, and whether anything was settled or is being worked on. */
  async #poll(): Promise<{ settledShare: number; isMoving: boolean }> {
    const ids = [...this.#waiting.keys()].slice(0, MAX_STATUS_IDS);
    const found = await this.#options.retry(() => this.#target.readStatuses(ids, this.#options.signal));
    const byId = new Map(found.map((stored) => [stored.transcriptId, stored]));
    let settledCount = 0;
    for (const id of ids) {
      const followers = this.#waiting.get(id) ?? [];
      const stored = byId.get(id);
      const isPending = stored?.status === 'queued' || stored?.status === 'processing';
      this.#waiting.delete(id);
      // Moved to the end, so that a page of slow ones does not hide the others.
      if (isPending) this.#waiting.set(id, followers);
      else this.#settle(followers, stored);
      if (!isPending) settledCount += 1;
    }
    const isMoving = settledCount > 0 || found.some(({ status }) => status === 'processing');
    return { settledShare: settledCount / ids.length, isMoving };
  }

  #settle(followers: FollowedTranscript[], stored: StoredTranscript | undefined): void {
    this.#waitingCount -= followers.length;
    for (const followed of followers) {
      if (stored === undefined) this.#options.onGone(followed);
      else this.#options.onSettled(followed, stored);
    }
  }
}
