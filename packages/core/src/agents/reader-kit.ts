import type { JsonObject, JsonValue } from '../lines/json.ts';
import { maySmuggleCharacters, toStorableJson } from '../lines/json-line.ts';
import { mayParseNested } from '../lines/json-values.ts';
import {
  cutCharacters,
  MAX_IDENTIFIER_LENGTH,
  readCount,
  readDollars,
  readIdentifier,
  readObject,
  readPart,
  readText,
} from '../records/fields.ts';
import { newMessage, newToolResult, newToolUse, newUsage } from '../records/new-records.ts';
import type { BlockContent, EventRecord, MessageRecord, SessionRecord, TranscriptRecord } from '../records/records.ts';
import type { ToolKind } from '../records/rows.ts';
import { parseTimestampMs } from '../records/timestamps.ts';
import { MAX_TOKENS_PER_FIELD, type Usage } from '../records/usage.ts';
import type { ReaderContext } from './agent.ts';
import { type ApiBlock, type BlockContext, toContentBlocks } from './anthropic-api/content-blocks.ts';
import { toProgramOfWords, toShellProgram } from './shell-program.ts';

/** An agent's tool names in lower case, by what the tools do. Tools that are not listed have kind `other`. */
export type ToolVocabulary = Partial<Record<ToolKind, readonly string[]>>;

/** A tool call as the agent's line has it. */
interface ToolUseSource {
  id: JsonValue | undefined;
  name: JsonValue | undefined;
  input: JsonValue | undefined;
  /** Set if the agent states the server separately from the tool's name. */
  mcpServer?: string | null;
  /** The file or command of the call, if the input has it in another form than most agents do. */
  facts?: JsonObject;
}

/** A tool result as the agent's line has it. */
export interface ToolResultSource {
  id: JsonValue | undefined;
  /** Text, or content blocks of the Anthropic API. */
  content: JsonValue | undefined;
  isError: boolean;
  isDenied?: boolean;
  subagentId?: string | null;
}

const MAX_PROMPT_LENGTH = 1000;
const MAX_TYPE_LENGTH = 64;

const FILE_FIELDS = ['file_path', 'filePath', 'path', 'absolute_path', 'target_file', 'notebook_path', 'filename'];
const COMMAND_FIELDS = ['command', 'cmd', 'script'];
const SUBAGENT_FIELDS = ['subagent_type', 'agent_type', 'agent_name', 'agent'];
const SKILL_FIELDS = ['skill', 'skill_name', 'name'];

export type ReaderKit = ReturnType<typeof createReaderKit>;

/** Helpers that the readers of all agents share. They check fields, report bad ones, and build blocks. */
export function createReaderKit(context: ReaderContext, vocabulary: ToolVocabulary) {
  const { report } = context;
  const blockContext = toBlockContext(context);
  const toId = (value: JsonValue | undefined): string | null => readIdentifier(value, blockContext.onIdentifierCut);
  const toBlocks = (content: JsonValue | undefined): ApiBlock[] => toContentBlocks(content, blockContext);
  const toolBlocks = createToolBlocks(vocabulary, toBlocks, toId);

  return {
    report,
    toId,
    toBlocks,
    ...toolBlocks,
    ...createUsageFields(report),

    /** A time; a value that is not one is reported. */
    toTimeMs(value: JsonValue | undefined): number | undefined {
      const timeMs = parseTimestampMs(value);
      if (timeMs === undefined && value !== undefined && value !== null && value !== '') {
        report('invalid_timestamp', 'warning', 'Timestamp names no moment from 1970 to 9999');
      }
      return timeMs;
    },

    /** A message with the result of one tool use. */
    toToolResultMessage(source: ToolResultSource, known: Partial<MessageRecord>): MessageRecord {
      return newMessage('user', { ...known, blocks: toolBlocks.toToolResultBlocks(source, known.timestampMs) });
    },

    /** A person's words, as an event, then the message. `identity` is the same in every copy of the line. */
    toPromptRecords(
      content: JsonValue | undefined,
      known: Partial<MessageRecord>,
      identity: string | null,
    ): TranscriptRecord[] {
      const blocks = toBlocks(content);
      const typed = blocks.find(({ content_text: text }) => text !== null && text.trim() !== '')?.content_text;
      const text = typed ?? (blocks.length === 0 ? undefined : '');
      const message = newMessage('user', { ...known, blocks, promptText: text && toPromptText(text) });
      if (text === undefined) return [message];
      return [toEvent({ kind: 'prompt', name: null, details: {} }, identity, known.timestampMs, known), message];
    },

    /** A message of a provider or the agent itself, such as an error; none without a text. */
    toSystemMessages(text: JsonValue | undefined, { timestampMs }: Partial<MessageRecord>): MessageRecord[] {
      const blocks = toBlocks(readText(text));
      return blocks.length === 0 ? [] : [newMessage('system', { timestampMs, blocks })];
    },

    toEvent,
    toPromptText,
  };
}

