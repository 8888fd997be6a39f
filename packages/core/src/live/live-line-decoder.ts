import type { IssueCode } from '../lines/issues.ts';
import type { JsonObject } from '../lines/json.ts';
import { readJsonLine } from '../lines/json-line.ts';
import { countRefusedTexts } from '../lines/json-values.ts';
import { createLineSplitter, type LineSplitter, type RawLine } from '../lines/line-splitter.ts';
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

export const DEFAULT_LARGE_MESSAGE_BYTES = 1024 * 1024;
export const DEFAULT_MAX_BUFFER_BYTES = 10 * 1024 * 1024;
const DEFAULT_MAX_FAILURES_IN_ROW = 10;
const MAX_QUOTE_CHARACTERS = 100;

/**
 * Decodes NDJSON from a stream that may never end. Never throws. Unreadable lines are reported as warnings and skipped.
 * After `maxFailuresInRow` of them it warns `stream_corrupted`, so that the caller can check the process, and starts
 * counting again. No other state outlives a line.
 */
export class LiveLineDecoder {
  readonly #handlers: LiveLineHandlers;
  readonly #largeMessageBytes: number;
  readonly #maxBufferBytes: number;
  readonly #maxFailuresInRow: number;
  readonly #quotesLines: boolean;
  readonly #splitter: LineSplitter;
  /** The line that warnings are about. */
  #place = { lineNumber: 0, byteOffset: 0 };
  #nextLineOffset = 0;
  #isOverflowKnown = false;
  #failuresInRow = 0;

  constructor(handlers: LiveLineHandlers, options: LiveLineDecoderOptions = {}) {
    this.#handlers = handlers;
    this.#largeMessageBytes = options.largeMessageBytes ?? DEFAULT_LARGE_MESSAGE_BYTES;
    this.#maxBufferBytes = options.maxBufferBytes ?? DEFAULT_MAX_BUFFER_BYTES;
    this.#maxFailuresInRow = options.maxFailuresInRow ?? DEFAULT_MAX_FAILURES_IN_ROW;
    this.#quotesLines = options.quotesLines ?? false;
    this.#splitter = createLineSplitter(this.#maxBufferBytes, (line) => this.#takeLine(line));
  }

  /** Decodes every line that the chunk completes; a partial line waits. */
  push(chunk: Uint8Array | string): void {
    this.#splitter.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    // Reported immediately, because the line feed may never come.
    if (this.#isOverflowKnown || this.#splitter.byteCount - this.#nextLineOffset <= this.#maxBufferBytes) return;
    this.#place = { lineNumber: this.#splitter.lineCount + 1, byteOffset: this.#nextLineOffset };
    this.#isOverflowKnown = true;
    this.#failOverflow();
  }

  /** Decodes a last line without a line feed. To be called once. */
  end(): void {
    this.#splitter.finish();
  }

  #takeLine(line: RawLine): void {
    this.#place = { lineNumber: line.lineNumber, byteOffset: line.byteOffset };
    this.#nextLineOffset = line.byteOffset + line.byteLength + 1;
    if (line.bytes !== undefined) {
      this.#readLine(line.bytes, line);
      return;
    }
    if (!this.#isOverflowKnown) this.#failOverflow();
    this.#isOverflowKnown = false;
  }

  #readLine(bytes: Buffer, { byteLength, terminated }: RawLine): void {
    const json = readJsonLine(bytes, (code, _severity, message) => this.#warn(code, message));
    if (json === undefined) return;
    const { beginning, values, isBroken } = json;
    const objects = values.filter(isJsonObject);
    if (objects.length > 0) this.#failuresInRow = 0;
    const isLarge = byteLength > this.#largeMessageBytes;
    if (isLarge && objects.length > 0) this.#warn('large_message', `Longer than ${this.#largeMessageBytes} bytes`);
    for (const value of objects) this.#handlers.onLine({ ...this.#place, byteLength, value, isLarge });
    if (countRefusedTexts() > 0) this.#warn('line_cut', 'JSON of too many values left as text');
    const report = (code: LiveWarningCode, message: string): void =>
      objects.length > 0 ? this.#warn(code, message, beginning) : this.#fail(code, message, beginning);
    if (isBroken) report(terminated ? 'invalid_json' : 'truncated_last_line', 'Invalid JSON');
    else if (objects.length < values.length) report('not_an_object', 'JSON, but no object');
  }

  #failOverflow(): void {
    this.#fail(
      'buffer_overflow',
      `More than ${this.#maxBufferBytes} bytes without a line feed, so the line was dropped`,
    );
  }

  #fail(code: LiveWarningCode, message: string, line?: string): void {
    this.#warn(code, message, line);
    if (++this.#failuresInRow < this.#maxFailuresInRow) return;
    this.#failuresInRow = 0;
    this.#warn(
      'stream_corrupted',
      `${this.#maxFailuresInRow} lines in a row could not be read. Check the agent's process`,
    );
  }

  #warn(code: LiveWarningCode, message: string, line?: string): void {
    const isQuoted = line !== undefined && this.#quotesLines;
    const quote = isQuoted ? { quote: cutCharacters(line.trim(), MAX_QUOTE_CHARACTERS) } : {};
    this.#handlers.onWarning({ code, message, ...this.#place, ...quote });
  }
}
