import { flatDefaultPrices, type PriceTable } from '../assemble/price-table.ts';
import type { LongLines } from '../lines/line-buffer.ts';

/** All bytes of a stream up to `endOffset` had been received by `timeMs`. */
export interface Arrival {
  endOffset: number;
  /** Milliseconds since 1970. */
  timeMs: number;
}

/**
 * Returns when the byte before an offset arrived; undefined if unknown. Offsets must not decrease from call to call.
 */
export function createArrivalClock(arrivals: readonly Arrival[] = []): (endOffset: number) => number | undefined {
  let index = 0;
  return (endOffset) => {
    while (index < arrivals.length - 1 && (arrivals[index]?.endOffset ?? 0) < endOffset) index++;
    return arrivals[index]?.timeMs;
  };
}

export interface ParseOptions {
  /** Id of the transcript's format, one of those in the registry that can be read. Default `claude-code`. */
  format?: string | undefined;
  /** True if the transcript is certainly a sub-agent's. Its lines may say so only at their end. Default false. */
  isSubagent?: boolean | undefined;
  /** Texts and tool inputs longer than this many bytes of UTF-8 are cut in the rows. Default 262,144. */
  maxInlineContentBytes?: number | undefined;
  /** Longer lines are not held in full. Default 5 MiB. */
  maxLineBytes?: number | undefined;
  /**
   * `skip` (default) means that longer lines are skipped with an error. With `cut`, lines of any length are read, with
   * their long texts cut as they stream past, and elements dropped if there are hundreds of thousands.
   */
  longLines?: LongLines | undefined;
  /** Called for each error as it is found, in the order of the lines; not for warnings and notices. */
  onLineError?: ((lineNumber: number, error: string) => void) | undefined;
  /** Ends the parse early; the result then holds what was read so far. */
  signal?: AbortSignal | undefined;
  /**
   * Which usage of a response's lines counts. The final one (default), or the first line's, in most versions a
   * placeholder written when the response began.
   */
  usageFrom?: 'first' | 'final' | undefined;
  /** Defaults to one flat rate for every model. */
  prices?: PriceTable | undefined;
  /**
   * The arrival times of a recorded stream's bytes, in the order of their offsets. Lines without a time get theirs from
   * here.
   */
  arrivals?: readonly Arrival[] | undefined;
  /**
   * Checkpoint of a parse of the same session, with the same options, of bytes that this transcript begins with. The
   * input is then the bytes after those. Throws ResumeError if the result would differ from a full parse.
   */
  resumeFrom?: Uint8Array | undefined;
  /** Lets the last batches carry a checkpoint for continuing the parse of a grown transcript. Default false. */
  makeCheckpoint?: boolean | undefined;
  /**
   * Skips lines that cannot affect usage, judging by the format, without parsing them. `apiResponses` are the same as
   * for a full parse; everything else is incomplete. Default false.
   */
  isUsageOnly?: boolean | undefined;
  /**
   * Messages that stay open at a checkpoint, and are emitted again when the transcript has grown. Default 16: in 440 of
   * 441 real files, lines of a response come within 12 messages. Later ones are a ResumeError.
   */
  maxMessagesInCheckpoint?: number | undefined;
  /**
   * Messages held back for later lines of their API responses, about two for each response. Default 2,000: real
   * sessions have at most 120 messages between two lines of a response, and each thousand takes about a megabyte.
   */
  maxOpenMessages?: number | undefined;
  /** Tool calls kept open for their results, and results for their calls. Default 10,000. */
  maxOpenToolCalls?: number | undefined;
}

export const DEFAULT_MAX_INLINE_CONTENT_BYTES = 262_144;
const DEFAULT_MAX_LINE_BYTES = 5 * 1024 * 1024;
const DEFAULT_FORMAT = 'claude-code';
const DEFAULT_MAX_OPEN_MESSAGES = 2_000;
const DEFAULT_MAX_MESSAGES_IN_CHECKPOINT = 16;
const DEFAULT_MAX_OPEN_TOOL_CALLS = 10_000;

export function resolveOptions(options: ParseOptions): {
  format: string;
  maxInlineContentBytes: number;
  maxLineBytes: number;
  longLines: LongLines;
  usageFrom: 'first' | 'final';
  isUsageOnly: boolean;
  prices: PriceTable;
  maxOpenMessages: number;
  maxOpenToolCalls: number;
  maxMessagesInCheckpoint: number;
} {
  return {
    format: options.format ?? DEFAULT_FORMAT,
    maxInlineContentBytes: options.maxInlineContentBytes ?? DEFAULT_MAX_INLINE_CONTENT_BYTES,
    maxLineBytes: options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES,
    longLines: options.longLines ?? 'skip',
    usageFrom: options.usageFrom ?? 'final',
    isUsageOnly: options.isUsageOnly ?? false,
    prices: options.prices ?? flatDefaultPrices,
    maxOpenMessages: options.maxOpenMessages ?? DEFAULT_MAX_OPEN_MESSAGES,
    maxOpenToolCalls: options.maxOpenToolCalls ?? DEFAULT_MAX_OPEN_TOOL_CALLS,
    maxMessagesInCheckpoint: options.maxMessagesInCheckpoint ?? DEFAULT_MAX_MESSAGES_IN_CHECKPOINT,
  };
}
