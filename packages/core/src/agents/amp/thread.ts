import { isNestedDeeperThan, MAX_STORED_JSON_DEPTH } from '../../lines/inline-limit.ts';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, isJsonObject, MAX_TYPE_LENGTH, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import { toRepositoryUrl } from '../../records/repository.ts';
import type { Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import {
  createReaderKit,
  readType,
  type ToolVocabulary,
  toCutTitle,
  toSessionRecord,
  toUsageIfAny,
} from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines, type UnreadTypes } from '../unread-lines.ts';

const TOOLS: ToolVocabulary = {
  read: ['read', 'read_file', 'view_media', 'look_at', 'read_thread'],
  edit: ['edit_file', 'create_file', 'apply_patch', 'undo_edit', 'format_file'],
  shell: ['bash', 'shell_command', 'shell_command_status'],
  search: ['glob', 'grep', 'finder', 'list_directory', 'codebase_search_agent', 'find_thread'],
  web: ['web_search', 'read_web_page'],
  agent: ['task', 'oracle', 'librarian', 'create_thread'],
  skill: ['skill'],
  plan: ['todo_write', 'todo_read'],
};

/** Members of a thread that are read. */
const READ_MEMBERS: ReadonlySet<string> = new Set(['id', 'created', 'messages', 'usageLedger', 'title', 'env']);
/** Other members, as exports and local threads of 2025 and 2026 have them. */
const UNREAD_MEMBERS: UnreadTypes = {
  ...Object.fromEntries(
    [
      ...['v', 'agentMode', 'archived', 'autoSubmitDraft', 'creatorUserID', 'ownerUserID', 'labels', 'mainThreadID'],
      ...['nextMessageId', 'originThreadID', 'pendingNavigation', 'reasoningEffort', 'relationships', 'updated'],
      ...['updatedAt', 'userLastInteractedAt', 'visibility', 'activatedSkills', 'maxTokens'],
    ].map((name) => [name, { why: 'a setting of the thread, or how it belongs to others' }]),
  ),
  meta: { why: 'settings of the thread', mayHold: ['meta.traces'] },
  draft: { why: 'a prompt that was not sent', mayHold: ['draft'] },
  queuedMessages: { why: 'prompts that were not sent yet', mayHold: ['queuedMessages'] },
  '~debug': { why: 'what the program measured', mayHold: ['~debug'] },
};
/** Messages with separate usage, remembered because the ledger repeats it. */
const MAX_REMEMBERED_MESSAGES = 20_000;
/** Answers that wait for the ledger to date them; the oldest get the time of what came before. */
const MAX_UNDATED_ANSWERS = 500;

const USAGE_FIELDS: ReadonlySet<string> = new Set([
  ...['inputTokens', 'outputTokens', 'cacheCreationInputTokens', 'cacheReadInputTokens', 'totalInputTokens'],
  ...['maxInputTokens', 'credits', 'thinkingBudget'],
]);

interface AmpThreadState {
  threadId: string | null;
  startedAtMs: number | undefined;
  /** The latest time that a message states. */
  lastMs: number | undefined;
  hasMessages: boolean;
  /** The ledger, if it comes before the messages. */
  ledger: JsonObject | null;
  /** Input and output tokens that messages state, by their numbers. */
  counted: Map<number, AmpCount>;
  /** Answers without a time, by their numbers. */
  undated: Map<number, UndatedAnswer>;
  totals: { messages: StatedTotal; ledgerInput: StatedTotal; ledgerOutput: StatedTotal };
}

interface AmpCount {
  /** As `inputTokens` of the message. */
  uncached: number;
  /** With what was read from the cache and written to it. */
  input: number;
  output: number;
}

/** The link of a later line to an answer, and its time if no line has one. */
interface UndatedAnswer {
  known: Pick<MessageRecord, 'responseId'> | Pick<MessageRecord, 'group'>;
  beforeMs: number | undefined;
}

interface StatedTotal {
  stated: number;
  counted: number;
}

function createState(): AmpThreadState {
  const newTotal = (): StatedTotal => ({ stated: 0, counted: 0 });
  return {
    threadId: null,
    startedAtMs: undefined,
    lastMs: undefined,
    hasMessages: false,
    ledger: null,
    counted: new Map(),
    undated: new Map(),
    totals: { messages: newTotal(), ledgerInput: newTotal(), ledgerOutput: newTotal() },
  };
}

