import type { Refusal } from '@recount/core';
import type { SkipReason } from '@recount/storage/sources';

/** Why something found is not ingested: by the reasons of sources, or by what its content is. */
export type BackfillSkipReason = SkipReason | Refusal;

/**
 * What became of one item. `queued`: stored, and not seen in a final state. `superseded`: its bytes are the beginning of
 * a longer transcript of the session. `healed`: the target had lost or damaged its copy, and has a whole one again. `new`: would be stored, were this not a dry run.
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
  /** For people; nothing of a transcript's text. */
  reason: string;
}

/** Failures kept with their place; beyond it they are only counted. */
export const MAX_KEPT_FAILURES = 1000;

export interface BackfillReport {
  /** Transcripts of known agents, and what could not be read: the sum of the seven counts that follow, unless interrupted. */
  found: number;
  /** Stored by this run, and not seen in a final state. */
  queued: number;
  ingested: number;
  superseded: number;
  /** Stored by an earlier backfill or upload, or twice in this one. */
  alreadyThere: number;
  /** Stored by an earlier one, lost or damaged since, and stored again by this run. */
  healed: number;
  /** Dry run only. */
  new: number;
  failed: number;
  failures: BackfillFailure[];
  skipped: number;
  skippedByReason: Record<string, number>;
  /** Sessions of the workspace that are ingested, and that search does not find yet; counted once all of this run are. */
  unindexed: number;
  /** Decoded bytes of what was read as a transcript. */
  readBytes: number;
  /** Stored (compressed) bytes that the sources have gone through. */
  consumedInputBytes: number;
  /** Ended by its signal: a second run goes on where this one was. */
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
