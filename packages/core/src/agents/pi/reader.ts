import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { MessageRecord, ResponseRecord, TranscriptRecord } from '../../records/records.ts';
import type { Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import {
  createReaderKit,
  readType,
  type ToolVocabulary,
  toCutTitle,
  toReportedCost,
  toSessionRecord,
  toSoldModel,
} from '../reader-kit.ts';
import { toStem } from '../transcript-path.ts';
import { createUnreadLines, reportUnknownCounts, type UnreadTypes } from '../unread-lines.ts';
import { toApiContent, toInstructions } from './content.ts';
import { readServiceTiers, type ServiceTiers, toTerms } from './service-tier.ts';
import {
  addUnexplained,
  compareUnexplained,
  NO_UNEXPLAINED_TOTALS,
  PI_USAGE_FIELDS,
  readPiUsage,
  type UnexplainedTotals,
} from './usage.ts';

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

/**
 * Entries that are not read. Types of Pi 1.6, OMP 18.3 and OpenClaw 2026.9; the type of a `custom` entry follows its
 * slash.
 */
const UNREAD: UnreadTypes = {
  thinking_level_change: { why: 'a setting' },
  service_tier_change: { why: 'a setting, whose tier is read', mayHold: ['serviceTier'] },
  mode_change: { why: 'a setting, such as plan mode and its file', mayHold: ['data'] },
  mcp_tool_selection: { why: 'a setting' },
  credential_pin: { why: 'a digest of the account in use' },
  ttsr_injection: { why: 'names of rules that were injected' },
  label: { why: 'a bookmark in the tree', mayHold: ['label'] },
  context_edit: { why: 'changes what later requests contain, not what was said', mayHold: ['replacement'] },
  reset: { why: 'where a new conversation begins in the same file' },
  reset_boundary: { why: 'where a new conversation begins in the same file' },
  leaf: { why: 'which branch is shown' },
  link: { why: 'which branch is shown' },
  custom: { why: 'state that an extension keeps, which no request contains' },
  'custom/model-snapshot': { why: 'names the model, which is read' },
  'custom/pi.virtual-model-state': { why: 'state of a router of models', mayHold: ['data'] },
};

interface PiReaderState {
  /** For messages that name no model. */
  model: string | null;
  serviceTiers: ServiceTiers;
  /** When the session was forked: earlier entries are its parent's. */
  forkedAtMs: number | undefined;
  unexplained: UnexplainedTotals;
}

type Entry = Pick<MessageRecord, 'uuid' | 'parentUuid' | 'isSidechain'> & { timestampMs: number | undefined };

/**
 * Reads session files of Pi, and of OpenClaw and OMP, which use the same format: a header, then entries that form a
 * tree by `id` and `parentId`. Every branch was paid for, so every branch counts.
 */
export function createPiReader(
  context: ReaderContext,
  state: PiReaderState = {
    model: null,
    serviceTiers: null,
    forkedAtMs: undefined,
    unexplained: structuredClone(NO_UNEXPLAINED_TOTALS),
  },
): Reader {
  const kit = createReaderKit(context, TOOLS);
  const unread = createUnreadLines(UNREAD, context);

  const toHeader = (line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] => {
    const parent = readText(line.parentSession) ?? readText(line.branchedFrom);
    if (parent !== null) state.forkedAtMs = timestampMs;
    state.model = toSoldModel(kit.toId(line.modelId), kit.toId(line.provider)) ?? state.model;
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
    const provider = kit.toId(message.provider);
    const named = kit.toId(message.responseModel) ?? kit.toId(message.model);
    const model = toSoldModel(named, provider) ?? state.model;
    state.model = model;
    const stopReason = kit.toId(message.stopReason) ?? 'stop';
    const elements = Array.isArray(message.content) ? message.content : [message.content ?? null];
    const blocks = elements.flatMap((element) => {
      const call = readObject(element);
      if (call?.type !== 'toolCall') return kit.toBlocks(toApiContent([element]));
      return kit.toToolUseBlocks({ id: call.id, name: call.name, input: call.arguments });
    });
    const response = toResponse(kit.toUsagePart(message, 'usage'), message, line, entry);
    const metadata = provider === null ? {} : { provider };
    const usage = response.usage && { ...response.usage, ...toTerms(state.serviceTiers, model, provider) };
    const records: TranscriptRecord[] = [
      newMessage('assistant', { ...entry, ...response, usage, model, stopReason, metadata, blocks }),
    ];
    if (stopReason !== 'error') return records;
    return [...toApiError(provider, message.errorMessage, line, entry), ...records];
  };

  /** A request that failed, and what the provider said. */
  const toApiError = (
    name: string | null,
    text: JsonValue | undefined,
    line: JsonObject,
    entry: Entry,
  ): TranscriptRecord[] => {
    const event = { kind: 'api_error', name, details: {} } as const;
    return [kit.toEvent(event, toIdentity(line), entry.timestampMs, entry), ...kit.toSystemMessages(text, entry)];
  };

  /** The response fields of an entry that carries an API response. */
  const toResponse = (
    usage: JsonObject | undefined,
    message: JsonObject,
    line: JsonObject,
    { timestampMs }: Entry,
    name?: string,
  ) => {
    reportUnknownCounts(usage, PI_USAGE_FIELDS, context);
    const counted = usage && readPiUsage(usage, kit);
    if (usage !== undefined && counted !== undefined) addUnexplained(state.unexplained, usage, counted, kit);
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
    const response = toResponse(kit.toUsagePart(source, 'usage'), source, line, entry, name);
    if (response.usage === undefined) return [];
    const { timestampMs } = entry;
    const model = toSoldModel(kit.toId(source.model), kit.toId(source.provider)) ?? state.model;
    return [newUsageRecord({ ...response, usage: response.usage, timestampMs, model, stopReason: 'stop' })];
  };

  const toModelUsage = (line: JsonObject, entry: Entry): TranscriptRecord[] => {
    const usage = toNestedUsage(line, line, `usage/${cutCharacters(readText(line.purpose) ?? '', 64)}`, entry);
    if (line.stopReason !== 'error') return usage;
    return [...toApiError(kit.toId(line.provider), line.errorMessage, line, entry), ...usage];
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
      // The same of OMP, such as titles and memories.
      case 'model_usage':
        return toModelUsage(line, entry);
      // OMP: how a sub-agent was started. Its task is its first prompt.
      case 'session_init':
        return [newMessage('system', { ...entry, blocks: kit.toBlocks(line.systemPrompt) })];
      case 'model_change': {
        const named = toSoldModel(kit.toId(line.modelId), kit.toId(line.provider));
        state.model = named ?? kit.toId(line.model) ?? state.model;
        return [];
      }
      case 'service_tier_change': {
        const tiers = readServiceTiers(line.serviceTier);
        if (tiers === undefined) kit.reportInvalidUsage('serviceTier');
        else state.serviceTiers = tiers;
        return undefined;
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
      case 'custom':
        return toCustom(line, entry);
      default:
        return undefined;
    }
  };

  const toCustom = (line: JsonObject, entry: Entry): TranscriptRecord[] | undefined => {
    const data = readObject(line.data);
    if (line.customType === 'model-snapshot') {
      state.model = toSoldModel(kit.toId(data?.modelId), kit.toId(data?.provider)) ?? state.model;
    }
    if (line.customType !== 'openclaw:prompt-error') return undefined;
    return toApiError(kit.toId(data?.provider), data?.error, line, entry);
  };

  return {
    state,
    read(line) {
      const type = readType(line.type);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.timestamp ?? readObject(line.message)?.timestamp);
      const entry = { timestampMs, uuid: kit.toId(line.id), parentUuid: kit.toId(line.parentId), isSidechain: false };
      const records = readEntry(type, line, entry) ?? unread.read(type, line, toName(type, line));
      return { type, timestampMs, records };
    },
    finish: () => compareUnexplained(state.unexplained, context),
  };
}

/** From `2026-05-12T01-02-27-657Z_019e19b4-….jsonl`, or from the id alone. */
export function toPiSessionId(path: string): string {
  return toStem(path).replace(/^\d{4}-\d{2}-\d{2}T[\d-]+Z_/, '');
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

/** The type of an entry, with its message's role or its own type. */
function toName(type: string, { message, customType }: JsonObject): string {
  const own = type === 'custom' ? customType : readObject(message)?.role;
  return typeof own === 'string' ? `${type}/${own}` : type;
}
