import { readObject } from '../records/fields.ts';
import type { JsonObject, JsonValue } from '../rows.ts';
import { type FieldReport, toRequiredText, toTextField } from './coerce-fields.ts';

/** Something said; `content` is a text or content blocks. */
export interface ChatMessage {
  type: 'message';
  role: string;
  content: JsonValue;
}

export interface ToolUseMessage {
  type: 'tool_use';
  /** The call's own id, or null. */
  id: string | null;
  tool_name: string;
  tool_input: JsonValue;
}

export interface ToolResultMessage {
  type: 'tool_result';
  tool_use_id: string;
  /** Text or content blocks. */
  output: JsonValue;
}

/** Anything else, with all that the line said. */
export interface GenericMessage {
  type: 'generic';
  original: JsonObject;
}

export type LiveMessage = ChatMessage | ToolUseMessage | ToolResultMessage | GenericMessage;

/**
 * Tells what a line or content block is by its `type`. Reads the names of a flat stream (`tool_name`, `tool_input`,
 * `output`) and those of the Anthropic API's blocks (`name`, `input`, `content`). Fields that are missing or odd are
 * reported and become empty.
 */
export function classifyLine(line: JsonObject, report: FieldReport = () => {}): LiveMessage {
  switch (line.type) {
    case 'message': {
      const message = readObject(line.message) ?? line;
      if (message.content === undefined) report('missing_field', 'content');
      return {
        type: 'message',
        role: toRequiredText(message.role, 'role', 'assistant', report),
        content: message.content ?? '',
      };
    }
    case 'tool_use':
      return {
        type: 'tool_use',
        id: toTextField(line.id ?? line.tool_use_id ?? line.tool_id, 'id', report),
        tool_name: toRequiredText(line.tool_name ?? line.name, 'tool_name', '', report),
        tool_input: line.tool_input ?? line.input ?? line.parameters ?? null,
      };
    case 'tool_result':
      return {
        type: 'tool_result',
        tool_use_id: toRequiredText(line.tool_use_id ?? line.tool_id, 'tool_use_id', '', report),
        output: line.output ?? line.content ?? null,
      };
    default:
      return { type: 'generic', original: line };
  }
}
