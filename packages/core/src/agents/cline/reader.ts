import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readCount, readObject, readText, toFlag } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import { createReaderKit, parseJsonText, readType } from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines } from '../unread-lines.ts';
import { toImages, toSaid } from './content.ts';
import { CLINE_TOOLS, EDITED, FAILURES, NOTED, RESULTS, RETRIES, SAID, UNREAD_TASK_ENTRIES } from './task-types.ts';
import { type RequestUsage, readRequestUsage } from './task-usage.ts';

type Base = Pick<Partial<MessageRecord>, 'timestampMs'>;

interface ClineTaskState {
  hasPrompt: boolean;
  model: string | null;
  /** The request that answers belong to. */
  request: RequestUsage | undefined;
  /** Ids of the latest call of each tool whose results follow it. */
  calls: Record<string, string>;
}

/**
 * Reads `ui_messages.json` of a task of Cline, Roo Code or Kilo Code, which the panel shows, with tokens and cost of
 * each request. The answer of a request follows it; calls have no ids, and results follow their call.
 */
export function createClineReader(
  context: ReaderContext,
  state: ClineTaskState = { hasPrompt: false, model: null, request: undefined, calls: {} },
): Reader {
  return new ClineReader(context, state);
}

class ClineReader extends StatefulReader<ClineTaskState> {
  readonly #kit = createReaderKit(this.context, CLINE_TOOLS);
  readonly #unread = createUnreadLines(UNREAD_TASK_ENTRIES, this.context);

  read(line: JsonObject): ReadLine {
    const isAsk = line.type === 'ask';
    const type = readType(isAsk ? line.ask : line.say);
    if (type === undefined) return { type, timestampMs: undefined, records: [] };
    const timestampMs = this.#kit.toTimeMs(line.ts);
    const text = readText(line.text) ?? '';
    this.state.model = this.#kit.toId(readObject(line.modelInfo)?.modelId) ?? this.state.model;
    const name = isAsk ? `ask/${type}` : type;
    // Entries are updated in place, so entries that are partial when the file is read were cut off there.
    const isCut = toFlag(line.partial) === true && !SAID.has(type) && type !== 'reasoning';
    const isRepeated = isAsk && type === 'completion_result';
    if (isCut) return { type, timestampMs, records: [] };
    const records = isRepeated ? undefined : this.#readEntry(type, line, text, { timestampMs });
    return { type, timestampMs, records: records ?? this.#unread.read(type, line, name) };
  }

  #toId(timestampMs: number | undefined): string {
    return `cline/${this.context.sessionId ?? ''}/${timestampMs ?? ''}`;
  }

