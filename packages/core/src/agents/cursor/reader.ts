import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, TranscriptRecord } from '../../records/records.ts';
import type { Reader, ReaderContext, ReaderLine, ReadLine } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import {
  createReaderKit,
  type ReaderKit,
  readType,
  type ToolVocabulary,
  toSessionRecord,
  toUsageIfAny,
} from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines, reportUnknownCounts, type UnreadTypes } from '../unread-lines.ts';
import { splitUserContent } from './user-content.ts';

/** The names of tools in Cursor's agent. */
export const TOOLS: ToolVocabulary = {
  read: ['read', 'read_file', 'readfile', 'read_lints', 'readlints'],
  edit: [
    'edit',
    'write',
    'strreplace',
    'str_replace',
    'edit_file',
    'search_replace',
    'delete',
    'delete_file',
    'applypatch',
    'editnotebook',
  ],
  shell: ['shell', 'bash', 'run_terminal_cmd', 'awaitshell', 'await'],
  search: ['grep', 'glob', 'ls', 'list_dir', 'codebase_search', 'semanticsearch', 'semsearch', 'file_search'],
  web: ['web_search', 'websearch', 'fetch', 'webfetch', 'web_fetch'],
  agent: ['task', 'agent', 'subagent'],
  skill: ['skill'],
  mcp: ['mcp', 'callmcptool', 'fetchmcpresource'],
  plan: ['todowrite', 'todo_write', 'updatetodos', 'createplan', 'switchmode', 'update_current_step'],
  question: ['askquestion', 'ask_question'],
};

/** Thinking comes in pieces; anything longer is cut. */
const MAX_THOUGHT_CHARACTERS = 256 * 1024;
/** Lines of transcripts and streams that are not read. */
const UNREAD_LINES: UnreadTypes = {
  turn_started: { why: 'marks a turn' },
  turn_ended: { why: 'marks a turn', mayHold: ['error'] },
  interaction_query: { why: 'asks people who watch the run', mayHold: ['query', 'request', 'response'] },
  retry: { why: 'tells people who watch the run that a request is repeated', mayHold: ['message', 'error'] },
  connection: { why: 'tells people who watch the run about the connection', mayHold: ['message', 'error'] },
};
const USAGE_FIELDS: ReadonlySet<string> = new Set([
  ...['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'totalTokens'],
]);

/**
 * Reads transcripts of Cursor's agent, which have roles and content. They have no ids, times, models or usage, so their
 * cost is unknown.
 */
export function createCursorReader(context: ReaderContext): Reader {
  const kit = createReaderKit(context, TOOLS);
  const unread = createUnreadLines(UNREAD_LINES, context);
  return {
    state: {},
    read(line) {
      const role = readText(line.role);
      const type = role ?? readType(line.type);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.timestamp ?? line.timestamp_ms);
      const content = readObject(line.message)?.content;
      if (role === 'user') return { type, timestampMs, records: readUser(content, { timestampMs }, kit) };
      if (role === 'assistant') {
        const message = newMessage('assistant', { timestampMs, blocks: toBlocks(content, kit, timestampMs) });
        return { type, timestampMs, records: [message] };
      }
      if (role === 'system') {
        const message = newMessage('system', { timestampMs, blocks: kit.toBlocks(content) });
        return { type, timestampMs, records: [message] };
      }
      return { type, timestampMs, records: unread.read(type, line) };
    },
  };
}

interface CursorStreamState {
  sessionId: string | null;
  model: string | null;
  thought: string;
  runCount: number;
}

/** Reads the output of `cursor-agent --output-format stream-json`. Newer versions report the run's usage at the end. */
export function createCursorStreamReader(
  context: ReaderContext,
  state: CursorStreamState = { sessionId: null, model: null, thought: '', runCount: 0 },
): Reader {
  return new CursorStreamReader(context, state);
}

class CursorStreamReader extends StatefulReader<CursorStreamState> {
  readonly #kit = createReaderKit(this.context, TOOLS);
  readonly #unread = createUnreadLines(UNREAD_LINES, this.context);

  read(line: JsonObject, { arrivalMs }: ReaderLine): ReadLine {
    const type = readType(line.type);
    if (type === undefined) return { type, timestampMs: undefined, records: [] };
    const timestampMs = this.#kit.toTimeMs(line.timestamp_ms ?? line.timestamp) ?? arrivalMs;
    return { type, timestampMs, records: this.#readLine(type, line, timestampMs) };
  }

  #readThinking(line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const isEnd = line.subtype === 'completed';
    this.state.thought = cutCharacters(this.state.thought + (readText(line.text) ?? ''), MAX_THOUGHT_CHARACTERS);
    if (!isEnd || this.state.thought === '') return [];
    const blocks = this.#kit.toBlocks([{ type: 'thinking', thinking: this.state.thought }]);
    this.state.thought = '';
    return [newMessage('assistant', { timestampMs, model: this.state.model, blocks })];
  }

