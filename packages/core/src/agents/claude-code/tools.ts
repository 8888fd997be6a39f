import { limitJson } from '../../lines/inline-limit.ts';
import type { JsonValue } from '../../lines/json.ts';
import { readIdentifier, readObject, readShortText, readText } from '../../records/fields.ts';
import type { ToolResult, ToolUse } from '../../records/records.ts';
import type { ToolKind } from '../../records/rows.ts';
import type { ApiBlock, BlockContext } from '../anthropic-api/content-blocks.ts';
import { toShellProgram } from '../shell-program.ts';
import { isDenialText } from './denial.ts';
import type { MessageFields } from './message-fields.ts';

const TOOL_USE_TYPES = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use']);

/** The facts about a tool (its kind, and which input fields name its object). */
interface Tool {
  kind: ToolKind;
  /** Input fields that may name the file read or edited; the first one present is used. */
  fileFields?: readonly string[];
  commandField?: string;
  skillFields?: readonly string[];
  /** Its results may count web searches that the transcript's usage does not include. */
  countsSearches?: boolean;
}

const FILE_FIELDS = ['file_path', 'notebook_path', 'path'];

/** Tools of Claude Code 1.0 to 2.1 by name. */
const TOOLS: Readonly<Record<string, Tool>> = {
  Read: { kind: 'read', fileFields: FILE_FIELDS },
  NotebookRead: { kind: 'read' },
  Write: { kind: 'edit', fileFields: FILE_FIELDS },
  Edit: { kind: 'edit', fileFields: FILE_FIELDS },
  MultiEdit: { kind: 'edit', fileFields: FILE_FIELDS },
  NotebookEdit: { kind: 'edit', fileFields: FILE_FIELDS },
  Bash: { kind: 'shell', commandField: 'command' },
  bash: { kind: 'shell', commandField: 'command' },
  BashOutput: { kind: 'shell' },
  KillBash: { kind: 'shell' },
  KillShell: { kind: 'shell' },
  Glob: { kind: 'search' },
  Grep: { kind: 'search' },
  LS: { kind: 'search' },
  LSP: { kind: 'search' },
  ToolSearch: { kind: 'search' },
  WebFetch: { kind: 'web' },
  WebSearch: { kind: 'web', countsSearches: true },
  web_search: { kind: 'web' },
  web_fetch: { kind: 'web' },
  Task: { kind: 'agent' },
  Agent: { kind: 'agent' },
  Skill: { kind: 'skill', skillFields: ['skill', 'command'] },
  TodoWrite: { kind: 'plan' },
  TaskCreate: { kind: 'plan' },
  TaskUpdate: { kind: 'plan' },
  TaskList: { kind: 'plan' },
  TaskGet: { kind: 'plan' },
  EnterPlanMode: { kind: 'plan' },
  ExitPlanMode: { kind: 'plan' },
  exit_plan_mode: { kind: 'plan' },
  AskUserQuestion: { kind: 'question' },
  ListMcpResourcesTool: { kind: 'mcp' },
  ReadMcpResourceTool: { kind: 'mcp' },
};

const UNKNOWN_TOOL: Tool = { kind: 'other' };
const MCP_TOOL: Tool = { kind: 'mcp' };

/** Adds facts about tool uses and results to a line's blocks. */
export function describeToolBlocks(
  blocks: readonly ApiBlock[],
  message: MessageFields,
  { isUnmeasured }: Pick<BlockContext, 'isUnmeasured'>,
): void {
  const results = blocks.filter(isToolResult);
  for (const block of blocks) {
    if (TOOL_USE_TYPES.has(block.block_type)) block.toolUse = toToolUse(block, isUnmeasured === true);
  }
  for (const block of results) block.toolResult = toToolResult(block, message, results.length === 1);
}

/** True if the block calls a tool that counts searches, or may be the result of one. */
export function mayCountSearches({ tool_name: name, block_type: type }: ApiBlock): boolean {
  if (!TOOL_USE_TYPES.has(type)) return true;
  return name !== null && countsSearches(name);
}

/** True if results of the tool may count searches. */
export function countsSearches(toolName: string): boolean {
  return Object.hasOwn(TOOLS, toolName) && TOOLS[toolName]?.countsSearches === true;
}

function toToolUse(block: ApiBlock, isUnmeasured: boolean): ToolUse {
  const toolName = block.tool_name ?? 'unknown';
  const { source } = block;
  const mcpServer = readShortText(source?.server_name) ?? toMcpServer(toolName);
  const known = Object.hasOwn(TOOLS, toolName) ? TOOLS[toolName] : undefined;
  const tool = known ?? (mcpServer === null ? UNKNOWN_TOOL : MCP_TOOL);
  const input = readObject(source?.input);
  const firstText = (fields: readonly string[] = []): string | null =>
    fields.reduce<string | null>((found, field) => found ?? readShortText(input?.[field]), null);
  const command = tool.commandField === undefined ? undefined : input?.[tool.commandField];
  return {
    countsSearches: tool.countsSearches === true,
    facts: {
      tool_name: toolName,
      tool_kind: tool.kind,
      mcp_server: mcpServer,
      program: typeof command === 'string' ? toShellProgram(command) : null,
      file_path: firstText(tool.fileFields),
      subagent_type: tool.kind === 'agent' ? readShortText(input?.subagent_type) : null,
      skill_name: firstText(tool.skillFields),
      input_bytes:
        block.block_type === 'tool_use' || isUnmeasured
          ? block.contentBytes
          : limitJson(source?.input ?? null, Number.POSITIVE_INFINITY).byteLength,
    },
  };
}

/** `server` of `mcp__server__tool`. */
function toMcpServer(toolName: string): string | null {
  if (!toolName.startsWith('mcp__')) return null;
  const end = toolName.indexOf('__', 'mcp__'.length);
  return end === -1 ? null : readText(toolName.slice('mcp__'.length, end));
}

/** These texts only classify a call. A cut is reported when the name is stored in a message's row. */

/** `tool_result`, and the server-side variants inside the assistant's own message. */
function isToolResult(block: ApiBlock): boolean {
  return (
    block.block_type === 'tool_result' || (block.tool_result_id !== null && block.block_type.endsWith('_tool_result'))
  );
}

function toToolResult(block: ApiBlock, message: MessageFields, isOnlyResult: boolean): ToolResult {
  const content = readObject(block.source?.content);
  const isErrorContent = typeof content?.type === 'string' && content.type.endsWith('_error');
  const isError = block.is_error === true || isErrorContent;
  const toolUseResult = isOnlyResult ? message.toolUseResult : undefined;
  const text =
    typeof block.source?.content === 'string' && block.source.content !== ''
      ? block.source.content
      : (block.result_text ?? '');
  return {
    timestampMs: message.timestampMs,
    isError,
    isDenied: message.metadata.toolDenialKind === undefined ? isError && isDenialText(text) : isError || isOnlyResult,
    outputBytes: block.contentBytes,
    subagentId: toSubagentId(toolUseResult),
    searchCount: toSearchCount(toolUseResult),
  };
}

/** The agent's own record of a result says more than the model sees. It belongs to the line, so to a single result. */
function toSubagentId(toolUseResult: JsonValue | undefined): string | null {
  return readIdentifier(readObject(toolUseResult)?.agentId, () => undefined);
}

/** No tool use makes more; a larger figure is a fault. */
const MAX_SEARCHES_PER_CALL = 1000;

/**
 * The number of searches behind a WebSearch tool use, which makes an API call that the transcript does not show. It is
 * the count in its result, or for older versions without one, the number of searches that the results name.
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
