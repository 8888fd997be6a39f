import { decodeLine } from '../lines/decode-line.ts';
import { isNestedDeeperThan, MAX_STORED_JSON_DEPTH } from '../lines/inline-limit.ts';
import { createLineSplitter, type RawLine } from '../lines/line-splitter.ts';
import { parseJsonLine } from '../lines/parse-json-line.ts';
import { maySmuggleCharacters, toStorableJson } from '../lines/storable-characters.ts';
import { isJsonObject } from '../records/fields.ts';
import type { JsonObject } from '../rows.ts';
import type { LiveWarning, LiveWarningCode } from './live-warning.ts';

export interface LiveLine {
  /** From 1, over all lines of the stream. */
  lineNumber: number;
  /** Of the line's first byte, from the start of the stream. */
  byteOffset: number;
  byteLength: number;
  value: JsonObject;
  /** Longer than `largeMessageBytes`: to be shown folded. */
  isLarge: boolean;
}

export interface LiveLineHandlers {
  /** Called for every JSON object that is not nested too deep, in order, before `push` returns. */
  onLine(line: LiveLine): void;
  onWarning(warning: LiveWarning): void;
}

export interface LiveLineDecoderOptions {
  /** Longer lines are flagged, in bytes. Default 1,048,576. */
  largeMessageBytes?: number | undefined;
  /** More than this without a line feed is dropped, in bytes; bounds the decoder's memory. Default 10,485,760. */
  maxBufferBytes?: number | undefined;
  /** Unreadable lines in a row that make a stream corrupted. Default 10. */
  maxFailuresInRow?: number | undefined;
}

export interface LiveLineDecoder {
  /** Decodes every line that the chunk completes; a partial line waits. */
  push(chunk: Uint8Array | string): void;
  /** Decodes a last line that no line feed ended. To be called once. */
  end(): void;
}

export const DEFAULT_LARGE_MESSAGE_BYTES = 1024 * 1024;
export const DEFAULT_MAX_BUFFER_BYTES = 10 * 1024 * 1024;
const DEFAULT_MAX_FAILURES_IN_ROW = 10;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Decodes NDJSON from a stream that may never end. Total: what cannot be read is warned of and skipped. After
 * `maxFailuresInRow` such lines it warns `stream_corrupted`, upon which the caller should look after the process, and
 * starts to count anew; nothing else outlives a line.
 */
export function createLiveLineDecoder(
  handlers: LiveLineHandlers,
  options: LiveLineDecoderOptions = {},
): LiveLineDecoder {
  const largeMessageBytes = options.largeMessageBytes ?? DEFAULT_LARGE_MESSAGE_BYTES;
  const maxBufferBytes = options.maxBufferBytes ?? DEFAULT_MAX_BUFFER_BYTES;
  const maxFailuresInRow = options.maxFailuresInRow ?? DEFAULT_MAX_FAILURES_IN_ROW;
  let place = { lineNumber: 0, byteOffset: 0 };
  let nextLineOffset = 0;
  let isOverflowKnown = false;
  let failuresInRow = 0;

  const warn = (code: LiveWarningCode, message: string): void =>
    handlers.onWarning({ code, message, ...place, field: null });
  const fail = (code: LiveWarningCode, message: string): void => {
    warn(code, message);
    if (++failuresInRow < maxFailuresInRow) return;
    failuresInRow = 0;
    warn('stream_corrupted', `${maxFailuresInRow} lines in a row could not be read: check the agent's process`);
  };
  const failOverflow = (): void => fail('buffer_overflow', `More than ${maxBufferBytes} bytes without a line feed`);

  const decodeText = (bytes: Buffer): string => {
    const hasMark = bytes[0] === BYTE_ORDER_MARK[0] && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
    if (hasMark) warn('byte_order_mark', 'Byte order mark skipped');
    const { text, invalidSequenceCount } = decodeLine(hasMark ? bytes.subarray(3) : bytes);
    if (invalidSequenceCount > 0) warn('invalid_utf8', 'Invalid UTF-8 replaced');
    return text;
  };

  const readText = (text: string, bytes: Buffer, { byteLength, terminated }: RawLine): void => {
    const { values, isBroken } = parseJsonLine(text);
    const objects = values.filter(isJsonObject);
    if (values.length > 1) warn('glued_objects', 'Several JSON objects on one line');
    if (objects.length > 0) failuresInRow = 0;
    const isLarge = byteLength > largeMessageBytes;
    if (isLarge && objects.length > 0) warn('large_message', `Longer than ${largeMessageBytes} bytes`);
    // Bytes are searched several times faster than text beyond Latin-1.
    const isSuspect = bytes.includes('\\u') && maySmuggleCharacters(text);
    for (const object of objects) {
      // Whoever hands it on writes it as JSON, which would overflow the stack.
      if (isNestedDeeperThan(object, MAX_STORED_JSON_DEPTH)) {
        warn('nesting_too_deep', `Nested deeper than ${MAX_STORED_JSON_DEPTH} levels`);
        continue;
      }
      const storable = isSuspect ? toStorableJson(object) : { value: object, replacedCount: 0 };
      if (storable.replacedCount > 0) warn('replaced_characters', 'NUL or lone surrogate replaced');
      handlers.onLine({ ...place, byteLength, value: storable.value as JsonObject, isLarge });
    }
    const report = objects.length > 0 ? warn : fail;
    if (isBroken) report(terminated ? 'invalid_json' : 'truncated_last_line', 'Invalid JSON');
    else if (objects.length < values.length) report('not_an_object', 'JSON, but no object');
  };

  const splitter = createLineSplitter(maxBufferBytes, (line) => {
    place = { lineNumber: line.lineNumber, byteOffset: line.byteOffset };
    nextLineOffset = line.byteOffset + line.byteLength + 1;
    if (line.bytes === undefined) {
      if (!isOverflowKnown) failOverflow();
      isOverflowKnown = false;
      return;
    }
    const text = decodeText(line.bytes);
    if (text.trim() !== '') readText(text, line.bytes, line);
  });

  return {
    push(chunk) {
      splitter.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
      // Said at once: the line feed may never come.
      if (!isOverflowKnown && splitter.byteCount - nextLineOffset > maxBufferBytes) {
        place = { lineNumber: splitter.lineCount + 1, byteOffset: nextLineOffset };
        isOverflowKnown = true;
        failOverflow();
      }
    },
    end: splitter.finish,
  };
}
