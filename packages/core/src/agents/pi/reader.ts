import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { MessageRecord, ResponseRecord, TranscriptRecord } from '../../records/records.ts';
import type { Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import {
  createReaderKit,
  readType,
  type ToolVocabulary,
  toCutTitle,
  toReportedCost,
  toSessionRecord,
  toSoldModel,
} from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
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
  context_edit: { why: 'changes the content of later requests, not of messages', mayHold: ['replacement'] },
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
  /** The time of the session's fork. Earlier entries are its parent's. */
  forkedAtMs: number | undefined;
  unexplained: UnexplainedTotals;
}

type Entry = Pick<MessageRecord, 'uuid' | 'parentUuid' | 'isSidechain'> & { timestampMs: number | undefined };

/**
 * Reads session files of Pi, and of OpenClaw and OMP, which use the same format of a header, then entries that form a
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
  return new PiReader(context, state);
}

class PiReader extends StatefulReader<PiReaderState> {
  readonly #kit = createReaderKit(this.context, TOOLS);
  readonly #unread = createUnreadLines(UNREAD, this.context);

  read(line: JsonObject): ReadLine {
    const type = readType(line.type);
    if (type === undefined) return { type, timestampMs: undefined, records: [] };
    const timestampMs = this.#kit.toTimeMs(line.timestamp ?? readObject(line.message)?.timestamp);
    const entry = {
      timestampMs,
      uuid: this.#kit.toId(line.id),
      parentUuid: this.#kit.toId(line.parentId),
      isSidechain: false,
    };
    const records = this.#readEntry(type, line, entry) ?? this.#unread.read(type, line, toName(type, line));
    return { type, timestampMs, records };
  }

  finish(): void {
    compareUnexplained(this.state.unexplained, this.context);
  }

  #toHeader(line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const parent = readText(line.parentSession) ?? readText(line.branchedFrom);
    if (parent !== null) this.state.forkedAtMs = timestampMs;
    this.state.model = toSoldModel(this.#kit.toId(line.modelId), this.#kit.toId(line.provider)) ?? this.state.model;
    const session = toSessionRecord({
      sessionId: this.#kit.toId(line.id),
      cwd: this.#kit.toId(line.cwd),
      forkedFromSessionId: parent === null ? null : toPiSessionId(parent),
    });
    const title = readText(line.title);
    return [session ?? [], title === null ? [] : toCutTitle('generated', title)].flat();
  }

  #toMessages(line: JsonObject, entry: Entry): TranscriptRecord[] | undefined {
    const message = readObject(line.message);
    const role = readText(message?.role);
    if (message === undefined || role === null) return undefined;
    switch (role) {
      case 'user':
        return this.#kit.toPromptRecords(toApiContent(message.content), entry, toIdentity(line));
      case 'assistant':
        return this.#toAssistant(message, line, entry);
      case 'toolResult': {
        const { toolCallId: id, content, isError } = message;
        const result = { id, content: toApiContent(content), isError: isError === true };
        const usage = this.#toNestedUsage(message, line, `tool/${readText(id) ?? ''}`, entry);
        return [this.#kit.toToolResultMessage(result, entry), ...usage];
      }
      case 'bashExecution': {
        const text = `! ${readText(message.command) ?? ''}\n${readText(message.output) ?? ''}`;
        return [newMessage('user', { ...entry, metadata: { bash_execution: true }, blocks: this.#kit.toBlocks(text) })];
      }
      case 'branchSummary':
      case 'compactionSummary':
        return [newMessage('summary', { ...entry, blocks: this.#kit.toBlocks(message.summary) })];
      case 'system':
      case 'developer':
        return [newMessage('system', { ...entry, blocks: this.#kit.toBlocks(toInstructions(message)) })];
      case 'custom':
      case 'hookMessage':
      case 'fileMention':
      case 'pythonExecution':
        return [this.#toInjected(message, entry)];
      default:
        return undefined;
    }
  }

  #toInjected(message: JsonObject, entry: Entry): MessageRecord {
    const customType = this.#kit.toId(message.customType);
    const metadata = { isMeta: true, ...(customType !== null && { custom_type: customType }) };
    return newMessage('user', { ...entry, metadata, blocks: this.#kit.toBlocks(toApiContent(message.content)) });
  }

  #toAssistant(message: JsonObject, line: JsonObject, entry: Entry): TranscriptRecord[] {
    const provider = this.#kit.toId(message.provider);
    const named = this.#kit.toId(message.responseModel) ?? this.#kit.toId(message.model);
    const model = toSoldModel(named, provider) ?? this.state.model;
    this.state.model = model;
    const stopReason = this.#kit.toId(message.stopReason) ?? 'stop';
    const elements = Array.isArray(message.content) ? message.content : [message.content ?? null];
    const blocks = elements.flatMap((element) => {
      const call = readObject(element);
      if (call?.type !== 'toolCall') return this.#kit.toBlocks(toApiContent([element]));
      return this.#kit.toToolUseBlocks({ id: call.id, name: call.name, input: call.arguments });
    });
    const response = this.#toResponse(this.#kit.toUsagePart(message, 'usage'), message, line, entry);
    const metadata = provider === null ? {} : { provider };
    const usage = response.usage && { ...response.usage, ...toTerms(this.state.serviceTiers, model, provider) };
    const records: TranscriptRecord[] = [
      newMessage('assistant', { ...entry, ...response, usage, model, stopReason, metadata, blocks }),
    ];
    if (stopReason !== 'error') return records;
    return [...this.#toApiError(provider, message.errorMessage, line, entry), ...records];
  }

  /** A request that failed, and what the provider said. */
  #toApiError(name: string | null, text: JsonValue | undefined, line: JsonObject, entry: Entry): TranscriptRecord[] {
    const event = { kind: 'api_error', name, details: {} } as const;
    return [
      this.#kit.toEvent(event, toIdentity(line), entry.timestampMs, entry),
      ...this.#kit.toSystemMessages(text, entry),
    ];
  }

  /** The response fields of an entry that carries an API response. */
  #toResponse(
    usage: JsonObject | undefined,
    message: JsonObject,
    line: JsonObject,
    { timestampMs }: Entry,
    name?: string,
  ) {
    reportUnknownCounts(usage, PI_USAGE_FIELDS, this.context);
    const counted = usage && readPiUsage(usage, this.#kit);
    if (usage !== undefined && counted !== undefined) addUnexplained(this.state.unexplained, usage, counted, this.#kit);
    const { forkedAtMs } = this.state;
    return {
      responseId: counted === undefined ? null : toResponseId(message, line, counted, name),
      usage: counted,
      reportedCostUsd: counted ? toReportedCost(this.#kit.toDollars(readObject(usage?.cost), 'total')) : null,
      isMarkedCopy: forkedAtMs !== undefined && timestampMs !== undefined && timestampMs < forkedAtMs,
    } satisfies Partial<ResponseRecord>;
  }

  /**
   * Usage of a model that a tool, a compaction or Pi itself called; it belongs to no message of the session. If the
   * entry does not name the model, it is the session's.
   */
  #toNestedUsage(source: JsonObject, line: JsonObject, name: string, entry: Entry): TranscriptRecord[] {
    const response = this.#toResponse(this.#kit.toUsagePart(source, 'usage'), source, line, entry, name);
    if (response.usage === undefined) return [];
    const { timestampMs } = entry;
    const model = toSoldModel(this.#kit.toId(source.model), this.#kit.toId(source.provider)) ?? this.state.model;
    return [newUsageRecord({ ...response, usage: response.usage, timestampMs, model, stopReason: 'stop' })];
  }

  #toModelUsage(line: JsonObject, entry: Entry): TranscriptRecord[] {
    const usage = this.#toNestedUsage(line, line, `usage/${cutCharacters(readText(line.purpose) ?? '', 64)}`, entry);
    if (line.stopReason !== 'error') return usage;
    return [...this.#toApiError(this.#kit.toId(line.provider), line.errorMessage, line, entry), ...usage];
  }

  #toSummary(line: JsonObject, entry: Entry): TranscriptRecord[] {
    const records: TranscriptRecord[] = [newMessage('summary', { ...entry, blocks: this.#kit.toBlocks(line.summary) })];
    if (line.type === 'compaction') {
      const tokens = this.#kit.toCount(line, 'tokensBefore');
      const name = line.fromHook === true ? 'hook' : null;
      const event = { kind: 'compaction', name, details: tokens > 0 ? { preTokens: tokens } : {} } as const;
      records.unshift(this.#kit.toEvent(event, toIdentity(line), entry.timestampMs, entry));
    }
    return [...records, ...this.#toNestedUsage(line, line, String(line.type), entry)];
  }

  #readEntry(type: string, line: JsonObject, entry: Entry): TranscriptRecord[] | undefined {
    switch (type) {
      case 'session':
        return this.#toHeader(line, entry.timestampMs);
      case 'message':
        return this.#toMessages(line, entry);
      case 'compaction':
      case 'branch_summary':
        return this.#toSummary(line, entry);
      case 'custom_message':
        return [this.#toInjected(line, entry)];
      // Requests without a message, such as `cache_warm`; every `kind` counts.
      case 'usage':
        return this.#toNestedUsage(line, line, `usage/${cutCharacters(readText(line.kind) ?? '', 64)}`, entry);
      // The same of OMP, such as titles and memories.
      case 'model_usage':
        return this.#toModelUsage(line, entry);
      // OMP: how a sub-agent was started. Its task is its first prompt.
      case 'session_init':
        return [newMessage('system', { ...entry, blocks: this.#kit.toBlocks(line.systemPrompt) })];
      case 'model_change': {
        const named = toSoldModel(this.#kit.toId(line.modelId), this.#kit.toId(line.provider));
        this.state.model = named ?? this.#kit.toId(line.model) ?? this.state.model;
        return [];
      }
      case 'service_tier_change': {
        const tiers = readServiceTiers(line.serviceTier);
        if (tiers === undefined) this.#kit.reportInvalidUsage('serviceTier');
        else this.state.serviceTiers = tiers;
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
        return this.#toCustom(line, entry);
      default:
        return undefined;
    }
  }

  #toCustom(line: JsonObject, entry: Entry): TranscriptRecord[] | undefined {
    const data = readObject(line.data);
    if (line.customType === 'model-snapshot') {
      this.state.model = toSoldModel(this.#kit.toId(data?.modelId), this.#kit.toId(data?.provider)) ?? this.state.model;
    }
    if (line.customType !== 'openclaw:prompt-error') return undefined;
    return this.#toApiError(this.#kit.toId(data?.provider), data?.error, line, entry);
  }
}

/** From `2026-05-12T01-02-27-657Z_019e19b4-….jsonl`, or from the id alone. */
export function toPiSessionId(path: string): string {
  return toStem(path).replace(/^\d{4}-\d{2}-\d{2}T[\d-]+Z_/, '');
}

/**
 * The same in every copy, because forks copy entries unchanged, and migrating to a newer version changes ids but keeps
 * times. Provider ids are not unique, because local servers repeat them.
 */
function toResponseId(message: JsonObject, line: JsonObject, usage: Usage, name: string | undefined): string | null {
  const time = message.timestamp ?? line.timestamp;
  if (typeof time !== 'number' && typeof time !== 'string') return null;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const counts = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens].join('.');
  return ['pi', name ?? [], time, cutCharacters(readText(message.responseId) ?? counts, 200)].flat().join('/');
}

/** Entry ids have 8 digits, so they are unique only within a session. */
function toIdentity(line: JsonObject): string | null {
  const { id, timestamp } = line;
  return typeof id === 'string' && typeof timestamp === 'string' ? `${id}@${timestamp}` : null;
}

/** The type of an entry, with its message's role or its own type. */
function toName(type: string, { message, customType }: JsonObject): string {
  const own = type === 'custom' ? customType : readObject(message)?.role;
  return typeof own === 'string' ? `${type}/${own}` : type;
}
