import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readObject, readText, toFlag } from '../../records/fields.ts';

/**
 * Converts a line of a flat stream to the form of a session file. Flat streams have one message, tool use or tool
 * result a line, without an envelope, with separate field names (`tool_name`, `tool_input`, `output`) or the API's.
 * Other lines are returned unchanged.
 */
export function toEnvelopeLine(line: JsonObject): JsonObject {
  switch (line.type) {
    case 'message': {
      const source = readObject(line.message) ?? line;
      const role = readText(source.role) ?? 'assistant';
      const content = source.content ?? '';
      if (role === 'system') return { ...line, type: 'system', content };
      return {
        ...line,
        type: role === 'user' ? 'user' : 'assistant',
        message: { ...readObject(line.message), role, content },
      };
    }
    case 'tool_use': {
      const id = line.id ?? line.tool_use_id ?? line.tool_id ?? null;
      const input = line.tool_input ?? line.input ?? line.parameters ?? null;
      const block = { type: 'tool_use', id, name: line.tool_name ?? line.name ?? null, input };
      return { ...line, type: 'assistant', message: { role: 'assistant', content: [block] } };
    }
    case 'tool_result': {
      const is_error = toFlag(line.is_error) ?? line.status === 'error';
      const tool_use_id = line.tool_use_id ?? line.tool_id ?? null;
      const content = line.output ?? line.content ?? null;
      const block = { type: 'tool_result', tool_use_id, content, error: line.error ?? null, is_error };
      return { ...line, type: 'user', message: { role: 'user', content: [block] } };
    }
    default:
      return line;
  }
}

/** The fields that a line of a flat stream must have and has not, apart from its block's. */
export function listMissingFlatFields(line: JsonObject): string[] {
  const isMissing = (...fields: (JsonValue | undefined)[]): boolean =>
    fields.every((value) => (value ?? null) === null);
  if (line.type === 'message') {
    const { role, content } = readObject(line.message) ?? line;
    return [...(readText(role) === null ? ['role'] : []), ...(isMissing(content) ? ['content'] : [])];
  }
  return line.type === 'tool_result' && isMissing(line.output, line.content, line.error) ? ['output'] : [];
}
