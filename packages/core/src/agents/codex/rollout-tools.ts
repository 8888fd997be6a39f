import type { JsonObject, JsonValue } from '../../lines/json.ts';
import {
  cutCharacters,
  isJsonObject,
  MAX_IDENTIFIER_LENGTH,
  readObject,
  readShortText,
  readText,
} from '../../records/fields.ts';
import { newToolResult, newToolUse } from '../../records/new-records.ts';
import type { ToolResult, ToolUse } from '../../records/records.ts';
import type { ToolKind } from '../../records/rows.ts';
import { parseJsonText } from '../reader-kit.ts';
import { toProgramOfWords, toShellProgram } from '../shell-program.ts';

/** Tools of Codex 0.40 to 0.160 by name. */
const TOOLS: Readonly<Record<string, ToolKind>> = {
  shell: 'shell',
  shell_command: 'shell',
  local_shell: 'shell',
  'container.exec': 'shell',
  exec_command: 'shell',
  write_stdin: 'shell',
  unified_exec: 'shell',
  exec: 'shell',
  apply_patch: 'edit',
  view_image: 'read',
  read_file: 'read',
  list_dir: 'search',
  grep_files: 'search',
  tool_search: 'search',
  web_search: 'web',
  spawn_agent: 'agent',
  spawn_agents_on_csv: 'agent',
  update_plan: 'plan',
  create_goal: 'plan',
  update_goal: 'plan',
  get_goal: 'plan',
  request_user_input: 'question',
  list_mcp_resources: 'mcp',
  list_mcp_resource_templates: 'mcp',
  read_mcp_resource: 'mcp',
};

const PATCHED_FILE = /^\*\*\* (?:Update|Add|Delete) File: (.+)$/m;
/** The header of an output is shorter than this; the rest is the program's output. */
const MAX_HEADER_CHARACTERS = 400;
const EXIT_CODE = /^(?:Exit code: |(?:Process|Command) exited with code )(-?\d+)/m;
const DENIALS = ['patch rejected by user', 'exec command rejected by user', 'rejected by user'];
const FAILURES = [
  ...DENIALS,
  'failed in sandbox',
  'apply_patch verification failed',
  'execution error',
  'exec_command failed',
  'aborted by user',
  'failed to parse function arguments',
  'unsupported call',
  'unsupported custom tool call',
  'tool call error',
];

/** The tool's full name. Tools of MCP servers and apps have a namespace, e.g. `mcp__deepwiki` and `ask_question`. */
export function toToolName({ name, namespace }: JsonObject): string {
  const space = readText(namespace);
  const own = readText(name) ?? 'unknown';
  if (space === null) return own;
  return space.endsWith('_') || own.startsWith('_') ? `${space}_${own}`.replace(/_{3,}/, '__') : `${space}__${own}`;
}

/** Parses the arguments, which most calls have as JSON in a string; returns them unchanged if they cannot be parsed. */
export function toToolInput(value: JsonValue | undefined): JsonValue {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value ?? null;
  return parseJsonText(value) ?? value;
}

export function describeToolUse(toolName: string, input: JsonValue, inputBytes: number): ToolUse {
  const mcpServer = /^mcp__(.+?)__/.exec(toolName)?.[1] ?? null;
  const known = Object.hasOwn(TOOLS, toolName) ? TOOLS[toolName] : undefined;
  const kind = known ?? (mcpServer === null ? 'other' : 'mcp');
  const fields = readObject(input);
  return newToolUse({
    tool_name: cutCharacters(toolName, MAX_IDENTIFIER_LENGTH),
    tool_kind: kind,
    mcp_server: mcpServer === null ? null : cutCharacters(mcpServer, MAX_IDENTIFIER_LENGTH),
    program: kind === 'shell' ? toProgram(fields) : null,
    file_path:
      kind === 'edit'
        ? toPatchedFile(input)
        : kind === 'read'
          ? readShortText(fields?.path ?? fields?.file_path)
          : null,
    subagent_type: kind === 'agent' ? readShortText(fields?.agent_type ?? fields?.role) : null,
    input_bytes: inputBytes,
  });
}

function toProgram(input: JsonObject | undefined): string | null {
  const command = input?.cmd ?? input?.command;
  if (typeof command === 'string') return toShellProgram(command);
  if (!Array.isArray(command)) return null;
  return toProgramOfWords(command.filter((word) => typeof word === 'string'));
}

function toPatchedFile(input: JsonValue): string | null {
  const patch = typeof input === 'string' ? input : readText(readObject(input)?.input ?? readObject(input)?.patch);
  return readShortText(patch === null ? null : PATCHED_FILE.exec(patch)?.[1]?.trim());
}

/** A tool's output as the model sees it, with facts about the call. */
export interface ToolOutput {
  /** A text, or an array where not every element must be a content part. */
  content: JsonValue;
  isError: boolean;
  isDenied: boolean;
  /** The thread of the sub-agent that the call started. */
  subagentId: string | null;
}

/**
 * Reads an output (a text, parts, `{content, success}`, or, in old versions, JSON text that wraps the program's
 * output).
 */
export function readToolOutput(value: JsonValue | undefined): ToolOutput {
  const parsed = toToolInput(value);
  const object = isJsonObject(parsed) ? parsed : undefined;
  const isWrapped = object !== undefined && ('output' in object || 'content' in object);
  const content = isWrapped ? (object.output ?? object.content ?? null) : (value ?? null);
  const text = typeof content === 'string' ? content.slice(0, MAX_HEADER_CHARACTERS) : '';
  const exitCode = readObject(object?.metadata)?.exit_code ?? EXIT_CODE.exec(text)?.[1];
  const hasFailed = exitCode !== undefined && exitCode !== null && Number(exitCode) !== 0;
  return {
    content,
    isError: hasFailed || object?.success === false || FAILURES.some((start) => text.startsWith(start)),
    isDenied: DENIALS.some((start) => text.startsWith(start)),
    subagentId: readShortText(object?.agent_id ?? object?.thread_id),
  };
}

export function describeToolResult(
  output: ToolOutput,
  outputBytes: number,
  timestampMs: number | undefined,
): ToolResult {
  const { isError, isDenied, subagentId } = output;
  return newToolResult({ timestampMs, isError, isDenied, subagentId, outputBytes });
}
