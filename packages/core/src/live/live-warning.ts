import type { IssueCode } from '../issues.ts';

/** What was wrong with a line of a stream; the stream went on. An IssueCode means what it means in a transcript. */
export type LiveWarningCode = IssueCode | 'not_an_object' | 'large_message' | 'buffer_overflow' | 'stream_corrupted';

export interface LiveWarning {
  code: LiveWarningCode;
  /** For people; never quotes the stream. */
  message: string;
  /** From 1, over all lines of the stream. */
  lineNumber: number;
  /** Of the line's first byte, from the start of the stream. */
  byteOffset: number;
  /**
   * The beginning of a line that is no JSON, up to 100 characters; only if the parser was asked to quote. For the user's own
   * terminal, never for a log.
   */
  quote?: string;
}