/** Reads the document that `amp threads export` prints, and threads that older versions of Amp kept locally. */
export function createAmpThreadReader(context: ReaderContext, state: AmpThreadState = createState()): Reader {
  return new AmpThreadReader(context, state);
}

class AmpThreadReader extends StatefulReader<AmpThreadState> {
  readonly #kit = createReaderKit(this.context, TOOLS);
  readonly #unread = createUnreadLines(UNREAD_MEMBERS, this.context);

  read(line: JsonObject): ReadLine {
    const message = readObject(line.messages);
    this.state.hasMessages ||= message !== undefined;
    if (message !== undefined) return { type: readText(message.role) ?? 'message', ...this.#readMessage(message) };
    const [type = 'member'] = Object.keys(line);
    const records = this.#readMember(line);
    return {
      type: readType(type) ?? 'member',
      timestampMs: 'created' in line ? this.state.startedAtMs : undefined,
      records,
    };
  }

  readEnd(): readonly TranscriptRecord[] {
    const records = this.state.ledger === null ? [] : this.#readLedger(this.state.ledger);
    for (const answer of this.state.undated.values()) records.push(this.#toDated(answer, answer.beforeMs));
    this.state.undated.clear();
    return records;
  }

  finish(): void {
    const { messages, ledgerInput, ledgerOutput } = this.state.totals;
    compareTotal('Input tokens of the messages', messages.stated, messages.counted, this.context);
    compareTotal('Input tokens of the ledger', ledgerInput.stated, ledgerInput.counted, this.context);
    compareTotal('Output tokens of the ledger', ledgerOutput.stated, ledgerOutput.counted, this.context);
  }

  /** `totalInputTokens` is the sum of the three input counts. OpenAI bills no cache writes, so they count as input. */
  #toAmpUsage(tokens: JsonObject, model: string | null): Usage | undefined {
    const input = this.#kit.toCount(tokens, 'inputTokens');
    const written = this.#kit.toCount(tokens, 'cacheCreationInputTokens');
    const isFree = model?.startsWith('gpt-') === true;
    return toUsageIfAny({
      inputTokens: isFree ? input + written : input,
      outputTokens: this.#kit.toCount(tokens, 'outputTokens'),
      cacheReadTokens: this.#kit.toCount(tokens, 'cacheReadInputTokens'),
      cacheWriteTokens: isFree ? 0 : written,
    });
  }

  #readMessage(message: JsonObject): { timestampMs: number | undefined; records: TranscriptRecord[] } {
    const tokens = this.#kit.toUsagePart(message, 'usage');
    const meta = readObject(message.meta);
    const ownMs = this.#kit.toTimeMs(tokens?.timestamp ?? message.timestamp ?? meta?.sentAt);
    const beforeMs = this.state.lastMs ?? this.state.startedAtMs;
    this.state.lastMs = ownMs ?? this.state.lastMs;
    const timestampMs = ownMs ?? beforeMs;
    const parentToolUseId = this.#kit.toId(message.parentToolUseId);
    const place = { parentToolUseId, isSidechain: parentToolUseId !== null };
    const base = { timestampMs, uuid: this.#kit.toId(message.dtwMessageID ?? message.protocolMessageID), ...place };
    const identity = typeof message.messageId === 'number' ? `${this.state.threadId ?? ''}/${message.messageId}` : null;
    if (message.role === 'assistant') {
      const answer = this.#toAssistant(message, tokens, base, identity);
      return {
        timestampMs,
        records: ownMs === undefined ? this.#toUndated(message.messageId, answer, beforeMs) : [answer],
      };
    }
    const content = Array.isArray(message.content) ? message.content : [message.content ?? ''];
    if (message.role !== 'user')
      return { timestampMs, records: [newMessage('system', { ...base, blocks: this.#kit.toBlocks(content) })] };
    const isResult = content.some((element) => readObject(element)?.type === 'tool_result');
    const records = isResult
      ? [newMessage('user', { ...base, blocks: content.flatMap((element) => this.#toUserBlocks(element, ownMs)) })]
      : this.#kit.toPromptRecords(content, base, identity);
    return { timestampMs, records };
  }

  #toAssistant(
    message: JsonObject,
    tokens: JsonObject | undefined,
    base: Partial<MessageRecord>,
    identity: string | null,
  ): MessageRecord {
    const model = this.#kit.toId(tokens?.model ?? message.model);
    const usage = tokens && this.#toAmpUsage(tokens, model);
    if (tokens !== undefined && usage !== undefined) this.#observeUsage(message.messageId, tokens, usage);
    const blocks = (Array.isArray(message.content) ? message.content : [message.content ?? '']).flatMap(
      (element): BlockContent[] => {
        const block = readObject(element);
        if (block?.type !== 'tool_use') return this.#kit.toBlocks([element]);
        return this.#kit.toToolUseBlocks({ id: block.id, name: block.name, input: block.input });
      },
    );
    const stopReason = this.#kit.toId(readObject(message.state)?.stopReason) ?? 'stop';
    return newMessage('assistant', {
      ...base,
      model,
      usage,
      stopReason,
      blocks,
      responseId: toResponseId(tokens, usage, identity),
    });
  }

  /** `totalInputTokens` is the sum of the three counts of input. */
  #observeUsage(messageId: JsonValue | undefined, tokens: JsonObject, usage: Usage): void {
    const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
    if (typeof tokens.totalInputTokens === 'number') {
      this.state.totals.messages.stated += this.#kit.toCount(tokens, 'totalInputTokens');
      this.state.totals.messages.counted += input;
    }
    for (const [field, value] of Object.entries(tokens)) {
      if (typeof value !== 'number' || value <= 0 || USAGE_FIELDS.has(field) || !/tokens?$/i.test(field)) continue;
      this.context.report(
        'unknown_usage',
        'notice',
        `Unknown field of usage: ${cutCharacters(field, MAX_TYPE_LENGTH)}`,
      );
    }
    if (typeof messageId !== 'number' || this.state.counted.size >= MAX_REMEMBERED_MESSAGES) return;
    this.state.counted.set(messageId, {
      uncached: this.#kit.toCount(tokens, 'inputTokens'),
      input,
      output: usage.outputTokens,
    });
  }

  /** The answer without a time, which the ledger may state later; the oldest one that waited too long. */
  #toUndated(
    messageId: JsonValue | undefined,
    answer: MessageRecord,
    beforeMs: number | undefined,
  ): TranscriptRecord[] {
    const isNamed = answer.usage === undefined || answer.responseId !== null;
    if (typeof messageId !== 'number' || !isNamed) return [answer];
    const known = answer.usage === undefined ? { group: `amp/${messageId}` } : { responseId: answer.responseId };
    this.state.undated.set(messageId, { known, beforeMs });
    const [oldest] = this.state.undated;
    const isFull = this.state.undated.size > MAX_UNDATED_ANSWERS && oldest !== undefined;
    if (isFull) this.state.undated.delete(oldest[0]);
    const undated = { ...answer, ...known, timestampMs: undefined, timestamp: null };
    return [undated, ...(isFull ? [this.#toDated(oldest[1], oldest[1].beforeMs)] : [])];
  }

  #toDated({ known }: UndatedAnswer, timestampMs: number | undefined): MessageRecord {
    return newMessage('assistant', { ...known, timestampMs });
  }

  /** `{"type":"tool_result","toolUseID":"…","run":{"status":"done","result":…}}` */
  #toUserBlocks(element: JsonValue, timestampMs: number | undefined): BlockContent[] {
    const block = readObject(element);
    if (block?.type !== 'tool_result') return this.#kit.toBlocks([element]);
    const run = readObject(block.run);
    const { status } = run ?? {};
    const isError = status === 'error' || status === 'cancelled' || status === 'rejected-by-user';
    const id = block.toolUseID ?? block.tool_use_id;
    const content = toOutput(run?.result) ?? readText(readObject(run?.error)?.message) ?? block.content;
    return this.#kit.toToolResultBlocks({ id, content, isError, isDenied: status === 'rejected-by-user' }, timestampMs);
  }

  /**
   * `usageLedger.events[]` of older threads. Usage that messages state themselves is not counted again. Credits are not
   * dollars.
   */
  #readLedger(ledger: JsonObject): TranscriptRecord[] {
    return (Array.isArray(ledger.events) ? ledger.events : [])
      .filter(isJsonObject)
      .flatMap((event): TranscriptRecord[] => {
        const { id } = event;
        const toMessageId = typeof event.toMessageId === 'number' ? event.toMessageId : undefined;
        const tokens = this.#kit.toUsagePart(event, 'tokens');
        const timestampMs = this.#kit.toTimeMs(event.timestamp);
        const answer = toMessageId === undefined ? undefined : this.state.undated.get(toMessageId);
        const dated = answer === undefined ? [] : [this.#toDated(answer, timestampMs ?? answer.beforeMs)];
        if (toMessageId !== undefined) this.state.undated.delete(toMessageId);
        const counted = toMessageId === undefined ? undefined : this.state.counted.get(toMessageId);
        if (tokens !== undefined && counted !== undefined) this.#observeLedger(tokens, counted);
        const isCounted = toMessageId === undefined ? this.state.counted.size > 0 : counted !== undefined;
        if (tokens === undefined || isCounted) return dated;
        const usage = toUsageIfAny({
          inputTokens: this.#kit.toCount(tokens, 'input'),
          outputTokens: this.#kit.toCount(tokens, 'output'),
        });
        if (usage === undefined) return dated;
        const responseId = typeof id === 'string' ? `amp-ledger/${id}` : null;
        const group = answer !== undefined && 'group' in answer.known ? { group: answer.known.group } : {};
        const response = {
          usage,
          responseId,
          model: this.#kit.toId(event.model),
          timestampMs,
          stopReason: 'stop',
          ...group,
        };
        return [...dated, newUsageRecord(response)];
      });
  }

  /** The ledger's input contains what was read from the cache and written to it, or leaves out both. */
  #observeLedger(tokens: JsonObject, { uncached, input, output }: AmpCount): void {
    const { ledgerInput, ledgerOutput } = this.state.totals;
    const stated = this.#kit.toCount(tokens, 'input');
    ledgerInput.stated += stated;
    ledgerInput.counted += stated === uncached ? stated : input;
    ledgerOutput.stated += this.#kit.toCount(tokens, 'output');
    ledgerOutput.counted += output;
  }

  #readMember(line: JsonObject): TranscriptRecord[] {
    this.state.threadId = this.#kit.toId(line.id) ?? this.state.threadId;
    this.state.startedAtMs = this.#kit.toTimeMs(line.created) ?? this.state.startedAtMs;
    const ledger = readObject(line.usageLedger);
    if (ledger !== undefined && !this.state.hasMessages) this.state.ledger = ledger;
    const title = readText(line.title);
    const tree = readObject(line.env)?.initial;
    const [folder] = [readObject(tree)?.trees].flat();
    const cwd = readText(readObject(folder)?.uri)?.replace(/^file:\/\//, '') ?? null;
    const git = readObject(readObject(folder)?.repository);
    const session = toSessionRecord({
      sessionId: this.#kit.toId(line.id),
      cwd: cwd === null ? null : this.#kit.toId(cwd),
      repository: toRepositoryUrl(this.#kit.toId(git?.url)),
      commitHash: this.#kit.toId(git?.sha),
    });
    const others = Object.entries(line).filter(([name]) => !READ_MEMBERS.has(name));
    return [
      session ?? [],
      others.flatMap(([name, value]) => this.#unread.read(name, { [name]: value })),
      title === null ? [] : toCutTitle('generated', title),
      ledger === undefined || !this.state.hasMessages ? [] : this.#readLedger(ledger),
    ].flat();
  }
}

/** Forks of a thread copy its messages with their times and counts, but under another thread id. */
function toResponseId(
  tokens: JsonObject | undefined,
  usage: Usage | undefined,
  identity: string | null,
): string | null {
  if (usage === undefined) return null;
  const time = readText(tokens?.timestamp);
  if (time === null) return identity === null ? null : `amp/${identity}`;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return `amp/${time}/${inputTokens}.${outputTokens}.${cacheReadTokens}.${cacheWriteTokens}`;
}

function toOutput(result: JsonValue | undefined): JsonValue | undefined {
  if (result === undefined || result === null) return undefined;
  const output = readObject(result)?.output ?? readObject(result)?.content;
  if (typeof output === 'string') return output;
  if (typeof result === 'string' || Array.isArray(result)) return result;
  return isNestedDeeperThan(result, MAX_STORED_JSON_DEPTH) ? undefined : JSON.stringify(result);
}