const toBlockContext = ({ report, maxInlineContentBytes, isLive = false }: ReaderContext): BlockContext => ({
  maxInlineContentBytes,
  isUnmeasured: isLive,
  onNestingTooDeep: () => report('nesting_too_deep', 'warning', 'JSON nested too deep to be stored'),
  onIdentifierCut: () => report('identifier_truncated', 'warning', 'Identifier cut to 512 characters'),
  onInvalidContent: () => report('invalid_content', 'warning', 'Content element without a type'),
  onUnknownBlock: (type) => report('unknown_block_type', 'notice', `Unknown type of content block: ${type}`),
  onTooManyBlocks: (count) => report('too_many_blocks', 'error', 'Too many content blocks on one line', count),
});

/** The fields of counts and costs. An implausible figure is reported and counts as none. */
function createUsageFields(report: ReaderContext['report']) {
  const reportInvalidUsage = (field: string): void =>
    report('invalid_usage', 'warning', `Usage field ${field} is no plausible figure`);
  let termsOf: JsonObject | undefined;
  /** Agents with this kit state no tier beside their counts. A tier that appears there may change the price. */
  const reportTerms = (source: JsonObject): void => {
    termsOf = source;
    for (const field of listUnknownTerms(source)) report('unknown_usage', 'notice', `Unknown field of usage: ${field}`);
  };
  return {
    reportInvalidUsage,

    /** A token count, 0 if there is none. */
    toCount(source: JsonObject | undefined, field: string, max = MAX_TOKENS_PER_FIELD): number {
      if (source !== undefined && source !== termsOf) reportTerms(source);
      return readCount(source?.[field], max, () => reportInvalidUsage(field)) ?? 0;
    },

    /** The object in a usage field, undefined if there is none; anything else is reported. */
    toUsagePart: (source: JsonObject | undefined, field: string): JsonObject | undefined =>
      readPart(source, field, reportInvalidUsage),

    toDollars: (source: JsonObject | undefined, field: string): number | null =>
      readDollars(source?.[field], () => reportInvalidUsage(field)),
  };
}

/** Blocks of tool calls and of their results. */
function createToolBlocks(
  vocabulary: ToolVocabulary,
  toBlocks: (content: JsonValue) => ApiBlock[],
  toId: (value: JsonValue | undefined) => string | null,
) {
  const kinds = new Map(
    Object.entries(vocabulary).flatMap(([kind, names]) => names.map((name) => [name, kind as ToolKind] as const)),
  );
  return {
    toToolUseBlocks: ({ id, name, input, mcpServer = null, facts }: ToolUseSource): BlockContent[] =>
      toBlocks([{ type: 'tool_use', id: id ?? null, name: name ?? null, input: input ?? null }]).map((block) => {
        const toolName = block.tool_name ?? 'unknown';
        const server = mcpServer ?? toMcpServer(toolName);
        const kind = kinds.get(toolName.toLowerCase()) ?? (server === null ? 'other' : 'mcp');
        block.toolUse = newToolUse({
          tool_name: toolName,
          tool_kind: kind,
          mcp_server: server === null ? null : toId(server),
          ...toToolFacts(kind, facts ?? readObject(input), toId),
          input_bytes: block.contentBytes,
        });
        return block;
      }),

    toToolResultBlocks(source: ToolResultSource, timestampMs: number | undefined): BlockContent[] {
      const { id, content, isError, isDenied = false, subagentId = null } = source;
      const result = { type: 'tool_result', tool_use_id: id ?? null, content: content ?? null, is_error: isError };
      return toBlocks([result]).map((block) => {
        const outputBytes = block.contentBytes;
        block.toolResult = newToolResult({ timestampMs, isError, isDenied, outputBytes, subagentId });
        return block;
      });
    },
  };
}

function toEvent(
  event: EventRecord['event'],
  identity: string | null,
  timestampMs: number | undefined,
  { isSidechain = false }: Partial<MessageRecord> = {},
): EventRecord {
  return { kind: 'event', event, uuid: identity, timestampMs, isSubagent: isSidechain };
}

