import type { JsonObject } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import { toFinalUsage, type Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { toApiBlocks, toText } from '../gemini/parts.ts';
import { GEMINI_TOOLS } from '../gemini/reader.ts';
import { createReaderKit, readType, toCutTitle, toSessionRecord } from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines } from '../unread-lines.ts';
import { type TelemetryEvent, toSubagentResponseId, toTelemetryEvent } from './telemetry.ts';
import { UNREAD_EVENTS, UNREAD_TYPES } from './unread-types.ts';
import { addUsage, NO_TOKENS, type QwenSum, toMessageUsage, toTelemetryUsage } from './usage.ts';

interface QwenReaderState {
  /** The last line that was a response. Lines directly after it with the same usage belong to the same response. */
  last: { uuid: string; promptTokens: number; responseId: string; usage: Usage | undefined } | undefined;
  branch: string | null;
  version: string | null;
  /** Responses of the main loop since the first that the telemetry has. */
  totals: { telemetry: QwenSum; messages: QwenSum } | undefined;
  isCompressed: boolean;
}

const CLASSES = [
  ['input', 'Input tokens without cache'],
  ['cached', 'Cached tokens'],
  ['output', 'Output tokens'],
] as const;
/** Lines of users that are prompts although they have a subtype. */
const PROMPT_SUBTYPES = new Set<unknown>([undefined, 'mid_turn_user_message', 'realtime_message']);

/**
 * Reads session files of Qwen Code, with lines that form a tree by `uuid` and `parentUuid`, with messages of the Gemini
 * API. Sub-agents' usage is in their parent's telemetry; from version 0.24 on, they have separate files as well.
 */
export function createQwenReader(context: ReaderContext, state: QwenReaderState = createState()): Reader {
  return new QwenReader(context, state);
}

class QwenReader extends StatefulReader<QwenReaderState> {
  readonly #kit = createReaderKit(this.context, GEMINI_TOOLS);
  readonly #unread = createUnreadLines(UNREAD_TYPES, this.context);
  readonly #unreadEvents = createUnreadLines(UNREAD_EVENTS, this.context);

