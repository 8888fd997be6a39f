import { cutCharacters, readObject, readText } from '../../records/fields.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';
import type { Usage } from '../../usage/usage.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { newMessage, newUsageRecord } from '../new-records.ts';
import {
  createReaderKit,
  type ReaderKit,
  readType,
  type ToolVocabulary,
  toCutTitle,
  toReportedCost,
  toSessionRecord,
  toUsageIfAny,
} from '../reader-kit.ts';
import type { MessageRecord, ResponseRecord, TranscriptRecord } from '../records.ts';
import { toStem } from '../transcript-path.ts';

const TOOLS: ToolVocabulary = {
  read: ['read', 'read_file'],
  edit: ['edit', 'write', 'edit_file', 'write_file', 'apply_patch', 'notebook', 'ast_edit'],
  shell: ['bash', 'shell', 'exec', 'process', 'shell_exec', 'run_terminal', 'ssh'],
  search: ['grep', 'find', 'ls', 'search', 'ast_grep', 'lsp', 'memory_search'],
  web: ['fetch', 'web_search', 'web_fetch', 'browser', 'puppeteer'],
  agent: ['task', 'subagent', 'sessions_spawn'],
  skill: ['skill'],
  plan: ['todo', 'todo_write', 'update_plan', 'exit_plan_mode', 'resolve'],
  question: ['ask', 'question'],
};

/** Entries that say nothing about messages, usage or the session. */
const BOOKKEEPING = new Set([
  'thinking_level_change',
  'custom',
  'context_edit',
  'label',
  'mode_change',
  'session_init',
  'ttsr_injection',
  'mcp_tool_selection',
  'service_tier_change',
  'reset_boundary',
  'credential_pin',
]);

interface PiReaderState {
  /** For messages that name no model. */
  model: string | null;
  /** When the session was forked: earlier entries are its parent's. */
  forkedAtMs: number | undefined;
}

type Entry = Pick<MessageRecord, 'uuid' | 'parentUuid' | 'isSidechain'> & { timestampMs: number | undefined };

/**
 * Reads session files of Pi, and of OpenClaw and OMP, which use the same format: a header, then entries that form a
 * tree by `id` and `parentId`. Every branch was paid for, so every branch counts.
 */
