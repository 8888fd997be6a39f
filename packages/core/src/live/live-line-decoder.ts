import type { IssueCode } from '../lines/issues.ts';
import type { JsonObject } from '../lines/json.ts';
import { readJsonLine } from '../lines/json-line.ts';
import { countRefusedTexts } from '../lines/json-values.ts';
import { createLineSplitter, type RawLine } from '../lines/line-splitter.ts';
import { cutCharacters, isJsonObject } from '../records/fields.ts';

/** The fault of a line of a stream; decoding continued. An IssueCode means the same as in a transcript. */
export type LiveWarningCode = IssueCode | 'not_an_object' | 'large_message' | 'buffer_overflow' | 'stream_corrupted';

export interface LiveWarning {
  code: LiveWarningCode;
  /** For people; never quotes the stream. */
  message: string;
  /** From 1, over all lines of the stream. */
  lineNumber: number;
  /** The beginning of the line, from the start of the stream. */
  byteOffset: number;
  /**
   * The beginning of a line that is not JSON, up to 100 characters; only if the parser may quote. For the user's own
   * terminal, never for a log.
   */
  quote?: string | undefined;
}

export interface LiveLine {
  /** From 1, over all lines of the stream. */
  lineNumber: number;
  /** The beginning of the line, from the start of the stream. */
  byteOffset: number;
  byteLength: number;
  value: JsonObject;
  /** Longer than `largeMessageBytes`; should be shown collapsed. */
  isLarge: boolean;
}

export interface LiveLineHandlers {
  /** Called for every JSON object, in order, before `push` returns. */
  onLine(line: LiveLine): void;
  onWarning(warning: LiveWarning): void;
}

export interface LiveLineDecoderOptions {
  /** Lines longer than this many bytes are flagged. Default 1,048,576. */
  largeMessageBytes?: number | undefined;
  /** Longer runs without a line feed are dropped, in bytes; bounds the decoder's memory. Default 10,485,760. */
  maxBufferBytes?: number | undefined;
  /** Consecutive unreadable lines until a stream counts as corrupted. Default 10. */
  maxFailuresInRow?: number | undefined;
  /** Lets warnings quote lines that are not JSON. Default false. */
  quotesLines?: boolean | undefined;
}

export interface LiveLineDecoder {
  /** Decodes every line that the chunk completes; a partial line waits. */
  push(chunk: Uint8Array | string): void;
  /** Decodes a last line without a line feed. To be called once. */
  end(): void;
}

export const DEFAULT_LARGE_MESSAGE_BYTES = 1024 * 1024;
export const DEFAULT_MAX_BUFFER_BYTES = 10 * 1024 * 1024;
const DEFAULT_MAX_FAILURES_IN_ROW = 10;
const MAX_QUOTE_CHARACTERS = 100;

/**
 * Decodes NDJSON from a stream that may never end. Never throws. Unreadable lines are reported as warnings and skipped.
 * After `maxFailuresInRow` of them it warns `stream_corrupted`, so that the caller can check the process, and starts
 * counting again. No other state outlives a line.
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

  const warn = (code: LiveWarningCode, message: string, quote?: string): void =>
    handlers.onWarning({ code, message, ...place, ...(quote !== undefined && { quote }) });
  const fail = (code: LiveWarningCode, message: string, quote?: string): void => {
    warn(code, message, quote);
    if (++failuresInRow < maxFailuresInRow) return;
    failuresInRow = 0;
    warn('stream_corrupted', `${maxFailuresInRow} lines in a row could not be read. Check the agent's process`);
  };
  const failOverflow = (): void =>
    fail('buffer_overflow', `More than ${maxBufferBytes} bytes without a line feed, so the line was dropped`);
  const toQuote = (text: string): string | undefined =>
    options.quotesLines ? cutCharacters(text.trim(), MAX_QUOTE_CHARACTERS) : undefined;

  const readLine = (bytes: Buffer, { byteLength, terminated }: RawLine): void => {
    const json = readJsonLine(bytes, (code, _severity, message) => warn(code, message));
    if (json === undefined) return;
    const { beginning, values, isBroken } = json;
    const objects = values.filter(isJsonObject);
    if (objects.length > 0) failuresInRow = 0;
    const isLarge = byteLength > largeMessageBytes;
    if (isLarge && objects.length > 0) warn('large_message', `Longer than ${largeMessageBytes} bytes`);
    for (const value of objects) handlers.onLine({ ...place, byteLength, value, isLarge });
    const refused = countRefusedTexts();
    if (refused > 0) warn('line_cut', 'JSON of too many values left as text');
    const report = objects.length > 0 ? warn : fail;
    if (isBroken) report(terminated ? 'invalid_json' : 'truncated_last_line', 'Invalid JSON', toQuote(beginning));
    else if (objects.length < values.length) report('not_an_object', 'JSON, but no object', toQuote(beginning));
  };

  const splitter = createLineSplitter(maxBufferBytes, (line) => {
    place = { lineNumber: line.lineNumber, byteOffset: line.byteOffset };
    nextLineOffset = line.byteOffset + line.byteLength + 1;
    if (line.bytes === undefined) {
      if (!isOverflowKnown) failOverflow();
      isOverflowKnown = false;
      return;
    }
    readLine(line.bytes, line);
  });

  return {
    push(chunk) {
      splitter.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
      // Reported immediately, because the line feed may never come.
      if (!isOverflowKnown && splitter.byteCount - nextLineOffset > maxBufferBytes) {
        place = { lineNumber: splitter.lineCount + 1, byteOffset: nextLineOffset };
        isOverflowKnown = true;
        failOverflow();
      }
    },
    end: splitter.finish,
  };
}
