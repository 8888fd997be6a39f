import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';
import { newBlock, newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, TranscriptRecord } from '../../records/records.ts';
import type { ReaderContext } from '../agent.ts';
import { type ReaderKit, readType, toReportedCost } from '../reader-kit.ts';
import { createUnreadLines, reportUnknownCounts, type UnreadLines, type UnreadTypes } from '../unread-lines.ts';
import { isCopy, type SessionMessageState } from './session-message.ts';
import { addStatedTotal, OPENCODE_USAGE_FIELDS, type StatedTotals, toOpencodeUsage, toResponseId } from './usage.ts';

const READ_PARTS = new Set<unknown>([
  ...['text', 'reasoning', 'tool', 'file', 'step-finish', 'subtask', 'retry', 'compaction'],
]);
const UNREAD_PARTS: UnreadTypes = {
  'part/agent': { why: 'the name of an agent, which the prompt has as well', mayHold: ['source.value'] },
  'part/patch': { why: 'files that were changed, which tool calls show' },
  'part/snapshot': { why: 'a version of the working tree' },
  'part/step-start': { why: 'the beginning of a step' },
};

/** A message whose parts are being read, perhaps from separate lines. */
interface OpenMessage {
  id: string | null;
  role: 'user' | 'assistant';
  timestampMs: number | undefined;
  model: string | null;
  /** Response id of the last step of an assistant message. */
  responseId: string | null;
  /** Prefix of the keys of its responses. */
  responsePrefix: string;
  /** True if its cost is compared with its steps'. */
  hasStatedCost: boolean;
}

export interface PartsState extends SessionMessageState {
  /** The most recent message. */
  message: OpenMessage | undefined;
  totals: StatedTotals;
}

/** Reads the parts of version 1's messages, and `state` has the most recent one. */
export class PartReader {
  readonly #kit: ReaderKit;
  readonly #context: ReaderContext;
  readonly #state: PartsState;
  readonly #unread: UnreadLines;

  constructor(kit: ReaderKit, context: ReaderContext, state: PartsState) {
    this.#kit = kit;
    this.#context = context;
    this.#state = state;
    this.#unread = createUnreadLines(UNREAD_PARTS, context);
  }

