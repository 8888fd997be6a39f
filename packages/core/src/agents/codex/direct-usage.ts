import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, isUniqueId, readIdentifier, readObject, readText } from '../../records/fields.ts';
import { UNKNOWN_MODEL } from '../../records/rows.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';
import type { AnswerLine, DirectReader, DirectSink } from '../agent.ts';
import { createUnreadLines, type UnreadLines } from '../unread-lines.ts';
import { observeCall, observeCallEvent } from './call-events.ts';
import { toItemRole } from './rollout-items.ts';
import { type RolloutLine, toRolloutLine } from './rollout-lines.ts';
import { toTypedText } from './rollout-prompts.ts';
import { COMPLETED, createState, MAX_ERROR_CHARACTERS, MAX_HISTORY_CHARACTERS } from './rollout-reader.ts';
import { abandonGroup, joinGroup, takeGroup } from './rollout-responses.ts';
import { compareTotals } from './rollout-totals.ts';
import {
  type CodexResponse,
  interruptTotals,
  observeHistory,
  observeRoot,
  readTokenCount,
  readUsageRecord,
} from './rollout-usage.ts';
import { isCopiedLine, observeThread, observeTurn } from './thread.ts';
import { observeSettings, observeTier } from './turn-context.ts';
import { UNREAD_TYPES } from './unread-types.ts';

/**
 * Reads only the items of each response in a rollout, and its usage, by the same rules as the reader. Refuses what is
 * spoken, and rollouts that give a reason to doubt their counts.
 */
export function createDirectReader(): DirectReader {
  return new RolloutDirectReader();
}

class RolloutDirectReader implements DirectReader {
  readonly #state = createState();
  readonly #unread: UnreadLines;
  #timestampMs: number | undefined;
  #isCopy = false;
  #hasDoubt = false;

  constructor() {
    this.#unread = createUnreadLines(UNREAD_TYPES, this.#context);
  }

  read(source: JsonObject, sink: DirectSink): boolean {
    const line = toRolloutLine(source);
    if (line === undefined) return true;
    const lineMs = parseTimestampMs(source.timestamp);
    sink.addLine(lineMs);
    const { thread } = this.#state;
    thread.firstLineMs ??= lineMs;
    this.#isCopy = isCopiedLine(thread, lineMs, typeof source.ordinal === 'number' ? source.ordinal : undefined);
    const isRestamped = this.#isCopy && (lineMs ?? 0) >= (thread.createdMs ?? 0);
    this.#timestampMs = isRestamped ? undefined : lineMs;
    return this.#readLine(line, sink) && !this.#hasDoubt;
  }

