import { isNestedDeeperThan, MAX_STORED_JSON_DEPTH } from '../../lines/inline-limit.ts';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutText, readObject, readText, toOneLine } from '../../records/fields.ts';
import type { ToolKind } from '../../records/rows.ts';
import { toToolInputSummary } from '../tool-input-summary.ts';

/** A tool call of Codex in the terms that other agents use. */
export interface CodexTool {
  toolName: string;
  toolInput: string;
  input: JsonValue;
  kind: ToolKind;
}

const MAX_SUMMARY_CHARACTERS = 60;

/** An item's type; old versions also called the field `item_type`. */
export function toItemType(item: JsonObject): string {
  const type = readText(item.type) ?? readText(item.item_type) ?? '';
  return type === 'assistant_message' ? 'agent_message' : type;
}

/** The tool that an item calls; undefined for messages and unknown items. */
export function toCodexTool(item: JsonObject): CodexTool | undefined {
  const type = toItemType(item);
  switch (type) {
    case 'command_execution':
      return toTool('shell', 'Bash', { command: item.command ?? null });
    case 'web_search':
      return toTool('web', 'WebSearch', { query: item.query ?? null });
    case 'file_change':
      return {
        toolName: 'Edit',
        toolInput: toPathsSummary(item.changes),
        kind: 'edit',
        input: { changes: item.changes ?? null },
      };
    case 'todo_list':
      return { kind: 'plan', toolName: 'update_plan', toolInput: '', input: { items: item.items ?? null } };
    case 'mcp_tool_call':
      return toTool('mcp', `mcp__${readText(item.server) ?? ''}__${readText(item.tool) ?? ''}`, item.arguments ?? null);
    default: {
      const name = readText(item.tool) ?? readText(item.name);
      if (!type.endsWith('tool_call') || name === null) return undefined;
      const toolInput = cutText(toOneLine(readText(item.prompt) ?? ''), MAX_SUMMARY_CHARACTERS);
      const input = item.arguments ?? { prompt: item.prompt ?? null };
      return { kind: 'other', toolName: name, toolInput, input };
    }
  }
}

/**
 * `onNestingTooDeep` is called if the output is JSON nested so deeply that serializing it would overflow the stack; it
 * is then left out.
 */
export function toItemOutput(item: JsonObject, onNestingTooDeep: () => void): string {
  const output = item.aggregated_output ?? item.output ?? item.result ?? item.agents_states;
  if (typeof output === 'string') return output;
  const content = readObject(output)?.content;
  const texts = Array.isArray(content) ? content.flatMap((part) => readText(readObject(part)?.text) ?? []) : [];
  if (texts.length > 0) return texts.join('\n');
  if (output === undefined || output === null) return '';
  if (!isNestedDeeperThan(output, MAX_STORED_JSON_DEPTH)) return JSON.stringify(output);
  onNestingTooDeep();
  return '';
}

/** The error of a tool call with this `output`, or null. */
export function toItemError(item: JsonObject, output: string): string | null {
  const message = readText(item.error) ?? readText(readObject(item.error)?.message);
  if (message !== null) return message;
  const { exit_code: exitCode, status } = item;
  if (typeof exitCode === 'number' && exitCode !== 0) return output || `exit code ${exitCode}`;
  return status === 'failed' || status === 'declined' ? output || status : null;
}

/** E.g. `2/5 Run the tests`, the number of completed steps of a plan, and the next one. */
export function toPlanText(items: JsonValue | undefined): string {
  const steps = (Array.isArray(items) ? items : []).map((step) => readObject(step));
  const next = steps.find((step) => step?.completed !== true);
  return `${steps.filter((step) => step?.completed === true).length}/${steps.length} ${readText(next?.text) ?? ''}`.trim();
}

function toTool(kind: ToolKind, toolName: string, input: JsonValue): CodexTool {
  return { kind, toolName, toolInput: toToolInputSummary(toolName, input), input };
}

function toPathsSummary(changes: JsonValue | undefined): string {
  const paths = (Array.isArray(changes) ? changes : []).flatMap((change) => readText(readObject(change)?.path) ?? []);
  const [first = '', ...others] = paths;
  const { toolInput } = toTool('edit', 'Edit', { file_path: first });
  return others.length === 0 ? toolInput : `${toolInput} (+${others.length})`;
}
