import { limitJson } from '../lines/inline-limit.ts';
import { cutCharacters, MAX_IDENTIFIER_LENGTH, readIdentifier, readObject, readText } from '../records/fields.ts';
import type { JsonValue, ToolCall } from '../rows.ts';
import type { BlockContent } from './content-blocks.ts';
import { toShellProgram } from './shell-program.ts';
import { SUBAGENT_TOOLS } from './transcript-totals.ts';

const TOOL_USE_TYPES = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use']);
const FILE_TOOLS = new Set(['Read', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit']);
const SHELL_TOOLS = new Set(['Bash', 'bash']);

export function isToolUse(block: BlockContent): boolean {
  return TOOL_USE_TYPES.has(block.block_type);
}

/** What the input of a tool use tells of the call. */
export type ToolUseFacts = Pick<
  ToolCall,
  'tool_name' | 'mcp_server' | 'program' | 'file_path' | 'subagent_type' | 'skill_name' | 'input_bytes'
>;

/** Every text is cut to 512 characters. */
export function toToolUseFacts(block: BlockContent): ToolUseFacts {
  const toolName = block.tool_name ?? 'unknown';
  const source = block.source;
  const input = readObject(source?.input);
  const inputBytes =
    block.block_type === 'tool_use'
      ? block.contentBytes
      : limitJson(source?.input ?? null, Number.POSITIVE_INFINITY).byteLength;
  return {
    tool_name: toolName,
    mcp_server: toText(source?.server_name) ?? toMcpServer(toolName),
    program: SHELL_TOOLS.has(toolName) && typeof input?.command === 'string' ? toShellProgram(input.command) : null,
    file_path: FILE_TOOLS.has(toolName)
      ? (toText(input?.file_path) ?? toText(input?.notebook_path) ?? toText(input?.path))
      : null,
    subagent_type: SUBAGENT_TOOLS.has(toolName) ? toText(input?.subagent_type) : null,
    skill_name: toolName === 'Skill' ? (toText(input?.skill) ?? toText(input?.command)) : null,
    input_bytes: inputBytes,
  };
}

/** `server` of `mcp__server__tool`. */
function toMcpServer(toolName: string): string | null {
  if (!toolName.startsWith('mcp__')) return null;
  const end = toolName.indexOf('__', 'mcp__'.length);
  return end === -1 ? null : readText(toolName.slice('mcp__'.length, end));
}

/** A name is reported as cut where it enters a message's row; these only classify a call. */
function toText(value: JsonValue | undefined): string | null {
  const text = readText(value);
  return text === null ? null : cutCharacters(text, MAX_IDENTIFIER_LENGTH);
}

/** What a result tells of its call. */
export interface ToolResult {
  timestampMs: number | undefined;
  isError: boolean;
  isDenied: boolean;
  outputBytes: number;
  subagentId: string | null;
  /** Searches that a WebSearch tool made. */
  searchCount: number;
}

/** The agent's own record of a result says more than the model gets to see; it is the line's, so of one result alone. */
export function toSubagentId(toolUseResult: JsonValue | undefined): string | null {
  return readIdentifier(readObject(toolUseResult)?.agentId, () => undefined);
}

/** No tool use makes more; a larger figure is a fault. */
const MAX_SEARCHES_PER_CALL = 1000;

/**
 * How many searches the agent made for a WebSearch tool use, by an API call of its own that the transcript does not
 * show: its count, or where an older version has none, the searches that its results name.
 */
export function toSearchCount(toolUseResult: JsonValue | undefined): number {
  const result = readObject(toolUseResult);
  const count = result?.searchCount;
  if (typeof count === 'number') {
    return Number.isInteger(count) && count >= 0 && count <= MAX_SEARCHES_PER_CALL ? count : 0;
  }
  if (!Array.isArray(result?.results)) return 0;
  const named = result.results.filter((element) => readText(readObject(element)?.tool_use_id) !== null);
  return Math.min(named.length, MAX_SEARCHES_PER_CALL);
}
