/**
 * A finding of recount at a place of a transcript. Errors lost part of a line; warnings were repaired or merely noted;
 * notices name what recount does not read or does not know. The raw bytes stay in each case.
 */
export type IssueCode =
  | 'invalid_json'
  | 'truncated_last_line'
  | 'missing_type'
  | 'missing_field'
  | 'unknown_line_type'
  | 'line_too_long'
  | 'line_cut'
  | 'too_many_blocks'
  | 'glued_objects'
  | 'byte_order_mark'
  | 'invalid_utf8'
  | 'replaced_characters'
  | 'missing_final_newline'
  | 'invalid_timestamp'
  | 'invalid_usage'
  | 'implausible_figure'
  | 'invalid_content'
  | 'identifier_truncated'
  | 'nesting_too_deep'
  | 'unsupported_version'
  | 'late_line'
  | 'grouping_window_exceeded'
  | 'uncounted_response'
  | 'total_mismatch'
  | 'unread_content'
  | 'unknown_block_type'
  | 'unknown_usage'
  | 'secret_redacted';

/** Severity of all issues with one of NOTICE_CODES is `notice`; no other issue has it. */
export type IssueSeverity = 'error' | 'warning' | 'notice';

/**
 * `unknown_line_type` is a type of lines that recount does not know. `unread_content` is text or usage in lines or
 * fields that are not read. `unknown_block_type` is a type of content blocks that is stored as it is. `unknown_usage`
 * is a part of a response's usage, such as a tier or an iteration, that recount has no rule for.
 */
export const NOTICE_CODES = [
  'unknown_line_type',
  'unread_content',
  'unknown_block_type',
  'unknown_usage',
] as const satisfies readonly IssueCode[];

const TRANSCRIPT_CODES = new Set<string>([...NOTICE_CODES, 'total_mismatch']);

/**
 * True if issues with the code say something about the whole transcript. Each text is listed once, at the first line
 * that it is about, with the number of times, and only when the transcript has ended.
 */
export function isTranscriptIssue(code: string): boolean {
  return TRANSCRIPT_CODES.has(code);
}

/** A fault at a place of a transcript. `error` never quotes the transcript, except for the name of an unknown type. */
export interface Issue {
  code: IssueCode;
  severity: IssueSeverity;
  /** For people, e.g. `Invalid JSON`. */
  error: string;
  /** From 1. */
  lineNumber: number;
  /** The beginning of the line in the raw object. */
  byteOffset: number;
  /** The number of times, on this line, e.g. characters replaced, or in the transcript (`isTranscriptIssue`). */
  count: number;
}
