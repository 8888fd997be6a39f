import { isNestedDeeperThan, MAX_STORED_JSON_DEPTH } from '../../lines/inline-limit.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { toRepository } from '../../records/repository.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';
import type { Usage } from '../../usage/usage.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { newMessage, newUsageRecord } from '../new-records.ts';
import {
  createReaderKit,
  readType,
  type ToolVocabulary,
  toCutTitle,
  toSessionRecord,
  toUsageIfAny,
} from '../reader-kit.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../records.ts';

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

/** Messages with usage of their own, remembered because the ledger repeats it. */
const MAX_REMEMBERED_MESSAGES = 20_000;

interface AmpThreadState {
  threadId: string | null;
  startedAtMs: number | undefined;
  counted: Set<number>;
}

/** Reads the document that `amp threads export` prints, and threads that older versions of Amp kept locally. */
export function createAmpThreadReader(
  context: ReaderContext,
  state: AmpThreadState = { threadId: null, startedAtMs: undefined, counted: new Set() },
): Reader {
  const kit = createReaderKit(context, TOOLS);

  /** `totalInputTokens` is the sum of the three input counts. OpenAI bills no cache writes: they count as input. */
  const toAmpUsage = (tokens: JsonObject, model: string | null): Usage | undefined => {
    const input = kit.toCount(tokens, 'inputTokens');
    const written = kit.toCount(tokens, 'cacheCreationInputTokens');
    const isFree = model?.startsWith('gpt-') === true;
    return toUsageIfAny({
      inputTokens: isFree ? input + written : input,
      outputTokens: kit.toCount(tokens, 'outputTokens'),
      cacheReadTokens: kit.toCount(tokens, 'cacheReadInputTokens'),
      cacheWriteTokens: isFree ? 0 : written,
    });
  };

  const readMessage = (message: JsonObject): { timestampMs: number | undefined; records: TranscriptRecord[] } => {
    const tokens = readObject(message.usage);
    const meta = readObject(message.meta);
    const timestampMs = kit.toTimeMs(tokens?.timestamp ?? message.timestamp ?? meta?.sentAt) ?? state.startedAtMs;
    const parentToolUseId = kit.toId(message.parentToolUseId);
    const place = { parentToolUseId, isSidechain: parentToolUseId !== null };
    const base = { timestampMs, uuid: kit.toId(message.dtwMessageID ?? message.protocolMessageID), ...place };
    const identity = typeof message.messageId === 'number' ? `${state.threadId ?? ''}/${message.messageId}` : null;
    if (message.role === 'assistant') return { timestampMs, records: [toAssistant(message, tokens, base, identity)] };
    const content = Array.isArray(message.content) ? message.content : [message.content ?? ''];
    if (message.role !== 'user')
      return { timestampMs, records: [newMessage('system', { ...base, blocks: kit.toBlocks(content) })] };
    const isResult = content.some((element) => readObject(element)?.type === 'tool_result');
    const records = isResult
      ? [newMessage('user', { ...base, blocks: content.flatMap((element) => toUserBlocks(element, timestampMs)) })]
      : kit.toPromptRecords(content, base, identity);
    return { timestampMs, records };
  };

  const toAssistant = (
    message: JsonObject,
    tokens: JsonObject | undefined,
    base: Partial<MessageRecord>,
    identity: string | null,
  ): MessageRecord => {
    const model = kit.toId(tokens?.model ?? message.model);
    const usage = tokens && toAmpUsage(tokens, model);
    const { messageId } = message;
    if (usage !== undefined && typeof messageId === 'number' && state.counted.size < MAX_REMEMBERED_MESSAGES)
      state.counted.add(messageId);
    const blocks = (Array.isArray(message.content) ? message.content : [message.content ?? '']).flatMap(
      (element): BlockContent[] => {
        const block = readObject(element);
        if (block?.type !== 'tool_use') return kit.toBlocks([element]);
        return kit.toToolUseBlocks({ id: block.id, name: block.name, input: block.input });
      },
    );
    const stopReason = kit.toId(readObject(message.state)?.stopReason) ?? 'stop';
    return newMessage('assistant', {
      ...base,
      model,
      usage,
      stopReason,
      blocks,
      responseId: toResponseId(tokens, usage, identity),
    });
  };

  /** `{"type":"tool_result","toolUseID":"…","run":{"status":"done","result":…}}` */
  const toUserBlocks = (element: JsonValue, timestampMs: number | undefined): BlockContent[] => {
    const block = readObject(element);
    if (block?.type !== 'tool_result') return kit.toBlocks([element]);
    const run = readObject(block.run);
    const { status } = run ?? {};
    const isError = status === 'error' || status === 'cancelled' || status === 'rejected-by-user';
    const id = block.toolUseID ?? block.tool_use_id;
    const content = toOutput(run?.result) ?? readText(readObject(run?.error)?.message) ?? block.content;
    return kit.toToolResultBlocks({ id, content, isError, isDenied: status === 'rejected-by-user' }, timestampMs);
  };

  /**
   * `usageLedger.events[]` of older threads. Usage that messages state themselves is not counted again. Credits are not
   * dollars.
   */
  const readLedger = (ledger: JsonObject): TranscriptRecord[] =>
    (Array.isArray(ledger.events) ? ledger.events : []).filter(isJsonObject).flatMap((event): TranscriptRecord[] => {
      const { toMessageId, id } = event;
      const tokens = readObject(event.tokens);
      const isCounted = typeof toMessageId === 'number' ? state.counted.has(toMessageId) : state.counted.size > 0;
      if (tokens === undefined || isCounted) return [];
      const usage = toUsageIfAny({
        inputTokens: kit.toCount(tokens, 'input'),
        outputTokens: kit.toCount(tokens, 'output'),
      });
      if (usage === undefined) return [];
      const responseId = typeof id === 'string' ? `amp-ledger/${id}` : null;
      const timestampMs = kit.toTimeMs(event.timestamp);
      return [newUsageRecord({ usage, responseId, model: kit.toId(event.model), timestampMs, stopReason: 'stop' })];
    });

  const readMember = (line: JsonObject): TranscriptRecord[] => {
    state.threadId = kit.toId(line.id) ?? state.threadId;
    state.startedAtMs = kit.toTimeMs(line.created) ?? state.startedAtMs;
    const ledger = readObject(line.usageLedger);
    const title = readText(line.title);
    const tree = readObject(line.env)?.initial;
    const [folder] = [readObject(tree)?.trees].flat();
    const cwd = readText(readObject(folder)?.uri)?.replace(/^file:\/\//, '') ?? null;
    const git = readObject(readObject(folder)?.repository);
    const session = toSessionRecord({
      sessionId: kit.toId(line.id),
      cwd: cwd === null ? null : kit.toId(cwd),
      repository: toRepository(kit.toId(git?.url)),
      commitHash: kit.toId(git?.sha),
    });
    return [
      session ?? [],
      title === null ? [] : toCutTitle('generated', title),
      ledger === undefined ? [] : readLedger(ledger),
    ].flat();
  };

  return {
    state,
    read(line) {
      const message = readObject(line.messages);
      if (message !== undefined) return { type: readText(message.role) ?? 'message', ...readMessage(message) };
      const [type = 'member'] = Object.keys(line);
      const records = readMember(line);
      return {
        type: readType(type) ?? 'member',
        timestampMs: 'created' in line ? state.startedAtMs : undefined,
        records,
      };
    },
  };
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
