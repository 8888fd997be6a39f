import type { Refusal } from '@recount/core';
import type { SkipReason } from '@recount/storage/sources';

/** Why an item is not ingested: a reason of its source, or what its content is. */
export type BackfillSkipReason = SkipReason | Refusal;

/**
 * The outcome for one item. `queued`: stored, but not seen in a final state. `superseded`: its bytes are the beginning
 * of a longer transcript of the session. `healed`: the target's copy was lost or damaged and is intact again. `new`:
 * would be stored if this were not a dry run.
 */
export type BackfillOutcome =
  | 'queued'
  | 'ingested'
  | 'superseded'
  | 'already-there'
  | 'healed'
  | 'new'
  | 'skipped'
  | 'failed';

export interface BackfillFailure {
  location: string;
  /** For people; contains nothing of a transcript's text. */
  reason: string;
}

/** Failures listed individually; further ones are only counted. */
export const MAX_KEPT_FAILURES = 1000;

export interface BackfillReport {
  /**
   * Transcripts of known agents, and items that could not be read. Unless interrupted, the sum of the seven counts
   * below.
   */
  found: number;
  /** Stored by this run, but not seen in a final state. */
  queued: number;
  ingested: number;
  superseded: number;
  /** Stored by an earlier backfill or upload, or twice in this run. */
  alreadyThere: number;
  /** Stored earlier, lost or damaged since, and stored again by this run. */
  healed: number;
  /** Dry run only. */
  new: number;
  failed: number;
  failures: BackfillFailure[];
  skipped: number;
  skippedByReason: Record<string, number>;
  /** Ingested sessions of the workspace that search does not find yet; counted once this run's are all ingested. */
  unindexed: number;
  /** Decoded bytes of everything read as a transcript. */
  readBytes: number;
  /** Stored (compressed) bytes of the sources that were processed. */
  consumedInputBytes: number;
  /** Ended by its signal: a second run continues where this one stopped. */
  isInterrupted: boolean;
}

export function createReport(): BackfillReport {
  return {
    found: 0,
    queued: 0,
    ingested: 0,
    superseded: 0,
    alreadyThere: 0,
    healed: 0,
    new: 0,
    failed: 0,
    failures: [],
    skipped: 0,
    skippedByReason: {},
    unindexed: 0,
    readBytes: 0,
    consumedInputBytes: 0,
    isInterrupted: false,
  };
}