  /** `{"tool_call":{"readToolCall":{"args":{…},"result":{…}}}}` */
  #readToolCall(line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const [key = 'unknown', value] = Object.entries(readObject(line.tool_call) ?? {})[0] ?? [];
    const call = readObject(value);
    const name = readText(call?.name) ?? key.replace(/ToolCall$/, '');
    if (line.subtype === 'started') {
      const blocks = this.#kit.toToolUseBlocks({ id: line.call_id, name, input: call?.args ?? call?.arguments });
      return [newMessage('assistant', { timestampMs, model: this.state.model, blocks })];
    }
    const result = readObject(call?.result);
    const error = result?.error ?? result?.failure;
    const isDenied = result?.rejected !== undefined || result?.permissionDenied !== undefined;
    const outcome = readObject(result?.success) ?? result ?? {};
    const exitCode = outcome.exitCode;
    const isError = error !== undefined || isDenied || (typeof exitCode === 'number' && exitCode !== 0);
    const content = toOutput(error ?? outcome);
    return [this.#kit.toToolResultMessage({ id: line.call_id, content, isError, isDenied }, { timestampMs })];
  }

  #readResult(line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const tokens = this.#kit.toUsagePart(line, 'usage');
    this.state.runCount++;
    reportUnknownCounts(tokens, USAGE_FIELDS, this.context);
    const usage =
      tokens &&
      toUsageIfAny({
        inputTokens: this.#kit.toCount(tokens, 'inputTokens'),
        outputTokens: this.#kit.toCount(tokens, 'outputTokens'),
        cacheReadTokens: this.#kit.toCount(tokens, 'cacheReadTokens'),
        cacheWriteTokens: this.#kit.toCount(tokens, 'cacheWriteTokens'),
      });
    if (usage === undefined) return [];
    if (typeof tokens?.totalTokens === 'number') {
      const counted = usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
      compareTotal('Tokens of a run', this.#kit.toCount(tokens, 'totalTokens'), counted, this.context);
    }
    const responseId = `cursor-run/${this.state.sessionId ?? ''}/${readText(line.request_id) ?? this.state.runCount}`;
    return [newUsageRecord({ usage, responseId, timestampMs, model: this.state.model, stopReason: 'stop' })];
  }

  #readLine(type: string, line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const content = readObject(line.message)?.content;
    switch (type) {
      case 'system': {
        this.state.sessionId = this.#kit.toId(line.session_id);
        this.state.model = this.#kit.toId(line.model);
        return [toSessionRecord({ sessionId: this.state.sessionId, cwd: this.#kit.toId(line.cwd) }) ?? []].flat();
      }
      case 'user':
        return readUser(content, { timestampMs }, this.#kit);
      case 'assistant': {
        const { model } = this.state;
        return [newMessage('assistant', { timestampMs, model, blocks: toBlocks(content, this.#kit, timestampMs) })];
      }
      case 'thinking':
        return this.#readThinking(line, timestampMs);
      case 'tool_call':
        return this.#readToolCall(line, timestampMs);
      case 'result':
        return this.#readResult(line, timestampMs);
      default:
        return this.#unread.read(type, line);
    }
  }
}

/** Context that Cursor added is a separate message, before what a person typed. */
export function readUser(
  content: JsonValue | undefined,
  known: { timestampMs?: number | undefined; uuid?: string | null },
  kit: ReaderKit,
): TranscriptRecord[] {
  const elements = Array.isArray(content) ? content : [content ?? ''];
  if (elements.some((element) => /^tool[-_]result$/.test(readText(readObject(element)?.type) ?? ''))) {
    return [newMessage('user', { ...known, blocks: toBlocks(content, kit, known.timestampMs) })];
  }
  const { added, typed } = splitUserContent(content);
  if (added.length === 0) return kit.toPromptRecords(typed, known, known.uuid ?? null);
  const { timestampMs } = known;
  const context = newMessage('user', { timestampMs, metadata: { isMeta: true }, blocks: kit.toBlocks(added) });
  return typed.length === 0 ? [context] : [context, ...kit.toPromptRecords(typed, known, known.uuid ?? null)];
}

/** Content blocks, including tool calls and results in any of Cursor's spellings. */
export function toBlocks(
  content: JsonValue | undefined,
  kit: ReaderKit,
  timestampMs: number | undefined,
): BlockContent[] {
  return (Array.isArray(content) ? content : [content ?? '']).flatMap((element): BlockContent[] => {
    const block = readObject(element);
    const type = readText(block?.type)?.replace('-', '_');
    if (block === undefined || type === undefined) return kit.toBlocks([element]);
    if (type === 'tool_use' || type === 'tool_call') {
      return kit.toToolUseBlocks({
        id: block.id ?? block.toolCallId,
        name: block.name ?? block.toolName,
        input: block.input ?? block.args,
      });
    }
    if (type !== 'tool_result') return kit.toBlocks([toApiElement(block)]);
    const id = block.tool_use_id ?? block.toolCallId;
    return kit.toToolResultBlocks(
      { id, content: block.content ?? block.result, isError: block.is_error === true },
      timestampMs,
    );
  });
}

/** Converts thinking to the shape of the Anthropic API; other elements already have it. */
function toApiElement(part: JsonObject): JsonObject {
  if (part.type === 'reasoning') {
    return { type: 'thinking', thinking: part.text ?? '', signature: part.signature ?? null };
  }
  return part.type === 'redacted-reasoning' ? { type: 'redacted_thinking', data: part.data ?? '' } : part;
}

function toOutput(value: JsonValue): JsonValue {
  const fields = readObject(value);
  if (fields === undefined) return value;
  const text = [fields.content, fields.output, fields.stdout, fields.message, fields.errorMessage].find(
    (field) => typeof field === 'string',
  );
  return text ?? null;
}
