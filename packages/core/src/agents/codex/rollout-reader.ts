import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, MAX_TYPE_LENGTH, readIdentifier, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, EventRecord, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import { type SessionEventKind, UNKNOWN_MODEL } from '../../records/rows.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';
import type { Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReaderLine, ReadLine } from '../agent.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines } from '../unread-lines.ts';
import { observeCall, observeCallEvent } from './call-events.ts';
import { type ItemContext, type RolloutItem, readRolloutItem, toFingerprint } from './rollout-items.ts';
import { type RolloutLine, toRolloutLine } from './rollout-lines.ts';
import { toTypedText } from './rollout-prompts.ts';
import { abandonGroup, createResponseState, joinGroup, type ResponseState, takeGroup } from './rollout-responses.ts';
import { compareTotals } from './rollout-totals.ts';
import {
  type CodexResponse,
  createUsageState,
  interruptTotals,
  observeHistory,
  observeRoot,
  readTokenCount,
  readUsageRecord,
  type UsageState,
} from './rollout-usage.ts';
import { toSessionHeader } from './session-header.ts';
import { createThreadState, isCopiedLine, observeThread, observeTurn, type ThreadState } from './thread.ts';
import { createTurnContext, observeSettings, observeTier, type TurnContext } from './turn-context.ts';
import { UNREAD_TYPES } from './unread-types.ts';

/** Characters of a prompt that go into the names of the responses after it. */
export const MAX_HISTORY_CHARACTERS = 256;
/** Characters of an error that identify it. */
export const MAX_ERROR_CHARACTERS = 512;
/** Usage is written when a response has completed. */
export const COMPLETED = 'completed';

interface RolloutReaderState {
  /** Ids of the latest calls. */
  callIds: Set<string>;
  /** The error that this turn has shown last; the end of the turn repeats it. */
  lastError: string | null;
  thread: ThreadState;
  usage: UsageState;
  responses: ResponseState;
  context: TurnContext;
}

/**
 * Reads rollouts, the files that Codex keeps its threads in. See https://github.com/openai/codex, codex-rs/protocol.
 */
export function createRolloutReader(context: ReaderContext, state = createState()): Reader {
  return new RolloutReader(context, state);
}

