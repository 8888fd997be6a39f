import { isNestedDeeperThan, limitJson, limitText, MAX_STORED_JSON_DEPTH } from '../lines/inline-limit.ts';
import type { JsonValue } from '../lines/json.ts';
import type { BlockContent } from '../records/records.ts';

export interface InlineContext {
  maxInlineContentBytes: number;
  /** Skips measuring. Sizes and hashes are 0 or left out, and nothing is cut. */
  isUnmeasured?: boolean;
  onNestingTooDeep: () => void;
}

type Measured = Pick<BlockContent, 'metadata' | 'contentBytes'>;

/**
 * The text to store in a row. Texts that are too long are cut, which the block's metadata then states. Sets
 * `contentBytes`.
 */
export function toInlineText(text: string, block: Measured, context: InlineContext): string {
  if (context.isUnmeasured) return text;
  const limited = limitText(text, context.maxInlineContentBytes);
  block.contentBytes = limited.byteLength;
  if (limited.isCut) markTruncated(block, limited.byteLength);
  return limited.value;
}

/**
 * The same for any JSON: a value that is too long becomes a string with its beginning; parts nested too deep become
 * null.
 */
export function toInlineJson(value: JsonValue, block: Measured, context: InlineContext): JsonValue {
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'string' ? toInlineText(value, block, context) : value;
  }
  if (context.isUnmeasured && !isNestedDeeperThan(value, MAX_STORED_JSON_DEPTH)) return value;
  const limited = limitJson(value, context.maxInlineContentBytes);
  block.contentBytes = limited.byteLength;
  if (limited.isTooDeep) {
    context.onNestingTooDeep();
    block.metadata.truncated = true;
  }
  if (limited.isCut) markTruncated(block, limited.byteLength);
  return limited.value;
}

/**
 * If several texts were cut, the first one's length stays, because a tool result's text comes before its other parts.
 */
function markTruncated(block: Measured, originalByteLength: number): void {
  block.metadata.truncated = true;
  block.metadata.original_byte_length ??= originalByteLength;
}
