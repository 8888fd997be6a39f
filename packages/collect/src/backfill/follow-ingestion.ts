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

interface IngestionFollower {
  follow(transcriptId: string, followed: FollowedTranscript): void;
  /** Resolves when fewer than `count` are awaited; rejects with what ended the polling, or when aborted. */
  waitForLessThan(count: number): Promise<void>;
}

const SLOWEST_POLL_INTERVAL_MS = 2000;
const SLOWDOWN = 1.5;
/** If at least this share of a page is settled, the next page is requested immediately. */
const MIN_SETTLED_SHARE = 0.5;

/** Polls the states of transcripts until each is final, page by page, longest waiting first. */
export function followIngestion(target: DeliveryTarget, options: FollowOptions): IngestionFollower {
  const { signal, retry } = options;
  /** By transcript: identical files are one transcript. */
  const waiting = new Map<string, FollowedTranscript[]>();
  let waitingCount = 0;

  const settle = (followers: FollowedTranscript[], stored: StoredTranscript | undefined): void => {
    waitingCount -= followers.length;
    for (const followed of followers) {
      if (stored === undefined) options.onGone(followed);
      else options.onSettled(followed, stored);
    }
  };

  /** Polls one page: returns how much of it was settled, and whether anything was settled or is being worked on. */
  const poll = async (): Promise<{ settledShare: number; isMoving: boolean }> => {
    const ids = [...waiting.keys()].slice(0, MAX_STATUS_IDS);
    const found = await retry(() => target.readStatuses(ids, signal));
    const byId = new Map(found.map((stored) => [stored.transcriptId, stored]));
    let settledCount = 0;
    for (const id of ids) {
      const followers = waiting.get(id) ?? [];
      const stored = byId.get(id);
      const isPending = stored?.status === 'queued' || stored?.status === 'processing';
      waiting.delete(id);
      // Moved to the end, so that a page of slow ones does not hide the others.
      if (isPending) waiting.set(id, followers);
      else settle(followers, stored);
      if (!isPending) settledCount += 1;
    }
    const isMoving = settledCount > 0 || found.some(({ status }) => status === 'processing');
    return { settledShare: settledCount / ids.length, isMoving };
  };

  let movedAtMs = performance.now();
  let intervalMs = options.pollIntervalMs;
  const pollAndSleep = async (): Promise<void> => {
    const { settledShare, isMoving } = await poll();
    if (isMoving) movedAtMs = performance.now();
    if (settledShare > 0) intervalMs = options.pollIntervalMs;
    if (settledShare > MIN_SETTLED_SHARE) return;
    if (performance.now() - movedAtMs > options.stallMs) {
      options.onStalled(waitingCount);
      movedAtMs = Number.POSITIVE_INFINITY;
    }
    await sleep(intervalMs, undefined, { signal });
    intervalMs = Math.min(intervalMs * SLOWDOWN, SLOWEST_POLL_INTERVAL_MS);
  };

  /** Only one loop polls at a time, for all that wait. */
  let polling: Promise<void> | undefined;
  return {
    follow(transcriptId, followed) {
      if (waitingCount === 0) movedAtMs = performance.now();
      waitingCount += 1;
      waiting.set(transcriptId, [...(waiting.get(transcriptId) ?? []), followed]);
    },
    async waitForLessThan(count) {
      while (waitingCount >= count) {
        signal.throwIfAborted();
        polling ??= pollAndSleep().finally(() => {
          polling = undefined;
        });
        await polling;
      }
    },
  };
}
