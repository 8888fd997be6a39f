/**
 * What can be wrong at a place of a transcript. Errors lost part of a line; warnings were repaired or merely noted. The
 * raw bytes are kept in either case.
 */
export type IssueCode =
  | 'invalid_json'
  | 'truncated_last_line'
  | 'missing_type'
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
  | 'secret_redacted';

export type IssueSeverity = 'error' | 'warning';

/** A fault at a place of a transcript. `error` never quotes the transcript, except for the name of an unknown type. */
export interface Issue {
  code: IssueCode;
  severity: IssueSeverity;
  /** For people, e.g. `Invalid JSON`. */
  error: string;
  /** From 1. */
  lineNumber: number;
  /** Where the line begins in the raw object. */
  byteOffset: number;
  /** How often it occurs on this line, e.g. characters replaced. */
  count: number;
}
