import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readObject, readText, toNumber } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { MessageRecord, SessionRecord, TranscriptRecord } from '../../records/records.ts';
import { toRepositoryUrl } from '../../records/repository.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { createReaderKit, parseJsonText, readType, toCutTitle, toSessionRecord } from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines } from '../unread-lines.ts';
import {
  beginRun,
  type CopilotAccounts,
  countOutputOnly,
  createCopilotAccounts,
  isRecordedRequest,
  observeResponse,
  rememberUnnamed,
  rememberUnnamedUsage,
  settle,
} from './accounts.ts';
import {
  addCounts,
  type Counts,
  joinTexts,
  NO_COUNTS,
  readCompactionCounts,
  readCounts,
  readTotals,
  toUsage,
} from './counts.ts';
import { COPILOT_TOOLS } from './tools.ts';
import { COPILOT_UNREAD } from './unread-types.ts';

interface CopilotReaderState {
  sessionId: string | null;
  model: string | null;
  branch: string | null;
  version: string | null;
  /** The calls that started the latest sub-agents, by the sub-agents' ids. */
  starters: Map<string, string>;
  accounts: CopilotAccounts;
  /** Sum over all runs of the program, for the session's own total. */
  total: Counts;
}

/** Sub-agents whose calls are remembered. */
const MAX_STARTERS = 256;

function createState(): CopilotReaderState {
  const unknown = { sessionId: null, model: null, branch: null, version: null };
  return { ...unknown, starters: new Map(), accounts: createCopilotAccounts(), total: NO_COUNTS };
}

/** The context has `owner/name`; newer versions add the host. */
const toAddress = (repository: string | null, host: string | null): string | null =>
  repository === null || host === null || repository.includes(':') ? repository : `https://${host}/${repository}`;

/**
 * Reads `events.jsonl` of a session of Copilot CLI. From 1.0.10x on, `session.usage_record` states what each request
 * used. Before, messages state their output tokens at most; input and cache come with `session.shutdown`, as totals by
 * model, less everything that is counted already.
 */
export function createCopilotReader(context: ReaderContext, state = createState()): Reader {
  return new CopilotReader(context, state);
}

class CopilotReader extends StatefulReader<CopilotReaderState> {
  readonly #kit = createReaderKit(this.context, COPILOT_TOOLS);
  readonly #unread = createUnreadLines(COPILOT_UNREAD, this.context);
  readonly #accounts = this.state.accounts;

  read(line: JsonObject): ReadLine {
    const type = readType(line.type);
    if (type === undefined) return { type, timestampMs: undefined, records: [] };
    const timestampMs = this.#kit.toTimeMs(line.timestamp);
    const data = readObject(line.data) ?? {};
    const agentId = this.#kit.toId(line.agentId);
    const parentToolUseId = this.#kit.toId(data.parentToolCallId) ?? this.state.starters.get(agentId ?? '') ?? null;
    const isSidechain = parentToolUseId !== null || agentId !== null;
    const place = {
      uuid: this.#kit.toId(line.id),
      parentUuid: this.#kit.toId(line.parentId),
      parentToolUseId,
      isSidechain,
    };
    const records = this.#readEvent(type, data, { ...place, agentId, timestampMs }) ?? this.#unread.read(type, line);
    return { type, timestampMs, records };
  }

