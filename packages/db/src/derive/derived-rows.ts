import type { findings } from '../schema/findings.ts';
import type {
  fileDayRollup,
  messageDayRollup,
  messageRollup,
  toolDayRollup,
  usageDayRollup,
  usageRollup,
} from '../schema/rollups.ts';
import type { sessions } from '../schema/transcripts.ts';
import type { usageLedger } from '../schema/usage.ts';
import type { toTranscriptFigures } from '../transcripts/transcript-rows.ts';

/** The transcript that rows are derived from. */
export interface DerivedOrigin {
  workspaceId: string;
  sessionId: string;
  rowSetId: string;
  agent: string;
  /** From the transcript's row, which the session's row takes over. */
  isSubagent: boolean;
  /** From the transcript's row. Output counts of recorded streams may be placeholders. */
  isStream: boolean;
  /** From the transcript's row. */
  sentRepository: string | null;
  /** Version of the rates that the parse used. */
  priceVersion: string;
}

/** The columns of a transcript's row that its session takes over; equal in both. */
type SessionFigures = Omit<ReturnType<typeof toTranscriptFigures>, 'line_count'> &
  Pick<typeof sessions.$inferInsert, 'active_ms' | 'cost_estimate_usd'>;

/**
 * Every derived row of one transcript that is the only version of its session and shares no response with another
 * session, or those that its growth changes, ready for `createBinaryRowEncoder`. The order of rows means nothing.
 */
export interface DerivedRows {
  usageRollup: (typeof usageRollup.$inferInsert)[];
  usageDayRollup: (typeof usageDayRollup.$inferInsert)[];
  messageRollup: (typeof messageRollup.$inferInsert)[];
  messageDayRollup: (typeof messageDayRollup.$inferInsert)[];
  toolDayRollup: (typeof toolDayRollup.$inferInsert)[];
  fileDayRollup: (typeof fileDayRollup.$inferInsert)[];
  findings: (typeof findings.$inferInsert)[];
  /** One row for each response. */
  ledger: (typeof usageLedger.$inferInsert)[];
  /**
   * Keys of these responses, each once, in the order of COLLATE "C". If the ledger has one of them already, with the
   * same agent, the session shares it, and none of these rows may be used.
   */
  responseKeys: string[];
  /** Starts of the UTC days, as ISO 8601, whose totals these rows change (see `staleDays`). */
  days: string[];
  session: SessionFigures;
  /** If the session grew, the stored rows that these take the place of; all others stay. */
  replaces?: ReplacedRows | undefined;
}

/** Rows of a session that grew. Its findings, and its sums without a time, are always among them. */
export interface ReplacedRows {
  /** Starts of 15-minute buckets, milliseconds since 1970. Sums of their UTC days are replaced as well. */
  buckets: number[];
  /** Keys of rows of the ledger. */
  responseKeys: string[];
}

/** A finding, before it is known whose it is. */
export type DerivedFinding = Omit<DerivedRows['findings'][number], 'workspace_id' | 'session_id' | 'row_set_id'>;
