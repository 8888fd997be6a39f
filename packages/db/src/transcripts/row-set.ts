import type { IngestCounts } from './complete-transcripts.ts';
import type { RowSetKey } from './transcript-rows.ts';

/** Numbers that the next entries and tool calls of a row set get. */
export interface UsageNumbers {
  entry: number;
  call: number;
}

/** Numbers that the next rows of a row set get. */
export interface RowNumbers extends UsageNumbers {
  event: number;
  issue: number;
}

/** Rows of a shorter version that stay when its transcript has grown. */
export interface KeptRows {
  /** Rows with smaller numbers stay as they are; the others are replaced. */
  numbers: RowNumbers;
  counts: IngestCounts;
}

/** The rows of a transcript as one transaction writes them, and what they keep of a shorter version's. */
export interface RowSet extends RowSetKey {
  /** Entries and calls from these numbers on are the new ones. */
  firstNumbers: UsageNumbers;
  /** Undefined: all old rows are replaced. */
  kept?: KeptRows | undefined;
  /**
   * Beginnings of all quarters of an hour in which messages came or changed, milliseconds since 1970. Undefined: it may be
   * any, and all that is summed up of the session's rows is summed up again.
   */
  messageQuarters?: readonly number[] | undefined;
}

/** Of a transcript that has no rows yet. */
export const toNewRowSet = (key: RowSetKey): RowSet => ({ ...key, firstNumbers: { entry: 0, call: 0 } });