export function createPiReader(
  context: ReaderContext,
  state: PiReaderState = { model: null, forkedAtMs: undefined },
): Reader {
  const kit = createReaderKit(context, TOOLS);

  const toHeader = (line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] => {
    const parent = readText(line.parentSession) ?? readText(line.branchedFrom);
    if (parent !== null) state.forkedAtMs = timestampMs;
    state.model = kit.toId(line.modelId) ?? state.model;
    const session = toSessionRecord({
      sessionId: kit.toId(line.id),
      cwd: kit.toId(line.cwd),
      forkedFromSessionId: parent === null ? null : toPiSessionId(parent),
    });
    const title = readText(line.title);
    return [session ?? [], title === null ? [] : toCutTitle('generated', title)].flat();
  };

  const toMessages = (line: JsonObject, entry: Entry): TranscriptRecord[] | undefined => {
    const message = readObject(line.message);
    const role = readText(message?.role);
    if (message === undefined || role === null) return undefined;
    switch (role) {
      case 'user':
        return kit.toPromptRecords(toApiContent(message.content), entry, toIdentity(line));
      case 'assistant':
        return toAssistant(message, line, entry);
      case 'toolResult': {
        const { toolCallId: id, content, isError } = message;
        const result = { id, content: toApiContent(content), isError: isError === true };
        const usage = toNestedUsage(message, line, `tool/${readText(id) ?? ''}`, entry);
        return [kit.toToolResultMessage(result, entry), ...usage];
      }
      case 'bashExecution': {
        const text = `! ${readText(message.command) ?? ''}\n${readText(message.output) ?? ''}`;
        return [newMessage('user', { ...entry, metadata: { bash_execution: true }, blocks: kit.toBlocks(text) })];
      }
      case 'branchSummary':
      case 'compactionSummary':
        return [newMessage('summary', { ...entry, blocks: kit.toBlocks(message.summary) })];
      case 'system':
      case 'developer':
        return [newMessage('system', { ...entry, blocks: kit.toBlocks(toInstructions(message)) })];
      case 'custom':
      case 'hookMessage':
      case 'fileMention':
      case 'pythonExecution':
        return [toInjected(message, entry)];
      default:
        return undefined;
    }
  };

  const toInjected = (message: JsonObject, entry: Entry): MessageRecord => {
    const customType = kit.toId(message.customType);
    const metadata = { isMeta: true, ...(customType !== null && { custom_type: customType }) };
    return newMessage('user', { ...entry, metadata, blocks: kit.toBlocks(toApiContent(message.content)) });
  };

  const toAssistant = (message: JsonObject, line: JsonObject, entry: Entry): TranscriptRecord[] => {
    const model = kit.toId(message.responseModel) ?? kit.toId(message.model) ?? state.model;
    state.model = model;
    const stopReason = kit.toId(message.stopReason) ?? 'stop';
    const elements = Array.isArray(message.content) ? message.content : [message.content ?? null];
    const blocks = elements.flatMap((element) => {
      const call = readObject(element);
      if (call?.type !== 'toolCall') return kit.toBlocks(toApiContent([element]));
      return kit.toToolUseBlocks({ id: call.id, name: call.name, input: call.arguments });
    });
    const provider = kit.toId(message.provider);
    const response = toResponse(readObject(message.usage), message, line, entry);
    const metadata = provider === null ? {} : { provider };
    const records: TranscriptRecord[] = [
      newMessage('assistant', { ...entry, ...response, model, stopReason, metadata, blocks }),
    ];
    if (stopReason === 'error') {
      const event = { kind: 'api_error', name: provider, details: {} } as const;
      records.unshift(kit.toEvent(event, toIdentity(line), entry.timestampMs, entry));
    }
    return records;
  };

  /** The response fields of an entry that carries an API response. */
  const toResponse = (
    usage: JsonObject | undefined,
    message: JsonObject,
    line: JsonObject,
    { timestampMs }: Entry,
    name?: string,
  ) => {
    const counted = usage && toPiUsage(usage, kit);
    const { forkedAtMs } = state;
    return {
      responseId: counted === undefined ? null : toResponseId(message, line, counted, name),
      usage: counted,
      reportedCostUsd: counted ? toReportedCost(kit.toDollars(readObject(usage?.cost), 'total')) : null,
      isMarkedCopy: forkedAtMs !== undefined && timestampMs !== undefined && timestampMs < forkedAtMs,
    } satisfies Partial<ResponseRecord>;
  };

  /**
   * Usage of a model that a tool, a compaction or Pi itself called; it belongs to no message of the session. If the
   * entry does not name the model, it is the session's.
   */
  const toNestedUsage = (source: JsonObject, line: JsonObject, name: string, entry: Entry): TranscriptRecord[] => {
    const response = toResponse(readObject(source.usage), source, line, entry, name);
    if (response.usage === undefined) return [];
    const { timestampMs } = entry;
    const model = kit.toId(source.model) ?? state.model;
    return [newUsageRecord({ ...response, usage: response.usage, timestampMs, model, stopReason: 'stop' })];
  };

  const toSummary = (line: JsonObject, entry: Entry): TranscriptRecord[] => {
    const records: TranscriptRecord[] = [newMessage('summary', { ...entry, blocks: kit.toBlocks(line.summary) })];
    if (line.type === 'compaction') {
      const tokens = kit.toCount(line, 'tokensBefore');
      const name = line.fromHook === true ? 'hook' : null;
      const event = { kind: 'compaction', name, details: tokens > 0 ? { preTokens: tokens } : {} } as const;
      records.unshift(kit.toEvent(event, toIdentity(line), entry.timestampMs, entry));
    }
    return [...records, ...toNestedUsage(line, line, String(line.type), entry)];
  };

  const readEntry = (type: string, line: JsonObject, entry: Entry): TranscriptRecord[] | undefined => {
    switch (type) {
      case 'session':
        return toHeader(line, entry.timestampMs);
      case 'message':
        return toMessages(line, entry);
      case 'compaction':
      case 'branch_summary':
        return toSummary(line, entry);
      case 'custom_message':
        return [toInjected(line, entry)];
      // Requests without a message, such as `cache_warm`; every `kind` counts.
      case 'usage':
        return toNestedUsage(line, line, `usage/${cutCharacters(readText(line.kind) ?? '', 64)}`, entry);
      case 'model_change': {
        state.model = kit.toId(line.modelId) ?? kit.toId(line.model) ?? state.model;
        return [];
      }
      // OMP: a slot at the top of the file that is overwritten in place, and its changes.
      case 'title':
      case 'title_change': {
        const title = readText(line.title);
        return title === null ? [] : [toCutTitle('generated', title)];
      }
      case 'session_info': {
        const name = readText(line.name);
        return name === null ? [] : [toCutTitle('custom', name)];
      }
      default: {
        const snapshot = line.customType === 'model-snapshot' ? readObject(line.data) : undefined;
        state.model = kit.toId(snapshot?.modelId) ?? state.model;
        return BOOKKEEPING.has(type) ? [] : undefined;
      }
    }
  };

  return {
    state,
    read(line) {
      const type = readType(line.type);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.timestamp ?? readObject(line.message)?.timestamp);
      const entry = { timestampMs, uuid: kit.toId(line.id), parentUuid: kit.toId(line.parentId), isSidechain: false };
      const records = readEntry(type, line, entry) ?? [toUnknown(type, readText(readObject(line.message)?.role))];
      return { type, timestampMs, records };
    },
  };
}

