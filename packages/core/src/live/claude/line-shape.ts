import { toLineKind } from '../../records/claude-code/line-types.ts';
import { STREAM_LINE_TYPES } from '../../records/claude-code/stream-lines.ts';
import { isJsonObject } from '../../records/fields.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';
import { type FieldReport, toBooleanField, toObjectField, toTextField, withNumberFields } from '../coerce-fields.ts';

const USAGE_COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const;

export function isKnownType(type: string): boolean {
  return STREAM_LINE_TYPES.has(type) || toLineKind(type) !== 'unknown';
}

/** The line in the shape that the code for transcripts reads: what has the wrong type is converted where it can be. */
export function toMessageLine(line: JsonObject, report: FieldReport): JsonObject {
  const source = typeof line.message === 'string' ? { content: line.message } : line.message;
  if (source === undefined || source === null) report('missing_field', 'message');
  // Some writers put the content beside where the message should be.
  const message = toObjectField(source, 'message', report) ?? { content: line.content ?? null };
  const usage = toObjectField(message.usage, 'message.usage', report);
  return {
    ...line,
    uuid: toTextField(line.uuid, 'uuid', report),
    message: {
      ...message,
      content: toContentShape(message.content, report),
      ...(usage === undefined ? {} : { usage: toUsageShape(usage, report) }),
    },
  };
}

export function toUsageShape(usage: JsonObject, report: FieldReport): JsonObject {
  return withNumberFields(usage, USAGE_COUNTS, 'usage', report);
}

function toContentShape(content: JsonValue | undefined, report: FieldReport): JsonValue {
  if (content === undefined || content === null) {
    report('missing_field', 'message.content');
    return [];
  }
  if (Array.isArray(content))
    return content.map((block) => (isJsonObject(block) ? toBlockShape(block, report) : block));
  return typeof content === 'object'
    ? [toBlockShape(content, report)]
    : (toTextField(content, 'message.content', report) ?? '');
}

function toBlockShape(block: JsonObject, report: FieldReport): JsonObject {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? block : { ...block, text: toTextField(block.text, 'text', report) ?? '' };
    case 'tool_result':
      return typeof block.is_error === 'boolean' || block.is_error === undefined
        ? block
        : { ...block, is_error: toBooleanField(block.is_error, 'is_error', report) };
    default:
      return block;
  }
}