const TERM_FIELDS = ['service_tier', 'serviceTier', 'tier', 'speed'];
const STANDARD_TERMS = new Set(['standard', 'default', 'auto', '']);

/** Fields of a usage with a tier or speed that its reader does not read, unless it is the standard one. */
export function listUnknownTerms(usage: JsonObject, known: readonly string[] = []): string[] {
  return TERM_FIELDS.filter((field) => {
    const value = usage[field];
    if (value === undefined || value === null || known.includes(field)) return false;
    return typeof value !== 'string' || !STANDARD_TERMS.has(value.trim().toLowerCase());
  });
}

/** Usage whose classes do not overlap; undefined if all counts are 0, which agents write if the provider gave none. */
export function toUsageIfAny(known: Partial<Usage>): Usage | undefined {
  const usage = newUsage(known);
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens === 0 ? undefined : usage;
}

/** The agent's own price for a response. Agents write 0 for models that they have no price for. */
export function toReportedCost(dollars: number | null): number | null {
  return dollars === null || dollars === 0 ? null : dollars;
}

/** Providers that sell models of many makers at their own prices (opencode's Zen, and its plan). */
const SELLERS = new Set(['opencode', 'opencode-go']);

/**
 * A model's name with its seller, if that decides the price: `opencode/gpt-5`, as other agents write it. The rules of
 * `packages/prices` know which of its prices are the makers'.
 */
export function toSoldModel(model: string | null, provider: string | null): string | null {
  const isNamed = model === null || provider === null || !SELLERS.has(provider) || model.startsWith(`${provider}/`);
  return isNamed ? model : cutCharacters(`${provider}/${model}`, MAX_IDENTIFIER_LENGTH);
}

/** A record of what a line says about its session; undefined if it says nothing. */
export function toSessionRecord(first: Record<string, string | null | undefined>): SessionRecord | undefined {
  const known = Object.entries(first).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return known.length === 0 ? undefined : { kind: 'session', first: Object.fromEntries(known) };
}

export function toCutTitle(source: 'custom' | 'generated' | 'summary', text: string): SessionRecord {
  return { kind: 'session', title: { source, text: cutCharacters(text, 512) } };
}

/**
 * Parses JSON in a text of a line, without characters that Postgres rejects; undefined if it is not JSON, or has more
 * values than the line may.
 */
export function parseJsonText(text: string): JsonValue | undefined {
  if (!mayParseNested(text)) return undefined;
  try {
    const value = JSON.parse(text) as JsonValue;
    return maySmuggleCharacters(text) ? toStorableJson(value).value : value;
  } catch {
    return undefined;
  }
}

/** A line's type for the statistics; undefined if it has none. */
export function readType(value: JsonValue | undefined): string | undefined {
  const type = readText(value);
  return type === null ? undefined : cutCharacters(type, MAX_TYPE_LENGTH);
}

function toPromptText(text: string): string {
  return text.length > MAX_PROMPT_LENGTH ? `${cutCharacters(text, MAX_PROMPT_LENGTH)}...` : text;
}

/** `server` of `mcp__server__tool`. */
function toMcpServer(toolName: string): string | null {
  return /^mcp__(.+?)__/.exec(toolName)?.[1] ?? null;
}

function toToolFacts(
  kind: ToolKind,
  input: JsonObject | undefined,
  toId: (value: JsonValue | undefined) => string | null,
) {
  const first = (fields: readonly string[]): string | null =>
    fields.reduce<string | null>(
      (found, field) => found ?? (typeof input?.[field] === 'string' ? toId(input[field]) : null),
      null,
    );
  const isFile = kind === 'read' || kind === 'edit';
  return {
    program: kind === 'shell' ? toProgram(COMMAND_FIELDS.map((field) => input?.[field])) : null,
    file_path: isFile ? first(FILE_FIELDS) : null,
    subagent_type: kind === 'agent' ? first(SUBAGENT_FIELDS) : null,
    skill_name: kind === 'skill' ? first(SKILL_FIELDS) : null,
  };
}

function toProgram(commands: readonly (JsonValue | undefined)[]): string | null {
  const command = commands.find((value) => typeof value === 'string' || Array.isArray(value));
  if (typeof command === 'string') return toShellProgram(command);
  if (!Array.isArray(command)) return null;
  return toProgramOfWords(command.filter((word) => typeof word === 'string'));
}
