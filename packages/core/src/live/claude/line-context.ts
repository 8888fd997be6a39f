import type { BlockContext } from '../../messages/content-blocks.ts';
import type { JsonObject } from '../../rows.ts';
import type { FieldReport } from '../coerce-fields.ts';
import type { LiveLine } from '../live-line-decoder.ts';
import { parseLiveTimestampMs } from '../live-timestamp.ts';
import type { LiveWarning, LiveWarningCode } from '../live-warning.ts';
import type { LineEvent } from './stream-event.ts';

/** What reading one line needs: what its events have in common, and where its warnings go. */
export interface LineContext {
  event: LineEvent;
  warn(code: LiveWarningCode, message: string, field?: string | null): void;
  report: FieldReport;
  blocks: BlockContext;
}

const FIELD_MESSAGES = {
  missing_field: 'Required field missing',
  coerced_field: 'Field of another type converted',
  invalid_field: 'Field of a wrong type left out',
} as const;

/** `receivedMs` stands in for a line without a readable time of its own. */
export function createLineContext(
  line: LiveLine,
  receivedMs: number,
  onWarning: (warning: LiveWarning) => void,
): LineContext {
  const { lineNumber, byteOffset, isLarge, value } = line;
  const warn: LineContext['warn'] = (code, message, field = null) =>
    onWarning({ code, message, lineNumber, byteOffset, field });
  return {
    event: { timestampMs: toEventTimeMs(value, receivedMs, warn), lineNumber, isLarge },
    warn,
    report: (code, field) => warn(code, FIELD_MESSAGES[code], field),
    blocks: {
      // The line as a whole is bounded by the decoder.
      maxInlineContentBytes: Number.MAX_SAFE_INTEGER,
      onNestingTooDeep: () => warn('nesting_too_deep', 'JSON nested too deep to be kept'),
      onIdentifierCut: () => warn('identifier_truncated', 'Identifier cut to 512 characters'),
      onInvalidContent: () => warn('invalid_content', 'Content element without a type'),
      onTooManyBlocks: () => warn('too_many_blocks', 'Too many content blocks on one line'),
    },
  };
}

function toEventTimeMs(value: JsonObject, receivedMs: number, warn: LineContext['warn']): number {
  const timestamp = value.timestamp ?? value.timestamp_ms;
  if (timestamp === undefined || timestamp === null) return receivedMs;
  const timeMs = parseLiveTimestampMs(timestamp);
  if (timeMs === undefined) warn('invalid_timestamp', 'Timestamp in no known form: time of receipt taken', 'timestamp');
  return timeMs ?? receivedMs;
}
