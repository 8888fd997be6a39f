import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, MAX_TYPE_LENGTH, readIdentifier, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, EventRecord, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import { type SessionEventKind, UNKNOWN_MODEL } from '../../records/rows.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';
import type { Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReaderLine } from '../agent.ts';
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
const MAX_HISTORY_CHARACTERS = 256;
/** Characters of an error that tell it from another one. */
const MAX_ERROR_CHARACTERS = 512;
/** Usage is written when a response has completed. */
const COMPLETED = 'completed';

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

/** Reads rollouts, the files in which Codex keeps its threads: https://github.com/openai/codex, codex-rs/protocol. */
export function createRolloutReader(context: ReaderContext, state = createState()): Reader {
  const { thread, usage, responses, context: turn } = state;
  const onIdentifierCut = (): void =>
    context.report('identifier_truncated', 'warning', 'Identifier cut to 512 characters');
  const onInvalidUsage = (field: string, isUnknown = false): void =>
    isUnknown
      ? context.report('unknown_usage', 'notice', `Unknown field of usage: ${field}`)
      : context.report('invalid_usage', 'warning', `Usage field ${field} is no plausible figure`);
  const identifier = (value: JsonValue | undefined): string | null => readIdentifier(value, onIdentifierCut);
  const itemContext: ItemContext = {
    maxInlineContentBytes: context.maxInlineContentBytes,
    isUnmeasured: context.isLive === true,
    onNestingTooDeep: () => context.report('nesting_too_deep', 'warning', 'JSON nested too deep to be stored'),
    onIdentifierCut,
    onUnknownBlock: (type) => context.report('unknown_block_type', 'notice', `Unknown type of content block: ${type}`),
    timestampMs: undefined,
    toCallId: (content) => `${historyName()}/${content}`,
  };
  const unread = createUnreadLines(UNREAD_TYPES, context);
  let timestampMs: number | undefined;
  let isCopy = false;

  /** A name for the current point of the thread, the same in every copy of its history. */
  const historyName = (): string => thread.turnId ?? `codex:${usage.chain}`;

  const toEvent = (
    kind: SessionEventKind,
    name: string | null,
    identity: string,
    details: JsonObject = {},
  ): EventRecord => {
    const uuid = `${historyName()}/${identity}`;
    return { kind: 'event', event: { kind, name, details }, uuid, timestampMs, isSubagent: thread.isSubagent };
  };

  const toMessage = (type: 'user' | 'assistant' | 'system', blocks: readonly BlockContent[]): MessageRecord =>
    newMessage(type, {
      blocks,
      timestampMs,
      model: type === 'assistant' ? turn.model : null,
      gitBranch: turn.gitBranch,
      agentVersion: turn.version,
      isMarkedCopy: isCopy,
      isSidechain: thread.isSubagent,
    });

  const toUsageRecord = (response: CodexResponse, group: string | null): TranscriptRecord => {
    if (response.isBelated) {
      context.report(
        'uncounted_response',
        'warning',
        'Interrupted before it was counted: used what the total grew by more',
      );
    }
    return newUsageRecord({
      usage: toTieredUsage(response),
      responseId: response.name,
      requestId: response.providerId,
      ...(group !== null && { group }),
      timestampMs,
      model: turn.model ?? (context.isLive === true ? null : UNKNOWN_MODEL),
      stopReason: COMPLETED,
      gitBranch: turn.gitBranch,
      agentVersion: turn.version,
      isMarkedCopy: isCopy,
      isSubagent: thread.isSubagent,
    });
  };

  const observeStatedTier = (stated: JsonObject | undefined): void => {
    if (observeTier(turn, stated, identifier)) return;
    context.report(
      'unknown_usage',
      'notice',
      `Unknown tier: ${cutCharacters(turn.serviceTier ?? '', MAX_TYPE_LENGTH)}`,
    );
  };

  const toTieredUsage = ({ usage }: CodexResponse): Usage => ({ ...usage, serviceTier: turn.serviceTier });

  const readCount = (info: JsonValue | undefined): TranscriptRecord[] => {
    const object = readObject(info);
    if (object === undefined) {
      if (info !== undefined && info !== null) onInvalidUsage('info');
      return [];
    }
    return readTokenCount(usage, object, { turnId: thread.turnId, isCopy }, onInvalidUsage).map((response) => {
      if (response.isBelated) return toUsageRecord(response, responses.abandoned);
      const group = takeGroup(responses);
      responses.abandoned = null;
      if (group !== null) responses.countsFirst = false;
      else if (thread.turnId === null) responses.countsFirst ??= true;
      responses.counted = responses.countsFirst === true ? response : null;
      return toUsageRecord(response, group);
    });
  };

  const readRecord = (record: JsonObject, isOfOpenItems: boolean): TranscriptRecord[] => {
    const threadId = readText(record.thread_id);
    if (threadId !== null && thread.id !== null) isCopy = threadId !== thread.id;
    observeStatedTier(record);
    observeStatedTier(readObject(record.usage));
    const response = readUsageRecord(usage, record, { turnId: thread.turnId, isCopy }, onInvalidUsage);
    if (response === undefined) return [];
    if (!isCopy) usage.hasRecords = true;
    responses.abandoned = null;
    return [toUsageRecord(response, isOfOpenItems ? takeGroup(responses) : null)];
  };

  const toAssistant = ({ blocks }: RolloutItem, phase: string | null): MessageRecord => {
    const message = toMessage('assistant', blocks);
    for (const [field, value] of [
      ['phase', phase],
      ['effort', turn.effort],
      ['plan_type', turn.planType],
      ['service_tier', turn.serviceTier],
    ] as const) {
      if (value !== null) message.metadata[field] = value;
    }
    const { counted } = responses;
    if (counted !== null) {
      return { ...message, responseId: counted.name, usage: toTieredUsage(counted), stopReason: COMPLETED };
    }
    return { ...message, group: joinGroup(responses) };
  };

  const toUser = ({ blocks }: RolloutItem, item: JsonObject): TranscriptRecord[] => {
    const message = toMessage('user', blocks);
    const author = identifier(item.author);
    if (author !== null) message.metadata.author = author;
    const kinds = readObject(item.internal_chat_message_metadata_passthrough)?.content_item_kinds;
    const typed = author === null ? toTypedText(item.content, kinds) : undefined;
    if (typed === undefined) {
      if (author === null && blocks.length > 0 && blocks.every(isText)) message.metadata.isMeta = true;
      return [message];
    }
    // Turns without ids begin with a prompt.
    if (thread.turnId === null) abandonGroup(responses);
    // A prompt that a sub-agent copied was addressed to another thread.
    if (typed !== '' && (!isCopy || !thread.isSubagent)) message.promptText = typed;
    if (turn.approvalPolicy !== null) message.metadata.approval_policy = turn.approvalPolicy;
    if (turn.sandbox !== null) message.metadata.sandbox = turn.sandbox;
    observeHistory(usage, typed.slice(0, MAX_HISTORY_CHARACTERS));
    if (thread.isSubagent) return [message];
    return [toEvent('prompt', null, `prompt/${toFingerprint(typed)}`), message];
  };

  const toTextBlocks = (text: string): BlockContent[] =>
    readRolloutItem({ role: 'system', content: text }, 'message', itemContext)?.blocks ?? [];

  const readItem = (payload: JsonObject, type: string): TranscriptRecord[] | undefined => {
    const item = readRolloutItem(payload, type, itemContext);
    if (item === undefined) return undefined;
    observeCall(state.callIds, payload);
    switch (item.role) {
      case 'assistant':
        return [toAssistant(item, identifier(payload.phase))];
      case 'output':
        responses.isAnswered = responses.open !== null;
        responses.counted = null;
        return [toMessage('user', item.blocks)];
      case 'user':
        return toUser(item, payload);
      default:
        return [toMessage('system', item.blocks)];
    }
  };

  const beginTurn = (turnId: JsonValue | undefined): void => {
    observeTurn(thread, readText(turnId));
    abandonGroup(responses);
    responses.counted = null;
    state.lastError = null;
  };

  /** `subtype`: whether the turn failed (`error`) or goes on (`stream_error`). */
  const readError = (subtype: 'error' | 'stream_error', value: JsonValue | undefined): TranscriptRecord[] => {
    const error = readObject(value);
    if (error === undefined) return [];
    const info = error.codex_error_info;
    const name = identifier(info) ?? Object.keys(readObject(info) ?? {})[0] ?? null;
    const kind = subtype === 'error' ? 'api_error' : 'api_retry';
    const event = toEvent(kind, name, `${subtype}/${usage.total?.input ?? 0}`);
    const text = readText(error.message) ?? '';
    const shown = cutCharacters(text, MAX_ERROR_CHARACTERS);
    if (text === '' || shown === state.lastError) return [event];
    state.lastError = shown;
    const message = toMessage('system', toTextBlocks(text));
    message.metadata.level = subtype === 'error' ? 'error' : 'warning';
    return [event, message];
  };

  /** A part of what was said in a conversation by voice. */
  const readSpoken = ({ role, text }: JsonObject): TranscriptRecord[] => {
    const message = toMessage(role === 'assistant' ? 'assistant' : 'user', toTextBlocks(readText(text) ?? ''));
    return [{ ...message, model: null, metadata: { is_spoken: true } }];
  };

  const readEvent = ({ payload, subtype }: RolloutLine): TranscriptRecord[] | undefined => {
    switch (subtype) {
      case 'token_count':
        turn.planType = identifier(readObject(payload.rate_limits)?.plan_type) ?? turn.planType;
        observeStatedTier(payload);
        return readCount(payload.info);
      case 'task_started':
      case 'turn_started':
        beginTurn(payload.turn_id);
        return [];
      case 'turn_aborted':
        abandonGroup(responses);
        return readError('error', payload.error);
      case 'task_complete':
      case 'turn_complete':
        return readError('error', payload.error);
      case 'thread_settings_applied':
        // All settings as they are from now on: those without a tier have the standard one.
        return readSettings({ service_tier: null, ...readObject(payload.thread_settings) });
      case 'session_configured':
        return readSettings({ service_tier: null, ...payload });
      case 'thread_name_updated': {
        const title = identifier(payload.thread_name);
        return title === null || isCopy ? [] : [{ kind: 'session', title: { source: 'custom', text: title } }];
      }
      case 'thread_rolled_back':
        interruptTotals(usage);
        return [];
      case 'error':
      case 'stream_error':
        return readError(subtype, payload);
      default:
        observeCallEvent(state.callIds, payload, subtype, context);
        return undefined;
    }
  };

  const readSettings = (settings: JsonObject): TranscriptRecord[] => {
    observeStatedTier(settings);
    const permissionMode = observeSettings(turn, settings, identifier);
    return permissionMode === undefined || isCopy ? [] : [{ kind: 'session', last: { permissionMode } }];
  };

  const readMeta = (meta: JsonObject): TranscriptRecord[] => {
    const id = identifier(meta.id);
    interruptTotals(usage);
    if (id !== null) observeRoot(usage, id);
    const isOwn = observeThread(thread, meta, timestampMs);
    if (!isOwn) return [];
    turn.version = identifier(meta.cli_version) ?? turn.version;
    turn.gitBranch = identifier(readObject(meta.git)?.branch) ?? turn.gitBranch;
    return [toSessionHeader(meta, identifier)];
  };

  const readCompacted = (payload: JsonObject): TranscriptRecord[] => {
    interruptTotals(usage);
    const { contextTokens } = usage;
    const latest = readObject(payload.latest_token_usage_record);
    const wasCopy = isCopy;
    const records = latest === undefined ? [] : readRecord(latest, false);
    isCopy = wasCopy;
    const identity = identifier(payload.window_id) ?? String(usage.total?.input ?? 0);
    const details = contextTokens === undefined ? {} : { preTokens: contextTokens };
    records.push(toEvent('compaction', null, `compaction/${identity}`, details));
    const text = readText(payload.message);
    if (text === null) return records;
    records.push(
      newMessage('summary', {
        blocks: toTextBlocks(text),
        timestampMs,
        isSidechain: thread.isSubagent,
        agentVersion: turn.version,
      }),
    );
    return records;
  };

  const readLine = (line: RolloutLine): TranscriptRecord[] | undefined => {
    switch (line.type) {
      case 'session_meta':
        return readMeta(line.payload);
      case 'turn_context':
        if (readText(line.payload.turn_id) !== null) observeTurn(thread, readText(line.payload.turn_id));
        responses.counted = null;
        return readSettings(line.payload);
      case 'response_item':
        return readItem(line.payload, line.subtype);
      case 'inter_agent_communication':
        return readItem(line.payload, 'agent_message');
      case 'realtime_item':
        return line.subtype === 'transcript_segment' ? readSpoken(line.payload) : undefined;
      case 'event_msg':
        return readEvent(line);
      case 'token_usage_record':
        return readRecord(line.payload, true);
      case 'compacted':
        return readCompacted(line.payload);
      default:
        return undefined;
    }
  };

  const readTimestampMs = (timestamp: JsonValue | undefined): number | undefined => {
    const timeMs = parseTimestampMs(timestamp);
    if (timeMs === undefined && timestamp !== undefined && timestamp !== null) {
      context.report('invalid_timestamp', 'warning', 'Timestamp names no moment from 1970 to 9999');
    }
    return timeMs;
  };

  return {
    state,
    read(source, { arrivalMs }: ReaderLine) {
      const line = toRolloutLine(source);
      if (line === undefined) return { type: undefined, timestampMs: undefined, records: [] };
      const type = cutCharacters(line.type, MAX_TYPE_LENGTH);
      timestampMs = readTimestampMs(source.timestamp) ?? arrivalMs;
      thread.firstLineMs ??= timestampMs;
      const ordinal = typeof source.ordinal === 'number' ? source.ordinal : undefined;
      const lineMs = timestampMs;
      isCopy = isCopiedLine(thread, lineMs, ordinal);
      // Most versions stamp copied lines with the time of the copy, so the original time is unknown.
      if (isCopy && (lineMs ?? 0) >= (thread.createdMs ?? 0)) timestampMs = undefined;
      itemContext.timestampMs = timestampMs;
      const name = line.subtype === '' ? line.type : `${line.type}/${line.subtype}`;
      const records = readLine(line) ?? unread.read(line.type, line.payload, name);
      return { type, timestampMs: lineMs, records };
    },
    finish() {
      compareTotals(usage.checks.counts, usage.total, 'thread', context);
      compareTotals(usage.checks.records, usage.recordTotal, "thread's records", context);
    },
  };
}

const isText = ({ block_type: type }: BlockContent): boolean => type === 'text';

function createState(): RolloutReaderState {
  return {
    callIds: new Set(),
    lastError: null,
    thread: createThreadState(),
    usage: createUsageState(),
    responses: createResponseState(),
    context: createTurnContext(),
  };
}
