import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import type { Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import {
  createReaderKit,
  type ReaderKit,
  toReportedCost,
  toSessionRecord,
  toSoldModel,
  toUsageIfAny,
} from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines, reportUnknownCounts, type UnreadTypes } from '../unread-lines.ts';
import { toImages } from './content.ts';
import { CLINE_TOOLS } from './task-types.ts';

/** Members of the document that are not read. */
const UNREAD: UnreadTypes = {
  version: { why: 'of the format' },
  updated_at: { why: 'when the file was written' },
  taskType: { why: 'repeats what kind of agent it is' },
  system_prompt: { why: 'the same in all sessions; the working folder is read from it', mayHold: ['system_prompt'] },
};

const METRICS: ReadonlySet<string> = new Set([
  ...['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'cost'],
]);

/** In the system prompt: `4. Working Directory: /home/ada/app`. */
const FOLDER = /^\s*(?:\d+\.\s*)?(?:Current )?Working Directory:\s*(\S.*)$/im;
/** Text that the runtime writes around a prompt, and into it. */
const WRAPPER = /<\/?user_(?:input|command)\b[^>]*>/g;
const NOTICE = /<mode_notice>[\s\S]*?<\/mode_notice>\s*/g;
/** Ids that Cline itself gives the answers of its requests; imported ones get others. */
const OWN_ID = /^msg_/;

interface ClineSessionState {
  isSubagent: boolean;
  agentId: string | null;
  version: string | null;
  /** True if the session was imported from another agent. */
  isImport: boolean;
}

/**
 * Reads `<id>.messages.json` of a session of Cline 3: a document with its messages, whose answers carry what their
 * request used.
 * https://github.com/cline/cline sdk/packages/core/docs/messages-contract-v1.md
 */
export function createClineSessionReader(
  context: ReaderContext,
  state: ClineSessionState = { isSubagent: false, agentId: null, version: null, isImport: false },
): Reader {
  return new ClineSessionReader(context, state);
}

class ClineSessionReader extends StatefulReader<ClineSessionState> {
  readonly #kit = createReaderKit(this.context, CLINE_TOOLS);
  readonly #unread = createUnreadLines(UNREAD, this.context);

  read(line: JsonObject): ReadLine {
    const [type = 'member'] = Object.keys(line);
    const timestampMs = type === 'messages' ? this.#kit.toTimeMs(readObject(line.messages)?.ts) : undefined;
    return { type, timestampMs, records: this.#readMember(type, line, timestampMs) };
  }

  #readOrigin(origin: JsonObject): TranscriptRecord[] {
    this.state.isSubagent ||= readText(origin.parentThreadId) !== null;
    this.state.agentId = this.#kit.toId(origin.subagent) ?? this.state.agentId;
    this.state.version = this.#kit.toId(origin.version) ?? this.state.version;
    this.state.isImport ||= origin.mode === 'import';
    const session = toSessionRecord({ version: this.state.version, entrypoint: this.#kit.toId(origin.source) });
    return session === undefined ? [] : [session];
  }

  #readUser(message: JsonObject, known: Partial<MessageRecord>): TranscriptRecord[] {
    const elements = toElements(message.content);
    const results = elements.filter((element) => element.type === 'tool_result');
    const others = elements.filter((element) => element.type !== 'tool_result').map(toApiElement);
    const records: TranscriptRecord[] = [];
    if (results.length > 0) {
      const blocks = results.flatMap((result) =>
        this.#kit.toToolResultBlocks(toResultSource(result), known.timestampMs),
      );
      records.push(newMessage('user', { ...known, blocks }));
    }
    if (others.length === 0) return records;
    const { kind, displayRole } = readObject(message.metadata) ?? {};
    if (typeof kind === 'string' || typeof displayRole === 'string' || results.length > 0) {
      return [
        ...records,
        newMessage('user', { ...known, metadata: { isMeta: true }, blocks: this.#kit.toBlocks(others) }),
      ];
    }
    return [...records, ...this.#toPrompt(others, known)];
  }

  #toPrompt(elements: JsonObject[], known: Partial<MessageRecord>): TranscriptRecord[] {
    const unwrapped = elements.map((element) =>
      typeof element.text === 'string' ? { ...element, text: element.text.replaceAll(WRAPPER, '').trim() } : element,
    );
    const typed = unwrapped.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : []));
    const prompt = typed.map((text) => text.replaceAll(NOTICE, '').trim()).find((text) => text !== '');
    return this.#kit
      .toPromptRecords(unwrapped, known, known.uuid ?? null)
      .map((record) =>
        record.kind === 'message' && prompt !== undefined
          ? { ...record, promptText: this.#kit.toPromptText(prompt) }
          : record,
      );
  }

  #readAnswer(message: JsonObject, known: Partial<MessageRecord>): TranscriptRecord[] {
    const provider = this.#kit.toId(readObject(message.modelInfo)?.provider);
    const model = toSoldModel(this.#kit.toId(readObject(message.modelInfo)?.id), provider);
    const metrics = this.#kit.toUsagePart(message, 'metrics');
    // The usage of another agent is in its own transcripts.
    const isCounted = !this.state.isImport || OWN_ID.test(known.uuid ?? '');
    if (isCounted) reportUnknownCounts(metrics, METRICS, this.context);
    const usage = metrics && isCounted ? readMetrics(metrics, this.#kit) : undefined;
    const reportedCostUsd = usage && metrics ? toReportedCost(this.#kit.toDollars(metrics, 'cost')) : null;
    const responseId = usage === undefined ? null : toResponseId(message, this.context.sessionId);
    const activities = toActivities(message);
    const blocks = [
      ...activities.flatMap((activity) => this.#toCallBlocks({ ...activity, id: activity.toolCallId ?? null })),
      ...toElements(message.content).flatMap((element) =>
        element.type === 'tool_use' ? this.#toCallBlocks(element) : this.#kit.toBlocks([toApiElement(element)]),
      ),
    ];
    const response = { responseId, usage, model, reportedCostUsd, stopReason: metrics === undefined ? null : 'stop' };
    const metadata = provider === null ? {} : { provider };
    const results = activities.flatMap((activity) => this.#toActivityResult(activity, known.timestampMs));
    return [
      newMessage('assistant', { ...known, ...response, metadata, blocks }),
      ...(results.length === 0 ? [] : [newMessage('user', { timestampMs: known.timestampMs, blocks: results })]),
    ];
  }

  #toCallBlocks(call: JsonObject): BlockContent[] {
    const name = readText(call.name ?? call.toolName) ?? 'unknown';
    // MCP tools are named `server__tool`.
    const mcpServer = /^(.+?)__/.exec(name)?.[1] ?? null;
    return this.#kit.toToolUseBlocks({
      id: call.id,
      name,
      input: call.input ?? null,
      mcpServer,
      facts: toFacts(call.input),
    });
  }

  /** The result of a tool that the provider ran during the request. */
  #toActivityResult(activity: JsonObject, timestampMs: number | undefined): BlockContent[] {
    if (activity.output === undefined) return [];
    const result = { tool_use_id: activity.toolCallId ?? null, content: activity.output, is_error: activity.isError };
    return this.#kit.toToolResultBlocks(toResultSource(result as JsonObject), timestampMs);
  }

  #readMessage(message: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const known = {
      timestampMs,
      uuid: this.#kit.toId(message.id),
      isSidechain: this.state.isSubagent,
      agentId: this.state.isSubagent ? this.state.agentId : null,
      agentVersion: this.state.version,
    };
    return message.role === 'assistant' ? this.#readAnswer(message, known) : this.#readUser(message, known);
  }

  #readMember(type: string, line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const object = readObject(line[type]);
    switch (type) {
      case 'sessionId':
        return [toSessionRecord({ sessionId: this.#kit.toId(line.sessionId) }) ?? []].flat();
      case 'agent':
        this.state.isSubagent = typeof line.agent === 'string' && line.agent !== 'lead';
        return [];
      case 'origin':
        return object === undefined ? [] : this.#readOrigin(object);
      case 'messages':
        return object === undefined ? [] : this.#readMessage(object, timestampMs);
      case 'system_prompt': {
        const cwd = FOLDER.exec(readText(line.system_prompt) ?? '')?.[1]?.trim() ?? null;
        return [toSessionRecord({ cwd }) ?? []].flat();
      }
      default:
        return this.#unread.read(type, line);
    }
  }
}

/**
 * `inputTokens` includes what was read from the cache and written to it, as the AI SDK counts; providers that Cline
 * asks without it count the cache apart, which shows if it is larger.
 * https://github.com/cline/cline sdk/packages/core/src/services/agent-events.ts
 */
function readMetrics(metrics: JsonObject, kit: ReaderKit): Usage | undefined {
  const cacheReadTokens = kit.toCount(metrics, 'cacheReadTokens');
  const cacheWriteTokens = kit.toCount(metrics, 'cacheWriteTokens');
  const input = kit.toCount(metrics, 'inputTokens');
  const cached = cacheReadTokens + cacheWriteTokens;
  return toUsageIfAny({
    inputTokens: input >= cached ? input - cached : input,
    outputTokens: kit.toCount(metrics, 'outputTokens'),
    cacheReadTokens,
    cacheWriteTokens,
  });
}

/** The same in forks, which copy messages with their ids and times. */
function toResponseId({ id, ts }: JsonObject, sessionId = ''): string {
  const own = readText(id);
  return `cline/${own === null ? sessionId : own.slice(0, 200)}/${typeof ts === 'number' ? ts : ''}`;
}

/** Tools that the provider ran: `metadata.modelToolActivities[{toolCallId, toolName, input, output, isError}]`. */
function toActivities({ metadata }: JsonObject): JsonObject[] {
  const activities = readObject(metadata)?.modelToolActivities;
  return Array.isArray(activities) ? activities.filter(isJsonObject) : [];
}

function toElements(content: JsonValue | undefined): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return (Array.isArray(content) ? content : []).filter(isJsonObject);
}

/** Cline's blocks in the shape of the Anthropic API. */
function toApiElement(element: JsonObject): JsonObject {
  switch (element.type) {
    case 'image': {
      const { mediaType, data } = element;
      const isUrl = typeof data === 'string' && /^(?:data|https?):/.test(data);
      if (isUrl) return toImages([data])[0] ?? element;
      return { type: 'image', source: { type: 'base64', media_type: mediaType ?? null, data: data ?? null } };
    }
    case 'file': {
      const source = { type: 'text', media_type: 'text/plain', data: element.content ?? '' };
      return { type: 'document', title: element.path ?? null, source };
    }
    case 'media':
      return { type: 'image', source: readObject(element.media) ?? {} };
    default:
      return element;
  }
}

/**
 * A result's content, as a text, blocks, or one object for each part of the call, such as
 * `{"query":"ls","result":"…","success":true}`.
 */
function toResultSource({ tool_use_id: id = null, content = null, is_error: isError }: JsonObject) {
  const parts = Array.isArray(content) ? content : [content];
  const objects = parts.filter(isJsonObject);
  const hasFailed = objects.length > 0 && objects.every(({ success }) => success === false);
  const blocks = parts.map((part): JsonObject => {
    const object = readObject(part);
    if (object === undefined) return { type: 'text', text: typeof part === 'string' ? part : JSON.stringify(part) };
    if (typeof object.type === 'string') return toApiElement(object);
    const texts = [object.result, object.error].filter((text) => typeof text === 'string' && text !== '');
    return { type: 'text', text: texts.length > 0 ? texts.join('\n') : JSON.stringify(object) };
  });
  return { id, content: typeof content === 'string' ? content : blocks, isError: isError === true || hasFailed };
}

/** The first file or command of a call for several: `{files:[{path}]}`, `{commands:["git log"]}`. */
function toFacts(input: JsonValue | undefined): JsonObject {
  const object = readObject(input) ?? {};
  const first = (value: JsonValue | undefined): JsonValue | undefined => (Array.isArray(value) ? value[0] : value);
  const file = first(object.files ?? object.file_paths ?? object.paths);
  const command = first(object.commands);
  return {
    ...object,
    ...(typeof file === 'string' ? { path: file } : readObject(file)),
    ...(typeof command === 'string' ? { command } : readObject(command)),
  };
}