/** From `2026-05-12T01-02-27-657Z_019e19b4-….jsonl`, or from the id alone. */
export function toPiSessionId(path: string): string {
  return toStem(path).replace(/^\d{4}-\d{2}-\d{2}T[\d-]+Z_/, '');
}

/**
 * `usage{input, output, cacheRead, cacheWrite}`: the classes do not overlap; output includes reasoning.
 * https://github.com/earendil-works/pi packages/ai/src/types.ts
 */
function toPiUsage(usage: JsonObject, kit: ReaderKit) {
  const cacheWriteTokens = kit.toCount(usage, 'cacheWrite');
  const cacheWrite1hTokens = Math.min(cacheWriteTokens, kit.toCount(usage, 'cacheWrite1h'));
  return toUsageIfAny({
    inputTokens: kit.toCount(usage, 'input'),
    outputTokens: kit.toCount(usage, 'output'),
    cacheReadTokens: kit.toCount(usage, 'cacheRead'),
    cacheWriteTokens,
    cacheWrite1hTokens,
    cacheWrite5mTokens: cacheWrite1hTokens > 0 ? cacheWriteTokens - cacheWrite1hTokens : 0,
    thinkingTokens: kit.toCount(usage, 'reasoning'),
  });
}

/**
 * The same in every copy: forks copy entries unchanged, and migrating to a newer version changes ids but keeps times.
 * Provider ids are not unique: local servers repeat them.
 */
function toResponseId(message: JsonObject, line: JsonObject, usage: Usage, name: string | undefined): string | null {
  const time = message.timestamp ?? line.timestamp;
  if (typeof time !== 'number' && typeof time !== 'string') return null;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const counts = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens].join('.');
  return ['pi', name ?? [], time, cutCharacters(readText(message.responseId) ?? counts, 200)].flat().join('/');
}

/** Entry ids have 8 digits: they are unique only within a session. */
function toIdentity(line: JsonObject): string | null {
  const { id, timestamp } = line;
  return typeof id === 'string' && typeof timestamp === 'string' ? `${id}@${timestamp}` : null;
}

function toUnknown(type: string, role: string | null): TranscriptRecord {
  return { kind: 'unknown', type, name: role === null ? type : cutCharacters(`${type}/${role}`, 256) };
}

/** A system message's text, and since Pi 1.5 its named sections, which are the system prompt. */
function toInstructions({ content, sections }: JsonObject): JsonValue {
  const texts = Object.values(readObject(sections) ?? {}).filter((text) => typeof text === 'string' && text !== '');
  const blocks = texts.map((text) => ({ type: 'text', text }));
  const own = toApiContent(content);
  if (blocks.length === 0) return own;
  return [...(own === '' || own === null ? [] : Array.isArray(own) ? own : [own]), ...blocks];
}

/** Pi's blocks in the shape of the Anthropic API. */
function toApiContent(content: JsonValue | undefined): JsonValue {
  if (!Array.isArray(content)) return content ?? null;
  return content.map((element) => {
    const block = readObject(element);
    if (block?.type === 'image') {
      return {
        type: 'image',
        source: { type: 'base64', media_type: block.mimeType ?? null, data: block.data ?? null },
      };
    }
    if (block?.type === 'thinking') return { ...block, signature: block.thinkingSignature ?? null };
    return element;
  });
}