  read(line: JsonObject): ReadLine {
    const type = readType(line.type);
    if (type === undefined) return { type, timestampMs: undefined, records: [] };
    const timestampMs = this.#kit.toTimeMs(line.timestamp);
    this.state.branch = this.#kit.toId(line.gitBranch) ?? this.state.branch;
    this.state.version = this.#kit.toId(line.version) ?? this.state.version;
    const { branch: gitBranch, version } = this.state;
    const session = toSessionRecord({
      sessionId: this.#kit.toId(line.sessionId),
      cwd: this.#kit.toId(line.cwd),
      gitBranch,
      version,
    });
    const agentId = this.#kit.toId(line.agentId);
    const base = { timestampMs, uuid: this.#kit.toId(line.uuid), parentUuid: this.#kit.toId(line.parentUuid), agentId };
    const isSidechain = line.isSidechain === true;
    const records = this.#readKnown(type, line, { ...base, isSidechain }) ?? this.#unread.read(type, line);
    return { type, timestampMs, records: [session ?? [], records].flat() };
  }

  finish(): void {
    // A compression is a request without a message.
    if (this.state.totals === undefined || this.state.isCompressed) return;
    const { telemetry, messages } = this.state.totals;
    for (const [name, label] of CLASSES) compareTotal(label, telemetry[name], messages[name], this.context);
  }

  #readAssistant(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const parts = readObject(line.message)?.parts;
    const blocks = (Array.isArray(parts) ? parts : []).flatMap((part): BlockContent[] => {
      const block = readObject(part);
      const call = readObject(block?.functionCall);
      if (call !== undefined) return this.#kit.toToolUseBlocks({ id: call.id, name: call.name, input: call.args });
      if (block?.thought === true) return this.#kit.toBlocks([{ type: 'thinking', thinking: block.text ?? '' }]);
      return this.#kit.toBlocks(toApiBlocks([part]));
    });
    const tokens = this.#kit.toUsagePart(line, 'usageMetadata');
    const usage = tokens && toMessageUsage(tokens, this.#kit);
    const promptTokens = tokens === undefined ? 0 : this.#kit.toCount(tokens, 'promptTokenCount');
    const uuid = base.uuid ?? null;
    const sameId = this.#toSameResponseId(line, promptTokens);
    const responseId = sameId ?? this.#toSidechainId(line, base, usage) ?? uuid;
    this.#countMessage(usage, sameId === undefined ? undefined : this.state.last?.usage);
    if (uuid !== null) this.state.last = { uuid, promptTokens, responseId: responseId ?? uuid, usage };
    const { branch: gitBranch, version: agentVersion } = this.state;
    const about = { gitBranch, agentVersion, stopReason: 'stop' };
    return [
      newMessage('assistant', { ...base, ...about, model: this.#kit.toId(line.model), usage, responseId, blocks }),
    ];
  }

  /** Some versions write a response on several lines, each with cumulative counts. */
  #toSameResponseId(line: JsonObject, promptTokens: number): string | undefined {
    const { last } = this.state;
    const isSame = last !== undefined && last.uuid === line.parentUuid && last.promptTokens === promptTokens;
    return isSame && promptTokens > 0 ? last.responseId : undefined;
  }

  /** A response in a sub-agent's own file, which its parent's telemetry has, too. */
  #toSidechainId(line: JsonObject, base: Partial<MessageRecord>, usage: Usage | undefined): string | null {
    const sessionId = this.#kit.toId(line.sessionId);
    const agentId = base.agentId ?? null;
    if (base.isSidechain !== true || usage === undefined || sessionId === null || agentId === null) return null;
    return toSubagentResponseId(sessionId, agentId, usage);
  }

  /** The message directly before the first event, if the event is about it. Some lines come in this order. */
  #toMirrored(usage: Usage): QwenSum {
    const sum = addUsage(NO_TOKENS, usage);
    const before = addUsage(NO_TOKENS, this.state.last?.usage);
    return CLASSES.every(([name]) => sum[name] === before[name]) ? before : NO_TOKENS;
  }