  /** A request's own counts, or the counts of requests that the entry sums up. */
  #toUsage(request: RequestUsage, { timestampMs }: Base, isSubagent = false): TranscriptRecord[] {
    const { usage, responseId, reportedCostUsd } = request;
    if (usage === undefined) return [];
    const known = { responseId, reportedCostUsd, isSubagent, model: this.state.model, timestampMs };
    return [newUsageRecord({ ...known, usage, stopReason: 'stop' })];
  }

  #toRequest(text: string): JsonObject | undefined {
    const request = readObject(parseJsonText(text));
    if (request === undefined) this.context.report('invalid_usage', 'warning', 'A request is not a JSON object');
    return request;
  }

  #readRequest(text: string, base: Base): TranscriptRecord[] {
    const request = this.#toRequest(text);
    if (request === undefined) return [];
    this.state.request = readRequestUsage(request, this.#toId(base.timestampMs), this.#kit);
    const usage = this.#toUsage(this.state.request, base);
    const failure = readText(request.streamingFailedMessage);
    return failure === null ? usage : [...usage, ...this.#toFailure(failure, base)];
  }

  /** Old versions of Cline state the counts when a request ends. */
  #readRequestEnd(text: string, base: Base): TranscriptRecord[] {
    const request = this.#toRequest(text) ?? {};
    if (this.state.request?.usage !== undefined) return [];
    this.state.request = readRequestUsage(
      request,
      this.state.request?.responseId ?? this.#toId(base.timestampMs),
      this.#kit,
    );
    return this.#toUsage(this.state.request, base);
  }

  #toFailure(text: string, base: Base): TranscriptRecord[] {
    return [
      this.#kit.toEvent({ kind: 'api_error', name: null, details: {} }, null, base.timestampMs),
      ...this.#kit.toSystemMessages(text, base),
    ];
  }

  /** `{"attempt":1,"maxAttempts":3,"delaySeconds":2,"errorMessage":"…"}`, or a text. */
  #toRetry(text: string, base: Base): TranscriptRecord[] {
    const retry = readObject(parseJsonText(text));
    const attempt = readCount(retry?.attempt, 1_000_000, () => undefined);
    const details = attempt === undefined ? {} : { retryAttempt: attempt };
    const said = retry === undefined ? text : readText(retry.errorMessage ?? retry.errorSnippet);
    const event = { kind: 'api_retry', name: null, details } as const;
    return [this.#kit.toEvent(event, null, base.timestampMs), ...this.#kit.toSystemMessages(said, base)];
  }

  #toAnswer(blocks: BlockContent[], base: Base): TranscriptRecord[] {
    if (blocks.length === 0) return [];
    const { model, request } = this.state;
    return [
      newMessage('assistant', {
        ...base,
        ...request,
        model,
        stopReason: request === undefined ? null : 'stop',
        blocks,
      }),
    ];
  }

  /** `tool` is the name under which results find the call. */
  #toCall(
    call: { name: string; input: JsonValue; mcpServer?: string | null },
    base: Base,
    tool = call.name,
  ): TranscriptRecord[] {
    const id = `${this.#toId(base.timestampMs)}/${tool}`;
    if (Object.values(RESULTS).includes(tool) || tool === 'use_subagents') this.state.calls[tool] = id;
    return this.#toAnswer(this.#kit.toToolUseBlocks({ id, ...call }), base);
  }

  #toResult(tool: string, content: JsonValue, isError: boolean, base: Base): TranscriptRecord[] {
    return content === '' || (Array.isArray(content) && content.length === 0)
      ? []
      : [this.#kit.toToolResultMessage({ id: this.state.calls[tool] ?? null, content, isError }, base)];
  }

  #readResult(tool: string, line: JsonObject, text: string, base: Base): TranscriptRecord[] {
    const images = toImages(line.images);
    if (tool !== 'browser_action') {
      const isError = tool === 'use_mcp_server' && text.startsWith('Error:');
      return this.#toResult(tool, images.length === 0 ? text : [{ type: 'text', text }, ...images], isError, base);
    }
    const { screenshot, ...rest } = readObject(parseJsonText(text)) ?? {};
    const shown = Object.keys(rest).length === 0 ? [] : [{ type: 'text', text: JSON.stringify(rest) }];
    return this.#toResult(tool, [...shown, ...toImages([screenshot ?? null])], false, base);
  }

  /** `{"type":"use_mcp_tool","serverName":"…","toolName":"…","arguments":"{…}"}`, or a resource with its `uri`. */
  #readMcpCall(text: string, base: Base): TranscriptRecord[] {
    const { type, serverName, toolName, arguments: given, ...rest } = readObject(parseJsonText(text)) ?? {};
    const name = readText(toolName) ?? readText(type) ?? 'use_mcp_server';
    const input = typeof given === 'string' ? (parseJsonText(given) ?? given) : (given ?? rest);
    return this.#toCall({ name, input, mcpServer: readText(serverName) }, base, 'use_mcp_server');
  }

  #toPrompt(line: JsonObject, text: string, base: Base): TranscriptRecord[] {
    this.state.hasPrompt = true;
    this.state.request = undefined;
    const images = toImages(line.images);
    const content = images.length === 0 ? text : [...(text === '' ? [] : [{ type: 'text', text }]), ...images];
    return this.#kit.toPromptRecords(content, base, `${this.context.sessionId ?? ''}/${base.timestampMs ?? ''}`);
  }

  /** A summary that replaces earlier messages. Its cost, without tokens, is in no figure. */
  #readCondensed(line: JsonObject, text: string, base: Base): TranscriptRecord[] {
    const facts = readObject(line.contextCondense ?? line.contextTruncation) ?? readObject(parseJsonText(text)) ?? {};
    if (facts.status !== undefined && facts.status !== 'completed') return [];
    if ((this.#kit.toDollars(facts, 'cost') ?? 0) > 0) {
      this.context.report('unread_content', 'notice', 'Usage that is not counted, in lines of type condense_context');
    }
    const preTokens = this.#kit.toCount(facts, facts.tokensBefore === undefined ? 'prevContextTokens' : 'tokensBefore');
    const postTokens = this.#kit.toCount(facts, facts.tokensAfter === undefined ? 'newContextTokens' : 'tokensAfter');
    const details = { ...(preTokens > 0 && { preTokens }), ...(postTokens > 0 && { postTokens }) };
    const blocks = this.#kit.toBlocks(readText(facts.summary));
    const summary = blocks.length === 0 ? [] : [newMessage('summary', { ...base, blocks })];
    return [this.#kit.toEvent({ kind: 'compaction', name: null, details }, null, base.timestampMs), ...summary];
  }

  /** The answers of a batch's sub-agents, once they exist. */
  #readSubagents(text: string, base: Base): TranscriptRecord[] {
    const { status, items } = readObject(parseJsonText(text)) ?? {};
    if (status === 'running') return [];
    const answers = (Array.isArray(items) ? items : []).map((item) => readObject(item));
    const texts = answers.flatMap((item) => readText(item?.result) ?? readText(item?.error) ?? []);
    const content = texts.map((answer) => ({ type: 'text', text: answer }));
    return this.#toResult('use_subagents', content, status === 'failed', base);
  }

  #readUsed(type: string, text: string, base: Base): TranscriptRecord[] {
    const summed = readRequestUsage(
      readObject(parseJsonText(text)) ?? {},
      `${this.#toId(base.timestampMs)}/${type}`,
      this.#kit,
    );
    return this.#toUsage(summed, base, type === 'subagent_usage');
  }

  #readEntry(type: string, line: JsonObject, text: string, base: Base): TranscriptRecord[] | undefined {
    switch (type) {
      case 'task':
      case 'user_feedback':
        return this.#toPrompt(line, text, base);
      case 'api_req_started':
        return this.#readRequest(text, base);
      case 'api_req_finished':
        return this.#readRequestEnd(text, base);
      // Sums of requests whose entries were removed when a checkpoint was restored, and of sub-agents' requests.
      case 'deleted_api_reqs':
      case 'subagent_usage':
        return this.#readUsed(type, text, base);
      case 'reasoning':
        return text === '' ? [] : this.#toAnswer(this.#kit.toBlocks([{ type: 'thinking', thinking: text }]), base);
      case 'tool': {
        const { tool, ...input } = readObject(parseJsonText(text)) ?? {};
        return this.#toCall({ name: readText(tool) ?? 'unknown', input }, base);
      }
      case 'command':
        return this.#toCall({ name: 'execute_command', input: { command: text } }, base);
      case 'use_mcp_server':
        return this.#readMcpCall(text, base);
      case 'browser_action_launch':
        return this.#toCall({ name: 'browser_action', input: { action: 'launch', url: text } }, base);
      case 'browser_action':
        return this.#toCall({ name: type, input: readObject(parseJsonText(text)) ?? {} }, base);
      case 'use_subagents':
        return this.#toCall({ name: type, input: readObject(parseJsonText(text)) ?? {} }, base);
      case 'subagent':
        return this.#readSubagents(text, base);
      case 'image':
        return this.#toAnswer(this.#kit.toBlocks(toImages([readObject(parseJsonText(text))?.imagePath ?? null])), base);
      case 'condense_context':
      case 'sliding_window_truncation':
      case 'compaction':
        return this.#readCondensed(line, text, base);
      default:
        return this.#readTextEntry(type, line, text, base);
    }
  }

  /** Entries that are only a text, by who wrote it. */
  #readTextEntry(type: string, line: JsonObject, text: string, base: Base): TranscriptRecord[] | undefined {
    const tool = RESULTS[type];
    if (tool !== undefined) return this.#readResult(tool, line, text, base);
    if (FAILURES.has(type)) return this.#toFailure(text, base);
    if (RETRIES.has(type)) return this.#toRetry(text, base);
    if (NOTED.has(type)) return this.#kit.toSystemMessages(text, base);
    if (EDITED.has(type))
      return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: this.#kit.toBlocks(text) })];
    if (!SAID.has(type)) return undefined;
    // The first text is the task.
    if (type === 'text' && !this.state.hasPrompt) return this.#toPrompt(line, text, base);
    return this.#toAnswer(this.#kit.toBlocks([...toSaid(text), ...toImages(line.images)]), base);
  }
}