class RolloutReader extends StatefulReader<RolloutReaderState> {
  readonly #thread = this.state.thread;
  readonly #usage = this.state.usage;
  readonly #responses = this.state.responses;
  readonly #turn = this.state.context;
  readonly #onIdentifierCut = (): void =>
    this.context.report('identifier_truncated', 'warning', 'Identifier cut to 512 characters');
  readonly #onInvalidUsage = (field: string, isUnknown = false): void =>
    isUnknown
      ? this.context.report('unknown_usage', 'notice', `Unknown field of usage: ${field}`)
      : this.context.report('invalid_usage', 'warning', `Usage field ${field} is no plausible figure`);
  readonly #identifier = (value: JsonValue | undefined): string | null => readIdentifier(value, this.#onIdentifierCut);
  readonly #itemContext: ItemContext = {
    maxInlineContentBytes: this.context.maxInlineContentBytes,
    isUnmeasured: this.context.isLive === true,
    onNestingTooDeep: () => this.context.report('nesting_too_deep', 'warning', 'JSON nested too deep to be stored'),
    onIdentifierCut: this.#onIdentifierCut,
    onUnknownBlock: (type) =>
      this.context.report('unknown_block_type', 'notice', `Unknown type of content block: ${type}`),
    timestampMs: undefined,
    toCallId: (content) => `${this.#historyName()}/${content}`,
  };
  readonly #unread = createUnreadLines(UNREAD_TYPES, this.context);
  #timestampMs: number | undefined;
  #isCopy = false;

  read(source: JsonObject, { arrivalMs }: ReaderLine): ReadLine {
    const line = toRolloutLine(source);
    if (line === undefined) return { type: undefined, timestampMs: undefined, records: [] };
    const type = cutCharacters(line.type, MAX_TYPE_LENGTH);
    this.#timestampMs = this.#readTimestampMs(source.timestamp) ?? arrivalMs;
    this.#thread.firstLineMs ??= this.#timestampMs;
    const ordinal = typeof source.ordinal === 'number' ? source.ordinal : undefined;
    const lineMs = this.#timestampMs;
    this.#isCopy = isCopiedLine(this.#thread, lineMs, ordinal);
    // Most versions stamp copied lines with the time of the copy, so the original time is unknown.
    if (this.#isCopy && (lineMs ?? 0) >= (this.#thread.createdMs ?? 0)) this.#timestampMs = undefined;
    this.#itemContext.timestampMs = this.#timestampMs;
    const name = line.subtype === '' ? line.type : `${line.type}/${line.subtype}`;
    const records = this.#readLine(line) ?? this.#unread.read(line.type, line.payload, name);
    return { type, timestampMs: lineMs, records };
  }

  finish(): void {
    compareTotals(this.#usage.checks.counts, this.#usage.total, 'thread', this.context);
    compareTotals(this.#usage.checks.records, this.#usage.recordTotal, "thread's records", this.context);
  }

  /** A name for the current point of the thread, the same in every copy of its history. */
  #historyName(): string {
    return this.#thread.turnId ?? `codex:${this.#usage.chain}`;
  }

  #toEvent(kind: SessionEventKind, name: string | null, identity: string, details: JsonObject = {}): EventRecord {
    const uuid = `${this.#historyName()}/${identity}`;
    return {
      kind: 'event',
      event: { kind, name, details },
      uuid,
      timestampMs: this.#timestampMs,
      isSubagent: this.#thread.isSubagent,
    };
  }

  #toMessage(type: 'user' | 'assistant' | 'system', blocks: readonly BlockContent[]): MessageRecord {
    return newMessage(type, {
      blocks,
      timestampMs: this.#timestampMs,
      model: type === 'assistant' ? this.#turn.model : null,
      gitBranch: this.#turn.gitBranch,
      agentVersion: this.#turn.version,
      isMarkedCopy: this.#isCopy,
      isSidechain: this.#thread.isSubagent,
    });
  }

  #toUsageRecord(response: CodexResponse, group: string | null): TranscriptRecord {
    if (response.isBelated) {
      this.context.report(
        'uncounted_response',
        'warning',
        'Interrupted before it was counted: used what the total grew by more',
      );
    }
    return newUsageRecord({
      usage: this.#toTieredUsage(response),
      responseId: response.name,
      requestId: response.providerId,
      ...(group !== null && { group }),
      timestampMs: this.#timestampMs,
      model: this.#turn.model ?? (this.context.isLive === true ? null : UNKNOWN_MODEL),
      stopReason: COMPLETED,
      gitBranch: this.#turn.gitBranch,
      agentVersion: this.#turn.version,
      isMarkedCopy: this.#isCopy,
      isSubagent: this.#thread.isSubagent,
    });
  }

  #observeStatedTier(stated: JsonObject | undefined): void {
    if (observeTier(this.#turn, stated, this.#identifier)) return;
    this.context.report(
      'unknown_usage',
      'notice',
      `Unknown tier: ${cutCharacters(this.#turn.serviceTier ?? '', MAX_TYPE_LENGTH)}`,
    );
  }

  #toTieredUsage({ usage }: CodexResponse): Usage {
    return { ...usage, serviceTier: this.#turn.serviceTier };
  }

  #readCount(info: JsonValue | undefined): TranscriptRecord[] {
    const object = readObject(info);
    if (object === undefined) {
      if (info !== undefined && info !== null) this.#onInvalidUsage('info');
      return [];
    }
    return readTokenCount(
      this.#usage,
      object,
      { turnId: this.#thread.turnId, isCopy: this.#isCopy },
      this.#onInvalidUsage,
    ).map((response) => {
      if (response.isBelated) return this.#toUsageRecord(response, this.#responses.abandoned);
      const group = takeGroup(this.#responses);
      this.#responses.abandoned = null;
      if (group !== null) this.#responses.countsFirst = false;
      else if (this.#thread.turnId === null) this.#responses.countsFirst ??= true;
      this.#responses.counted = this.#responses.countsFirst === true ? response : null;
      return this.#toUsageRecord(response, group);
    });
  }

  #readRecord(record: JsonObject, isOfOpenItems: boolean): TranscriptRecord[] {
    const threadId = readText(record.thread_id);
    if (threadId !== null && this.#thread.id !== null) this.#isCopy = threadId !== this.#thread.id;
    this.#observeStatedTier(record);
    this.#observeStatedTier(readObject(record.usage));
    const response = readUsageRecord(
      this.#usage,
      record,
      { turnId: this.#thread.turnId, isCopy: this.#isCopy },
      this.#onInvalidUsage,
    );
    if (response === undefined) return [];
    if (!this.#isCopy) this.#usage.hasRecords = true;
    this.#responses.abandoned = null;
    return [this.#toUsageRecord(response, isOfOpenItems ? takeGroup(this.#responses) : null)];
  }

  #toAssistant({ blocks }: RolloutItem, phase: string | null): MessageRecord {
    const message = this.#toMessage('assistant', blocks);
    for (const [field, value] of [
      ['phase', phase],
      ['effort', this.#turn.effort],
      ['plan_type', this.#turn.planType],
      ['service_tier', this.#turn.serviceTier],
    ] as const) {
      if (value !== null) message.metadata[field] = value;
    }
    const { counted } = this.#responses;
    if (counted !== null) {
      return { ...message, responseId: counted.name, usage: this.#toTieredUsage(counted), stopReason: COMPLETED };
    }
    return { ...message, group: joinGroup(this.#responses) };
  }

  #toUser({ blocks }: RolloutItem, item: JsonObject): TranscriptRecord[] {
    const message = this.#toMessage('user', blocks);
    const author = this.#identifier(item.author);
    if (author !== null) message.metadata.author = author;
    const kinds = readObject(item.internal_chat_message_metadata_passthrough)?.content_item_kinds;
    const typed = author === null ? toTypedText(item.content, kinds) : undefined;
    if (typed === undefined) {
      if (author === null && blocks.length > 0 && blocks.every(isText)) message.metadata.isMeta = true;
      return [message];
    }
    // Turns without ids begin with a prompt.
    if (this.#thread.turnId === null) abandonGroup(this.#responses);
    // A prompt that a sub-agent copied was addressed to another thread.
    if (typed !== '' && (!this.#isCopy || !this.#thread.isSubagent)) message.promptText = typed;
    if (this.#turn.approvalPolicy !== null) message.metadata.approval_policy = this.#turn.approvalPolicy;
    if (this.#turn.sandbox !== null) message.metadata.sandbox = this.#turn.sandbox;
    observeHistory(this.#usage, typed.slice(0, MAX_HISTORY_CHARACTERS));
    if (this.#thread.isSubagent) return [message];
    return [this.#toEvent('prompt', null, `prompt/${toFingerprint(typed)}`), message];
  }

  #toTextBlocks(text: string): BlockContent[] {
    return readRolloutItem({ role: 'system', content: text }, 'message', this.#itemContext)?.blocks ?? [];
  }

  #readItem(payload: JsonObject, type: string): TranscriptRecord[] | undefined {
    const item = readRolloutItem(payload, type, this.#itemContext);
    if (item === undefined) return undefined;
    observeCall(this.state.callIds, payload);
    switch (item.role) {
      case 'assistant':
        return [this.#toAssistant(item, this.#identifier(payload.phase))];
      case 'output':
        this.#responses.isAnswered = this.#responses.open !== null;
        this.#responses.counted = null;
        return [this.#toMessage('user', item.blocks)];
      case 'user':
        return this.#toUser(item, payload);
      default:
        return [this.#toMessage('system', item.blocks)];
    }
  }

  #beginTurn(turnId: JsonValue | undefined): void {
    observeTurn(this.#thread, readText(turnId));
    abandonGroup(this.#responses);
    this.#responses.counted = null;
    this.state.lastError = null;
  }

  /** `subtype`says if the turn failed (`error`) or continues (`stream_error`). */
  #readError(subtype: 'error' | 'stream_error', value: JsonValue | undefined): TranscriptRecord[] {
    const error = readObject(value);
    if (error === undefined) return [];
    const info = error.codex_error_info;
    const name = this.#identifier(info) ?? Object.keys(readObject(info) ?? {})[0] ?? null;
    const kind = subtype === 'error' ? 'api_error' : 'api_retry';
    const event = this.#toEvent(kind, name, `${subtype}/${this.#usage.total?.input ?? 0}`);
    const text = readText(error.message) ?? '';
    const shown = cutCharacters(text, MAX_ERROR_CHARACTERS);
    if (text === '' || shown === this.state.lastError) return [event];
    this.state.lastError = shown;
    const message = this.#toMessage('system', this.#toTextBlocks(text));
    message.metadata.level = subtype === 'error' ? 'error' : 'warning';
    return [event, message];
  }

  /** A part of the words in a conversation by voice. */
  #readSpoken({ role, text }: JsonObject): TranscriptRecord[] {
    const message = this.#toMessage(
      role === 'assistant' ? 'assistant' : 'user',
      this.#toTextBlocks(readText(text) ?? ''),
    );
    return [{ ...message, model: null, metadata: { is_spoken: true } }];
  }

  #readEvent({ payload, subtype }: RolloutLine): TranscriptRecord[] | undefined {
    switch (subtype) {
      case 'token_count':
        this.#turn.planType = this.#identifier(readObject(payload.rate_limits)?.plan_type) ?? this.#turn.planType;
        this.#observeStatedTier(payload);
        return this.#readCount(payload.info);
      case 'task_started':
      case 'turn_started':
        this.#beginTurn(payload.turn_id);
        return [];
      case 'turn_aborted':
        abandonGroup(this.#responses);
        return this.#readError('error', payload.error);
      case 'task_complete':
      case 'turn_complete':
        return this.#readError('error', payload.error);
      case 'thread_settings_applied':
        // All settings as they are from now on. Settings without a tier have the standard one.
        return this.#readSettings({ service_tier: null, ...readObject(payload.thread_settings) });
      case 'session_configured':
        return this.#readSettings({ service_tier: null, ...payload });
      case 'thread_name_updated': {
        const title = this.#identifier(payload.thread_name);
        return title === null || this.#isCopy ? [] : [{ kind: 'session', title: { source: 'custom', text: title } }];
      }
      case 'thread_rolled_back':
        interruptTotals(this.#usage);
        return [];
      case 'error':
      case 'stream_error':
        return this.#readError(subtype, payload);
      default:
        observeCallEvent(this.state.callIds, payload, subtype, this.context);
        return undefined;
    }
  }

  #readSettings(settings: JsonObject): TranscriptRecord[] {
    this.#observeStatedTier(settings);
    const permissionMode = observeSettings(this.#turn, settings, this.#identifier);
    return permissionMode === undefined || this.#isCopy ? [] : [{ kind: 'session', last: { permissionMode } }];
  }

  #readMeta(meta: JsonObject): TranscriptRecord[] {
    const id = this.#identifier(meta.id);
    interruptTotals(this.#usage);
    if (id !== null) observeRoot(this.#usage, id);
    const isOwn = observeThread(this.#thread, meta, this.#timestampMs);
    if (!isOwn) return [];
    this.#turn.version = this.#identifier(meta.cli_version) ?? this.#turn.version;
    this.#turn.gitBranch = this.#identifier(readObject(meta.git)?.branch) ?? this.#turn.gitBranch;
    return [toSessionHeader(meta, this.#identifier)];
  }

  #readCompacted(payload: JsonObject): TranscriptRecord[] {
    interruptTotals(this.#usage);
    const { contextTokens } = this.#usage;
    const latest = readObject(payload.latest_token_usage_record);
    const wasCopy = this.#isCopy;
    const records = latest === undefined ? [] : this.#readRecord(latest, false);
    this.#isCopy = wasCopy;
    const identity = this.#identifier(payload.window_id) ?? String(this.#usage.total?.input ?? 0);
    const details = contextTokens === undefined ? {} : { preTokens: contextTokens };
    records.push(this.#toEvent('compaction', null, `compaction/${identity}`, details));
    const text = readText(payload.message);
    if (text === null) return records;
    records.push(
      newMessage('summary', {
        blocks: this.#toTextBlocks(text),
        timestampMs: this.#timestampMs,
        isSidechain: this.#thread.isSubagent,
        agentVersion: this.#turn.version,
      }),
    );
    return records;
  }

  #readLine(line: RolloutLine): TranscriptRecord[] | undefined {
    switch (line.type) {
      case 'session_meta':
        return this.#readMeta(line.payload);
      case 'turn_context':
        if (readText(line.payload.turn_id) !== null) observeTurn(this.#thread, readText(line.payload.turn_id));
        this.#responses.counted = null;
        return this.#readSettings(line.payload);
      case 'response_item':
        return this.#readItem(line.payload, line.subtype);
      case 'inter_agent_communication':
        return this.#readItem(line.payload, 'agent_message');
      case 'realtime_item':
        return line.subtype === 'transcript_segment' ? this.#readSpoken(line.payload) : undefined;
      case 'event_msg':
        return this.#readEvent(line);
      case 'token_usage_record':
        return this.#readRecord(line.payload, true);
      case 'compacted':
        return this.#readCompacted(line.payload);
      default:
        return undefined;
    }
  }

  #readTimestampMs(timestamp: JsonValue | undefined): number | undefined {
    const timeMs = parseTimestampMs(timestamp);
    if (timeMs === undefined && timestamp !== undefined && timestamp !== null) {
      this.context.report('invalid_timestamp', 'warning', 'Timestamp names no moment from 1970 to 9999');
    }
    return timeMs;
  }
}

const isText = ({ block_type: type }: BlockContent): boolean => type === 'text';

export function createState(): RolloutReaderState {
  return {
    callIds: new Set(),
    lastError: null,
    thread: createThreadState(),
    usage: createUsageState(),
    responses: createResponseState(),
    context: createTurnContext(),
  };
}
