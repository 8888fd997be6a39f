import { isNestedDeeperThan, limitJson, limitText, MAX_STORED_JSON_DEPTH } from '../lines/inline-limit.ts';
import type { JsonValue } from '../rows.ts';
import type { BlockContent } from './records.ts';

export interface InlineContext {
  maxInlineContentBytes: number;
  /** Nobody asks for sizes and hashes: they are 0 and left out, and nothing is cut. */
  isUnmeasured?: boolean;
  onNestingTooDeep: () => void;
}

type Measured = Pick<BlockContent, 'metadata' | 'contentBytes'>;

/** The text as a row holds it: cut if it is too long, which the block's metadata then says. Sets `contentBytes`. */
export function toInlineText(text: string, block: Measured, context: InlineContext): string {
  if (context.isUnmeasured) return text;
  const limited = limitText(text, context.maxInlineContentBytes);
  block.contentBytes = limited.byteLength;
  if (limited.isCut) markTruncated(block, limited.byteLength);
  return limited.value;
}

/** The same of any JSON: what is too long becomes a string with its beginning, what is nested too deep null. */
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

/** Of several texts that were cut, the length is that of the first: a tool result's text comes before its other parts. */
function markTruncated(block: Measured, originalByteLength: number): void {
  block.metadata.truncated = true;
  block.metadata.original_byte_length ??= originalByteLength;
}
