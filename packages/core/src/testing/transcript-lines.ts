import type { JsonObject, JsonValue } from '../lines/json.ts';

/** NDJSON: objects as JSON, strings as they are. */
export function toJsonl(...lines: readonly (JsonObject | string)[]): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
}

export function userLine(content: JsonValue, fields: JsonObject = {}): JsonObject {
  return { type: 'user', message: { role: 'user', content }, ...fields };
}

/** An assistant line; `message` adds to its message, such as usage, model, stop_reason. */
export function assistantLine(
  id: string | null,
  content: JsonValue,
  message: JsonObject = {},
  fields: JsonObject = {},
): JsonObject {
  return { type: 'assistant', message: { id, role: 'assistant', content, ...message }, ...fields };
}

export function toUsageFields(input: number, output: number, cacheRead = 0, cacheWrite = 0): JsonObject {
  return {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
  };
}

/** A line about a sub-agent's response, as some versions write it into the parent's transcript. */
export function progressLine(
  id: string | null,
  content: JsonValue,
  message: JsonObject = {},
  envelope: JsonObject = {},
  fields: JsonObject = {},
): JsonObject {
  const told = { type: 'assistant', message: { id, role: 'assistant', content, ...message }, ...envelope };
  return { type: 'progress', data: { type: 'agent_progress', agentId: 'a1', message: told }, ...fields };
}

/** A user line with the result of a tool. */
export function resultLine(
  toolUseId: string,
  content: JsonValue,
  fields: JsonObject = {},
  isError = false,
): JsonObject {
  return userLine([{ type: 'tool_result', tool_use_id: toolUseId, content, is_error: isError }], fields);
}

/** The element of a list that must have exactly one. */
export function only<T>(values: readonly T[]): T {
  const [value] = values;
  if (value === undefined || values.length !== 1) throw new Error(`Expected one element, got ${values.length}`);
  return value;
}

/** JSON of `depth` nested arrays, which is too deep for JSON.stringify. */
export function nestedArrays(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}
