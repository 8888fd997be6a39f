/** What was wrong with a line of a stream; the stream went on. Names shared with a transcript's issues mean the same. */
export type LiveWarningCode =
  | 'invalid_json'
  | 'not_an_object'
  | 'truncated_last_line'
  | 'glued_objects'
  | 'invalid_utf8'
  | 'byte_order_mark'
  | 'replaced_characters'
  | 'large_message'
  | 'buffer_overflow'
  | 'stream_corrupted'
  | 'missing_field'
  | 'coerced_field'
  | 'invalid_field'
  | 'invalid_timestamp'
  | 'invalid_content'
  | 'too_many_blocks'
  | 'nesting_too_deep'
  | 'identifier_truncated'
  | 'unsupported_version';

export interface LiveWarning {
  code: LiveWarningCode;
  /** For people; never quotes the stream. */
  message: string;
  /** From 1, over all lines of the stream. */
  lineNumber: number;
  /** Of the line's first byte, from the start of the stream. */
  byteOffset: number;
  /** The field concerned, e.g. `usage.input_tokens`, or null. */
  field: string | null;
}
