import type { JsonObject } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';

/** A line of a rollout: `{timestamp, ordinal?, type, payload}`. */
export interface RolloutLine {
  type: string;
  payload: JsonObject;
  /** Type of the item or event. */
  subtype: string;
}

const ITEM_TYPES = new Set<unknown>([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'local_shell_call',
  'web_search_call',
]);

const LINE_TYPES = new Set<unknown>([
  'session_meta',
  'response_item',
  'event_msg',
  'turn_context',
  'compacted',
  'token_usage_record',
  'world_state',
]);

/**
 * Confidence that a line is from a rollout. Versions before 0.32 wrote items without an envelope, after a first line
 * without a type.
 */
export function detectRollout(line: JsonObject): number {
  if (LINE_TYPES.has(line.type) && isJsonObject(line.payload)) return 0.9;
  if (line.record_type === 'state') return 0.8;
  if (line.type === undefined) return isBareHeader(line) ? 0.8 : 0;
  return ITEM_TYPES.has(line.type) && isBareItem(line) ? 0.5 : 0;
}

function isBareHeader(line: JsonObject): boolean {
  return typeof line.id === 'string' && typeof line.timestamp === 'string' && 'instructions' in line;
}

function isBareItem(line: JsonObject): boolean {
  if (line.type !== 'message') return typeof line.call_id === 'string' || Array.isArray(line.summary);
  const [part] = Array.isArray(line.content) ? line.content : [];
  return /^(?:input|output)_/.test(readText(readObject(part)?.type) ?? '');
}

/** Undefined for a line without a type. */
export function toRolloutLine(line: JsonObject): RolloutLine | undefined {
  const payload = readObject(line.payload);
  const type = readText(line.type);
  if (payload !== undefined && type !== null) return { type, payload, subtype: readText(payload.type) ?? '' };
  if (typeof line.record_type === 'string') return { type: 'state', payload: line, subtype: '' };
  if (type === null) return isBareHeader(line) ? { type: 'session_meta', payload: line, subtype: '' } : undefined;
  return ITEM_TYPES.has(type)
    ? { type: 'response_item', payload: line, subtype: type }
    : { type, payload: line, subtype: '' };
}