  finish(): boolean {
    const { checks, total, recordTotal } = this.#state.usage;
    compareTotals(checks.counts, total, '', this.#context);
    compareTotals(checks.records, recordTotal, '', this.#context);
    return !this.#hasDoubt;
  }

  #readLine(line: RolloutLine, sink: DirectSink): boolean {
    const { payload, subtype } = line;
    switch (line.type) {
      case 'session_meta':
        return this.#readMeta(payload, sink);
      case 'turn_context':
        observeTurn(this.#state.thread, readText(payload.turn_id));
        this.#state.responses.counted = null;
        return this.#readSettings(payload);
      case 'response_item':
        return this.#readItem(line, subtype, sink);
      case 'inter_agent_communication':
        return this.#readItem(line, 'agent_message', sink);
      case 'realtime_item':
        return false;
      case 'event_msg':
        return this.#readEvent(line, sink);
      case 'token_usage_record':
        return this.#readRecord(payload, true, sink);
      case 'compacted':
        return this.#readCompacted(payload, sink);
      default:
        return this.#readUnread(line);
    }
  }

  #readUnread({ type, payload, subtype }: RolloutLine): boolean {
    return this.#unread.read(type, payload, subtype === '' ? type : `${type}/${subtype}`).length === 0;
  }

  #readMeta(meta: JsonObject, sink: DirectSink): boolean {
    const { thread, usage, context } = this.#state;
    const id = this.#identifier(meta.id);
    interruptTotals(usage);
    if (id !== null) observeRoot(usage, id);
    if (!observeThread(thread, meta, this.#timestampMs)) return true;
    context.gitBranch = this.#identifier(readObject(meta.git)?.branch) ?? context.gitBranch;
    sink.addSessionFacts(meta.cwd, meta.cli_version);
    return true;
  }

  #readSettings(settings: JsonObject): boolean {
    this.#observeTier(settings);
    observeSettings(this.#state.context, settings, this.#identifier);
    return true;
  }

  #readItem(line: RolloutLine, type: string, sink: DirectSink): boolean {
    const { payload: item } = line;
    const role = toItemRole(item, type);
    if (role === undefined) return this.#readUnread(line);
    const { callIds, responses } = this.#state;
    observeCall(callIds, item);
    switch (role) {
      case 'assistant':
        return this.#readAssistant(sink);
      case 'output':
        responses.isAnswered = responses.open !== null;
        responses.counted = null;
        break;
      case 'user':
        this.#readUser(item);
        break;
      default:
        break;
    }
    return sink.addMessage([]);
  }

  #readAssistant(sink: DirectSink): boolean {
    const { responses, context } = this.#state;
    const { counted } = responses;
    if (counted !== null) return sink.addAnswer(this.#toAnswer(counted, 'message'));
    return sink.addPart(joinGroup(responses), { ...this.#toOrigin(), model: context.model });
  }

  #readUser(item: JsonObject): void {
    if (this.#identifier(item.author) !== null) return;
    const typed = toTypedText(
      item.content,
      readObject(item.internal_chat_message_metadata_passthrough)?.content_item_kinds,
    );
    if (typed === undefined) return;
    if (this.#state.thread.turnId === null) abandonGroup(this.#state.responses);
    observeHistory(this.#state.usage, typed.slice(0, MAX_HISTORY_CHARACTERS));
  }

  #readEvent(line: RolloutLine, sink: DirectSink): boolean {
    const { payload, subtype } = line;
    const { thread, usage, responses } = this.#state;
    switch (subtype) {
      case 'token_count':
        this.#observeTier(payload);
        return this.#readCount(payload.info, sink);
      case 'task_started':
      case 'turn_started':
        observeTurn(thread, readText(payload.turn_id));
        abandonGroup(responses);
        responses.counted = null;
        this.#state.lastError = null;
        return true;
      case 'turn_aborted':
        abandonGroup(responses);
        return this.#readError(payload.error, sink);
      case 'task_complete':
      case 'turn_complete':
        return this.#readError(payload.error, sink);
      case 'thread_settings_applied':
        return this.#readSettings({ service_tier: null, ...readObject(payload.thread_settings) });
      case 'session_configured':
        return this.#readSettings({ service_tier: null, ...payload });
      case 'thread_rolled_back':
        interruptTotals(usage);
        return true;
      case 'thread_name_updated':
        return true;
      case 'error':
      case 'stream_error':
        return this.#readError(payload, sink);
      default:
        observeCallEvent(this.#state.callIds, payload, subtype, this.#context);
        return this.#readUnread(line);
    }
  }

  /** An error that is not shown already is a message. */
  #readError(value: JsonValue | undefined, sink: DirectSink): boolean {
    const text = readText(readObject(value)?.message) ?? '';
    const shown = cutCharacters(text, MAX_ERROR_CHARACTERS);
    if (text === '' || shown === this.#state.lastError) return true;
    this.#state.lastError = shown;
    return sink.addMessage([]);
  }

  #readCount(info: JsonValue | undefined, sink: DirectSink): boolean {
    const object = readObject(info);
    if (object === undefined) return true;
    const { usage, thread, responses } = this.#state;
    const place = { turnId: thread.turnId, isCopy: this.#isCopy };
    return readTokenCount(usage, object, place, this.#onInvalidUsage).every((response) => {
      if (response.isBelated) return this.#addUsage(response, responses.abandoned, sink);
      const group = takeGroup(responses);
      responses.abandoned = null;
      if (group !== null) responses.countsFirst = false;
      else if (thread.turnId === null) responses.countsFirst ??= true;
      responses.counted = responses.countsFirst === true ? response : null;
      return this.#addUsage(response, group, sink);
    });
  }

  #readRecord(record: JsonObject, isOfOpenItems: boolean, sink: DirectSink): boolean {
    const { usage, thread, responses } = this.#state;
    const threadId = readText(record.thread_id);
    if (threadId !== null && thread.id !== null) this.#isCopy = threadId !== thread.id;
    this.#observeTier(record);
    this.#observeTier(readObject(record.usage));
    const place = { turnId: thread.turnId, isCopy: this.#isCopy };
    const response = readUsageRecord(usage, record, place, this.#onInvalidUsage);
    if (response === undefined) return true;
    if (!this.#isCopy) usage.hasRecords = true;
    responses.abandoned = null;
    return this.#addUsage(response, isOfOpenItems ? takeGroup(responses) : null, sink);
  }

  #readCompacted(payload: JsonObject, sink: DirectSink): boolean {
    interruptTotals(this.#state.usage);
    const latest = readObject(payload.latest_token_usage_record);
    const wasCopy = this.#isCopy;
    if (latest !== undefined && !this.#readRecord(latest, false, sink)) return false;
    this.#isCopy = wasCopy;
    return readText(payload.message) === null || sink.addMessage([]);
  }

  #addUsage(response: CodexResponse, group: string | null, sink: DirectSink): boolean {
    const answer = this.#toAnswer(response, 'progress');
    answer.model ??= UNKNOWN_MODEL;
    return isUniqueId(response.name) && sink.addUsage(group, answer);
  }

  /** `source` is `progress` for a line that is no part of a message. */
  #toAnswer({ name, usage }: CodexResponse, source: AnswerLine['source']): AnswerLine {
    const { context } = this.#state;
    return {
      ...this.#toOrigin(),
      responseId: name,
      source,
      model: context.model,
      isSynthetic: false,
      stopReason: COMPLETED,
      usage: { ...usage, serviceTier: context.serviceTier },
      reportedCostUsd: null,
      written: [],
      searchCallIds: [],
    };
  }

  #toOrigin() {
    const { context, thread } = this.#state;
    return {
      timestampMs: this.#timestampMs,
      gitBranch: context.gitBranch,
      isMarkedCopy: this.#isCopy,
      isSubagent: thread.isSubagent,
    };
  }

  #observeTier(stated: JsonObject | undefined): void {
    if (!observeTier(this.#state.context, stated, this.#identifier)) this.#hasDoubt = true;
  }

  readonly #identifier = (value: JsonValue | undefined): string | null => readIdentifier(value, () => undefined);

  readonly #onInvalidUsage = (_field: string, isUnknown = false): void => {
    if (isUnknown) this.#hasDoubt = true;
  };

  readonly #context = {
    isUsageOnly: true,
    report: (): void => {
      this.#hasDoubt = true;
    },
  };
}