  #countMessage(usage: Usage | undefined, earlier: Usage | undefined): void {
    if (this.state.totals === undefined || usage === undefined) return;
    const { messages } = this.state.totals;
    const final = earlier === undefined ? usage : toFinalUsage(earlier, usage);
    const before = earlier === undefined ? NO_TOKENS : addUsage(NO_TOKENS, earlier);
    const after = addUsage(messages, final);
    this.state.totals.messages = {
      input: after.input - before.input,
      cached: after.cached - before.cached,
      output: after.output - before.output,
    };
  }

  #readUser(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    this.state.last = undefined;
    const parts = readObject(line.message)?.parts;
    const results = (Array.isArray(parts) ? parts : [])
      .map((part) => readObject(readObject(part)?.functionResponse))
      .filter((result) => result !== undefined);
    if (results.length > 0) {
      const status = readObject(line.toolCallResult)?.status;
      const blocks = results.flatMap((result) => {
        const response = readObject(result.response);
        const isError = status === 'error' || status === 'cancelled' || response?.error !== undefined;
        const content = response?.output ?? response?.error ?? readText(readObject(line.toolCallResult)?.resultDisplay);
        const source = { id: result.id, content: typeof content === 'object' ? null : content, isError };
        return this.#kit.toToolResultBlocks({ ...source, isDenied: status === 'cancelled' }, base.timestampMs);
      });
      return [newMessage('user', { ...base, blocks })];
    }
    const content = toApiBlocks(parts);
    const shown = readText(readObject(line.systemPayload)?.displayText);
    if (!PROMPT_SUBTYPES.has(line.subtype) || /^\s*[/?]/.test(toText(parts))) {
      return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: this.#kit.toBlocks(content) })];
    }
    const records = this.#kit.toPromptRecords(content, base, base.uuid ?? null);
    if (shown === null) return records;
    return records.map((record) =>
      record.kind === 'message' ? { ...record, promptText: this.#kit.toPromptText(shown) } : record,
    );
  }

  /**
   * The usage of a sub-agent, and the reason of a failed request. The main loop's responses are only compared with its
   * messages.
   */
  #readTelemetry(
    { name, fields, agentId, sessionId, compressionId }: TelemetryEvent,
    line: JsonObject,
    base: Partial<MessageRecord>,
  ): TranscriptRecord[] {
    const { branch: gitBranch, version: agentVersion } = this.state;
    if (name === 'api_error') {
      const status = fields.status_code ?? fields.error_type ?? null;
      const event = {
        kind: 'api_error',
        name: typeof status === 'number' ? `${status}` : this.#kit.toId(status),
        details: {},
      } as const;
      const text = readText(fields.error_message) ?? readText(fields.error) ?? '';
      const message = newMessage('system', {
        ...base,
        metadata: { subtype: 'api_error' },
        blocks: this.#kit.toBlocks(text),
      });
      return [this.#kit.toEvent(event, base.uuid ?? null, base.timestampMs, base), message];
    }
    const usage = name === 'api_response' ? toTelemetryUsage(fields, this.#kit) : undefined;
    if (usage !== undefined && agentId === null) {
      this.state.totals ??= { telemetry: NO_TOKENS, messages: this.#toMirrored(usage) };
      this.state.totals.telemetry = addUsage(this.state.totals.telemetry, usage);
    }
    const owner = agentId ?? compressionId;
    if (usage === undefined || owner === null) return this.#unreadEvents.read(name, line, name);
    const responseId = toSubagentResponseId(sessionId ?? '', owner, usage);
    const { timestampMs, uuid = null } = base;
    const about = { timestampMs, uuid, gitBranch, agentVersion, stopReason: 'stop' };
    return [
      newUsageRecord({
        ...about,
        responseId,
        agentId: agentId ?? null,
        isSubagent: compressionId === null,
        model: this.#kit.toId(fields.model),
        usage,
      }),
    ];
  }

  #readSystem(line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] {
    const payload = readObject(line.systemPayload);
    switch (line.subtype) {
      case 'ui_telemetry': {
        const event = toTelemetryEvent(payload);
        return event === undefined ? this.#unreadEvents.read('none', line) : this.#readTelemetry(event, line, base);
      }
      case 'chat_compression': {
        this.state.isCompressed = true;
        const tokens = this.#kit.toCount(readObject(payload?.info), 'originalTokenCount');
        const event = { kind: 'compaction', name: null, details: tokens > 0 ? { preTokens: tokens } : {} } as const;
        return [this.#kit.toEvent(event, base.uuid ?? null, base.timestampMs)];
      }
      case 'slash_command': {
        if (payload?.phase !== 'invocation') return this.#unread.read('system', line, 'system/slash_command');
        const name = /^\/?([\w:-]+)/.exec(readText(payload.rawCommand) ?? '')?.[1];
        if (name === undefined) return [];
        const event = { kind: 'slash_command', name: `/${name}`, details: {} } as const;
        return [this.#kit.toEvent(event, base.uuid ?? null, base.timestampMs)];
      }
      case 'custom_title':
      case 'session_title': {
        const title = readText(payload?.title ?? payload?.customTitle);
        return title === null ? [] : [toCutTitle('custom', title)];
      }
      default:
        return this.#unread.read('system', line, `system/${readText(line.subtype) ?? 'none'}`);
    }
  }

  #readKnown(type: string, line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] | undefined {
    switch (type) {
      case 'user':
      case 'tool_result':
        return this.#readUser(line, base);
      case 'assistant':
        return this.#readAssistant(line, base);
      case 'system':
        return this.#readSystem(line, base);
      default:
        return undefined;
    }
  }
}

function createState(): QwenReaderState {
  return { last: undefined, branch: null, version: null, totals: undefined, isCompressed: false };
}