  #readContext(data: JsonObject): TranscriptRecord[] {
    const about = readObject(data.context);
    beginRun(this.#accounts);
    this.state.sessionId = this.#kit.toId(data.sessionId) ?? this.state.sessionId;
    this.state.model = this.#kit.toId(data.selectedModel) ?? this.state.model;
    this.state.branch = this.#kit.toId(about?.branch) ?? this.state.branch;
    this.state.version = this.#kit.toId(data.copilotVersion) ?? this.state.version;
    const { sessionId, branch: gitBranch, version } = this.state;
    const repository = toRepositoryUrl(
      toAddress(this.#kit.toId(about?.repository), this.#kit.toId(about?.repositoryHost)),
    );
    const commitHash = this.#kit.toId(about?.headCommit);
    const facts = { sessionId, cwd: this.#kit.toId(about?.cwd), gitBranch, repository, commitHash, version };
    return [toSessionRecord(facts) ?? []].flat();
  }

  #toOrigin() {
    return { gitBranch: this.state.branch, agentVersion: this.state.version };
  }

  #readAssistant(data: JsonObject, base: MessageBase): TranscriptRecord[] {
    const thinking = readText(data.reasoningText);
    const calls = (Array.isArray(data.toolRequests) ? data.toolRequests : []).filter(isJsonObject);
    const blocks = [
      ...(thinking === null ? [] : this.#kit.toBlocks([{ type: 'thinking', thinking }])),
      ...this.#kit.toBlocks(data.content),
      ...calls.flatMap(({ toolCallId: id, name, arguments: input, mcpServerName }) =>
        this.#kit.toToolUseBlocks({ id, name, input: toInput(input), mcpServer: readText(mcpServerName) }),
      ),
    ];
    const responseId = this.#kit.toId(data.apiCallId) ?? this.#kit.toId(data.messageId);
    const requestId = this.#kit.toId(data.requestId);
    const stated = this.#kit.toId(data.model) ?? (base.isSidechain ? null : this.state.model);
    const counts = { ...NO_COUNTS, output: this.#kit.toCount(data, 'outputTokens') };
    const seen = observeResponse(this.#accounts, responseId ?? `uuid:${base.uuid ?? ''}`, {
      ...{ model: stated ?? '', counts, isRecord: false },
    });
    const model = stated ?? (seen.model || null);
    const usage = toUsage(seen.counts);
    if (model === null && responseId !== null) rememberUnnamed(this.#accounts, { responseId, requestId });
    const message = newMessage('assistant', {
      ...{ ...base, ...this.#toOrigin(), model, blocks, usage, stopReason: 'stop', requestId, responseId },
      // Its input is in the total at the end.
      metadata: usage === undefined || seen.isRecorded ? {} : { usage_is_output_only: true },
    });
    return seen.isRecorded ? [message] : [message, this.#toOutputOnlyRecord()];
  }

  /** `session.usage_record`, and `assistant.usage`, which holds the same but is not in the files seen. */
  #readUsage(data: JsonObject, base: MessageBase): TranscriptRecord[] {
    const counts = readCounts(this.#kit, data);
    const responseId = this.#kit.toId(data.apiCallId) ?? this.#kit.toId(readObject(data.accounting)?.usageId);
    const requestId = this.#kit.toId(data.providerCallId);
    const requestIds = [requestId, this.#kit.toId(data.serviceRequestId), responseId].filter((id) => id !== null);
    const model = this.#kit.toId(data.model);
    const key = responseId ?? `uuid:${base.uuid ?? ''}`;
    const seen = observeResponse(this.#accounts, key, { model: model ?? '', counts, isRecord: true, requestIds });
    const usage = toUsage(seen.counts);
    if (usage === undefined) return [];
    const parentToolUseId = this.#kit.toId(data.parentToolCallId) ?? base.parentToolUseId;
    const { uuid, timestampMs, agentId } = base;
    const stopReason = this.#kit.toId(data.finishReason) ?? 'stop';
    const response = {
      responseId,
      requestId,
      uuid,
      timestampMs,
      agentId,
      model,
      usage,
      stopReason,
      ...this.#toOrigin(),
    };
    if (!seen.hadMessage) {
      return [newUsageRecord({ ...response, isSubagent: parentToolUseId !== null || base.isSidechain })];
    }
    // A line of the message that came before, without blocks, because usage beside a message would not be added to it.
    return [newMessage('assistant', { ...base, ...response, parentToolUseId }), this.#toOutputOnlyRecord()];
  }

  #toOutputOnlyRecord(): SessionRecord {
    return { kind: 'session', outputOnlyCount: countOutputOnly(this.#accounts) };
  }

  /**
   * Usage that is in no total and in no record, as a rule, such as from a compaction, or from a tool that asks a model.
   */
  #readUsageBeside(counts: Counts, model: string | null, responseId: string, base: MessageBase): TranscriptRecord[] {
    const usage = toUsage(counts);
    if (usage === undefined) return [];
    this.#accounts.beside = addCounts(this.#accounts.beside, counts);
    const { timestampMs, agentId, isSidechain: isSubagent } = base;
    const known = model ?? this.state.model;
    if (known === null) rememberUnnamedUsage(this.#accounts, { responseId, counts });
    const about = { model: known, timestampMs, agentId, isSubagent, ...this.#toOrigin() };
    return [newUsageRecord({ responseId, usage, stopReason: 'stop', ...about })];
  }

  #readCompaction(data: JsonObject, base: MessageBase): TranscriptRecord[] {
    const preTokens = this.#kit.toCount(data, 'preCompactionTokens');
    const event = { kind: 'compaction', name: null, details: preTokens > 0 ? { preTokens } : {} } as const;
    const records: TranscriptRecord[] = [this.#kit.toEvent(event, base.uuid, base.timestampMs, base)];
    const summary = readText(data.summaryContent);
    if (summary !== null) records.push(newMessage('summary', { ...base, blocks: this.#kit.toBlocks(summary) }));
    const error = readText(data.error);
    if (error !== null) records.push(newMessage('system', { ...base, blocks: this.#kit.toBlocks(error) }));
    const used = readObject(data.compactionTokensUsed);
    if (used === undefined) return records;
    const counts = readCompactionCounts(this.#kit, used);
    const ids = [data.requestId, data.serviceRequestId].map(this.#kit.toId);
    if (isRecordedRequest(this.#accounts, counts, ids)) return records;
    const model = this.#kit.toId(used.model) ?? this.#kit.toId(data.model);
    const name = base.uuid ?? `${this.state.sessionId ?? ''}/${base.timestampMs ?? ''}`;
    return [...records, ...this.#readUsageBeside(counts, model, `copilot-compaction/${name}`, base)];
  }

  #readResult(data: JsonObject, base: MessageBase): TranscriptRecord[] {
    const { toolCallId: id, success } = data;
    const result = readObject(data.result);
    const error = readObject(data.error);
    const content = result?.content ?? error?.message ?? null;
    const isDenied = error?.code === 'denied' || error?.code === 'rejected';
    const source = { id, content: typeof content === 'object' ? null : content, isError: success === false, isDenied };
    const message = this.#kit.toToolResultMessage(source, base);
    const used = readObject(data.toolUsage);
    if (used === undefined) return [message];
    const name = this.#kit.toId(used.requestId) ?? base.uuid ?? '';
    return [
      message,
      ...this.#readUsageBeside(readCounts(this.#kit, used), this.#kit.toId(used.model), `copilot-tool/${name}`, {
        ...base,
      }),
    ];
  }

  #readPrompt(data: JsonObject, base: MessageBase): TranscriptRecord[] {
    const source = readText(data.source);
    const isByUser = source === null || source === 'user';
    if (isByUser && !base.isSidechain) return this.#kit.toPromptRecords(data.content, base, base.uuid ?? null);
    return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: this.#kit.toBlocks(data.content) })];
  }

  /** A tool that the user ran himself; its result follows. */
  #readUserCall(data: JsonObject, base: MessageBase): TranscriptRecord[] {
    const text = `${readText(data.toolName) ?? 'tool'} ${JSON.stringify(data.arguments ?? {})}`;
    return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: this.#kit.toBlocks(text) })];
  }

  #readError(data: JsonObject, base: MessageBase): TranscriptRecord[] {
    const code = toNumber(data.statusCode);
    const name = code === undefined ? this.#kit.toId(data.errorType) : String(code);
    const event = this.#kit.toEvent({ kind: 'api_error', name, details: {} }, base.uuid, base.timestampMs, base);
    const text = readText(data.message);
    return text === null ? [event] : [event, newMessage('system', { ...base, blocks: this.#kit.toBlocks(text) })];
  }

  /** `session.shutdown`, see createCopilotReader. */
  #readShutdown(data: JsonObject, base: MessageBase): TranscriptRecord[] {
    const totals = readTotals(this.#kit, data, this.#kit.toId(data.currentModel) ?? this.state.model);
    if (totals.size === 0) return [];
    const isMarked = isJsonObject(data.usageAccountingWatermarks) || isJsonObject(data.accountingSnapshot);
    const { remainders, grown, named, namedBeside, mismatches } = settle(this.#accounts, totals, isMarked);
    for (const { field, stated, counted } of mismatches) {
      compareTotal(`${FIELD_LABELS[field]} of session.shutdown`, stated, counted, this.context);
    }
    const { timestampMs } = base;
    const records = remainders.flatMap(([model, counts]): TranscriptRecord[] => {
      const usage = toUsage(counts);
      if (usage === undefined) return [];
      const responseId = `copilot-shutdown/${base.uuid ?? this.state.sessionId ?? ''}/${timestampMs ?? ''}/${model}`;
      return [newUsageRecord({ responseId, usage, stopReason: 'stop', model, timestampMs, ...this.#toOrigin() })];
    });
    // Lines of earlier messages, which say nothing but their model.
    const names = [
      ...named.map((message) => newMessage('assistant', message)),
      ...namedBeside.flatMap(({ counts, ...usage }) => {
        const known = toUsage(counts);
        return known === undefined ? [] : [newUsageRecord({ ...usage, usage: known, stopReason: 'stop' })];
      }),
    ];
    this.state.total = addCounts(this.state.total, grown);
    const { input, output, cacheRead, cacheWrite } = this.state.total;
    // Premium requests and AI units are not dollars.
    const tokens = { tokens_in: Math.max(0, input - cacheRead - cacheWrite), tokens_out: output };
    const caches = { cache_read: cacheRead, cache_write: cacheWrite };
    const reportedTotals = { source: 'result', cost_usd: null, ...tokens, ...caches } as const;
    return [...records, ...names, { ...this.#toOutputOnlyRecord(), reportedTotals }];
  }

  #readEvent(type: string, data: JsonObject, base: MessageBase): TranscriptRecord[] | undefined {
    switch (type) {
      case 'session.start':
      case 'session.resume':
        return this.#readContext(data);
      case 'session.model_change':
        if (base.agentId === null) this.state.model = this.#kit.toId(data.newModel) ?? this.state.model;
        return [];
      case 'session.auto_mode_resolved':
        if (base.agentId === null) this.state.model = this.#kit.toId(data.chosenModel) ?? this.state.model;
        return [];
      case 'session.context_changed':
        this.state.branch = this.#kit.toId(data.branch) ?? this.state.branch;
        return [];
      case 'session.title_changed': {
        const title = readText(data.title);
        return title === null ? [] : [toCutTitle('generated', title)];
      }
      case 'subagent.started':
        rememberStarter(this.state.starters, base.agentId, this.#kit.toId(data.toolCallId));
        return [];
      case 'user.message':
        return this.#readPrompt(data, base);
      case 'assistant.message':
        return this.#readAssistant(data, base);
      case 'session.usage_record':
        return this.#readUsage(this.#kit.toUsagePart(data, 'usage') ?? {}, base);
      case 'assistant.usage':
        return this.#readUsage(data, base);
      case 'tool.user_requested':
        return this.#readUserCall(data, base);
      case 'tool.execution_complete':
        return this.#readResult(data, base);
      case 'system.message':
      case 'system.notification':
        return [newMessage('system', { ...base, blocks: this.#kit.toBlocks(data.content) })];
      case 'session.handoff':
        return [newMessage('summary', { ...base, blocks: this.#kit.toBlocks(joinTexts(data.context, data.summary)) })];
      case 'session.error':
        return this.#readError(data, base);
      case 'session.truncation': {
        const preTokens = this.#kit.toCount(data, 'preTruncationTokensInMessages');
        const event = { kind: 'compaction', name: 'truncation', details: preTokens > 0 ? { preTokens } : {} } as const;
        return [this.#kit.toEvent(event, base.uuid, base.timestampMs, base)];
      }
      case 'session.compaction_complete':
        return this.#readCompaction(data, base);
      case 'session.shutdown':
        return this.#readShutdown(data, base);
      default:
        return undefined;
    }
  }
}

/** The fields of an event outside its data. */
type MessageBase = Pick<
  MessageRecord,
  'uuid' | 'parentUuid' | 'parentToolUseId' | 'isSidechain' | 'agentId' | 'timestampMs'
>;

const FIELD_LABELS: Readonly<Record<keyof Counts, string>> = {
  input: 'Input tokens with caches',
  output: 'Output tokens',
  cacheRead: 'Tokens read from the cache',
  cacheWrite: 'Tokens written to the cache',
  reasoning: 'Reasoning tokens',
};

function rememberStarter(starters: Map<string, string>, agentId: string | null, toolUseId: string | null): void {
  if (agentId === null || toolUseId === null) return;
  starters.set(agentId, toolUseId);
  if (starters.size > MAX_STARTERS) starters.delete(starters.keys().next().value ?? agentId);
}

/** Some versions write a call's arguments as JSON in a string. */
function toInput(value: JsonValue | undefined): JsonValue {
  return typeof value === 'string' ? (parseJsonText(value) ?? value) : (value ?? null);
}