  /** All parts of a user message form one message. Parts that opencode generated are not what the user typed. */
  readUserParts(parts: readonly JsonObject[]): TranscriptRecord[] {
    const { message } = this.#state;
    if (message === undefined || parts.length === 0) return [];
    const entry = { timestampMs: message.timestampMs, uuid: message.id };
    const unknown = parts.flatMap(this.#readOtherPart);
    const isTyped = (part: JsonObject): boolean => part.type === 'text' && part.synthetic !== true;
    const compactions = parts
      .filter(({ type }) => type === 'compaction')
      .map((part) => this.#toCompaction(part, message));
    const events = [...unknown, ...compactions];
    const typed = parts.filter(isTyped).map(({ text }) => ({ type: 'text', text: text ?? '' }));
    const others = parts.filter((part) => !isTyped(part)).flatMap(this.#toUserBlocks);
    if (typed.length === 0) {
      return others.length === 0
        ? events
        : [...events, newMessage('user', { ...entry, metadata: { isMeta: true }, blocks: others })];
    }
    const records = this.#kit.toPromptRecords(typed, entry, toCopyIdentity(message, 'prompt'));
    for (const record of records) if (record.kind === 'message') record.blocks = [...record.blocks, ...others];
    return [...events, ...records];
  }

  #toCompaction(part: JsonObject, message: OpenMessage): TranscriptRecord {
    const event = { kind: 'compaction', name: part.auto === false ? 'manual' : 'auto', details: {} } as const;
    return this.#kit.toEvent(event, toCopyIdentity(message, 'compaction'), message.timestampMs);
  }

  toWrittenBlocks(parts: readonly JsonObject[]): BlockContent[] {
    return parts.flatMap((part, index): BlockContent[] => {
      if (part.type === 'text') return this.#kit.toBlocks([{ type: 'text', text: part.text ?? '' }]);
      if (part.type === 'reasoning') return this.#kit.toBlocks([{ type: 'thinking', thinking: part.text ?? '' }]);
      if (part.type === 'file') return this.#toUserBlocks(part);
      if (part.type !== 'tool') return [];
      const input = readObject(part.state)?.input;
      return this.#kit.toToolUseBlocks({ id: toCallId(part, index), name: part.tool, input });
    });
  }

  /** The additions of a part of an assistant message to the blocks that the model wrote. */
  readAssistantPart(part: JsonObject, isWithMessage: boolean, index = 0): TranscriptRecord[] {
    const { message } = this.#state;
    if (message === undefined) return [];
    const records: TranscriptRecord[] = [];
    if (!isWithMessage) {
      const blocks = this.toWrittenBlocks([part]);
      const { responseId, model, timestampMs, id: uuid } = message;
      if (blocks.length > 0) records.push(newMessage('assistant', { responseId, model, timestampMs, uuid, blocks }));
    }
    records.push(...this.#readOtherPart(part));
    if (part.type === 'tool') records.push(...this.#toToolResult(part, message, index));
    if (isStep(part)) records.push(...this.#toStep(part, message));
    if (part.type === 'retry') {
      const event = { kind: 'api_retry', name: this.#kit.toId(readObject(part.error)?.name), details: {} } as const;
      records.push(this.#kit.toEvent(event, toCopyIdentity(message, 'retry'), message.timestampMs));
    }
    return records;
  }

  #toToolResult(part: JsonObject, message: OpenMessage, index: number): TranscriptRecord[] {
    const call = readObject(part.state);
    const status = readText(call?.status);
    if (call === undefined || (status !== 'completed' && status !== 'error')) return [];
    const outer = readObject(call.metadata);
    // In the stream of version 2, the tool's own metadata are one level deeper.
    const metadata = readObject(outer?.metadata) ?? outer;
    const exit = metadata?.exit;
    // opencode marks a malformed call, or one of an unknown tool, as completed, with an explanation.
    const isError = status === 'error' || part.tool === 'invalid' || (typeof exit === 'number' && exit !== 0);
    const content = status === 'error' ? call.error : call.output;
    const isDenied = status === 'error' && /rejected permission|permission.*(denied|rejected)/i.test(String(content));
    const subagentId =
      part.tool === 'task' || part.tool === 'subagent'
        ? this.#kit.toId(metadata?.sessionId ?? metadata?.sessionID)
        : null;
    const timestampMs = this.#kit.toTimeMs(readObject(call.time)?.end) ?? message.timestampMs;
    const result = { id: toCallId(part, index), content, isError, isDenied, subagentId };
    return [this.#kit.toToolResultMessage(result, { timestampMs })];
  }

  /** A step is an API response. The last step of a message has the message's usage. */
  #toStep(part: JsonObject, message: OpenMessage): TranscriptRecord[] {
    const tokens = this.#kit.toUsagePart(part, 'tokens');
    reportUnknownCounts(tokens, OPENCODE_USAGE_FIELDS, this.#context);
    const usage = toOpencodeUsage(tokens, this.#kit, message.timestampMs);
    addStatedTotal(this.#state.totals, tokens, usage);
    if (message.hasStatedCost && typeof part.cost === 'number') this.#state.totals.countedCost += part.cost;
    if (usage === undefined) return [];
    const responseId = toResponseId(message.responsePrefix, usage);
    const reportedCostUsd = toReportedCost(this.#kit.toDollars(part, 'cost'));
    const { timestampMs, model } = message;
    const stopReason = this.#kit.toId(part.reason);
    const isMarkedCopy = isCopy(this.#state, timestampMs);
    return [newUsageRecord({ responseId, usage, reportedCostUsd, timestampMs, model, stopReason, isMarkedCopy })];
  }

  readonly #readOtherPart = (part: JsonObject): TranscriptRecord[] =>
    READ_PARTS.has(part.type) ? [] : this.#unread.read('part', part, `part/${readType(part.type) ?? 'unknown'}`);

  readonly #toUserBlocks = (part: JsonObject): BlockContent[] => {
    if (part.type === 'text') return this.#kit.toBlocks([{ type: 'text', text: part.text ?? '' }]);
    if (part.type === 'subtask') return this.#kit.toBlocks([{ type: 'text', text: part.prompt ?? '' }]);
    if (part.type !== 'file') return [];
    const { mime, filename, url } = part;
    const isInline = typeof url === 'string' && url.startsWith('data:');
    const metadata = { mime: mime ?? null, filename: filename ?? null, ...(!isInline && { url: url ?? null }) };
    return [newBlock(typeof mime === 'string' && mime.startsWith('image/') ? 'image' : 'document', { metadata })];
  };
}

/** A message's cost is the sum of its steps; its usage is the last step's. */
export function isStep({ type }: JsonObject): boolean {
  return type === 'step-finish';
}

export function toCopyIdentity({ role, timestampMs, id }: OpenMessage, kind: string): string | null {
  return timestampMs === undefined ? id : `${kind}/${role}/${timestampMs}`;
}

/**
 * Short call ids need not be unique within a response; the call's start time and position are the same in all copies.
 */
function toCallId(part: JsonObject, index: number): JsonValue {
  const id = readText(part.partID === undefined ? part.callID : part.id);
  if (id !== null && id.length >= 20) return id;
  const start = readObject(readObject(part.state)?.time)?.start;
  return `${id ?? 'call'}/${typeof start === 'number' ? start : ''}/${index}`;
}
