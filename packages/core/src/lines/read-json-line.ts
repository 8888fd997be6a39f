import type { IssueCode, IssueSeverity } from '../issues.ts';
import type { JsonValue } from '../rows.ts';
import { decodeLine } from './decode-line.ts';
import { parseJsonLine } from './parse-json-line.ts';
import { maySmuggleCharacters, toStorableJson } from './storable-characters.ts';

export interface JsonLine {
  /** As it was decoded. */
  text: string;
  /** In order: one, or several if objects were glued together. Without NUL and lone surrogates. */
  values: JsonValue[];
  /** Something on the line could not be read. */
  isBroken: boolean;
  /** Whether all texts are known to be ASCII. */
  isAscii: boolean;
}

export type ReportFault = (code: IssueCode, severity: IssueSeverity, error: string, count?: number) => void;

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Reads the bytes of a line, of a file or of a stream. Undefined for a blank line. What was repaired is reported. */
export function readJsonLine(lineBytes: Buffer, report: ReportFault): JsonLine | undefined {
  let bytes = lineBytes;
  // Not on the first line alone: files with a mark each may have been concatenated.
  if (bytes[0] === BYTE_ORDER_MARK[0] && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK)) {
    report('byte_order_mark', 'warning', 'Byte order mark skipped');
    bytes = bytes.subarray(3);
  }
  const { text, isAscii, hasUnicodeEscape, invalidSequenceCount } = decodeLine(bytes);
  if (invalidSequenceCount > 0) report('invalid_utf8', 'warning', 'Invalid UTF-8 replaced', invalidSequenceCount);
  if (!text.startsWith('{') && text.trim() === '') return undefined;
  const { values, isBroken } = parseJsonLine(text);
  if (values.length > 1) report('glued_objects', 'warning', 'Several JSON objects on one line', values.length);
  if (hasUnicodeEscape && maySmuggleCharacters(text)) {
    for (const [index, value] of values.entries()) {
      const storable = toStorableJson(value);
      values[index] = storable.value;
      if (storable.replacedCount === 0) continue;
      report('replaced_characters', 'warning', 'NUL or lone surrogate replaced', storable.replacedCount);
    }
  }
  return { text, values, isBroken, isAscii: isAscii && !hasUnicodeEscape };
}
