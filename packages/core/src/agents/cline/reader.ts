import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readCount, readObject, readText, toFlag } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../../records/records.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { createReaderKit, parseJsonText, readType } from '../reader-kit.ts';
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
 * Reads `ui_messages.json` of a task of Cline, Roo Code or Kilo Code: what the panel shows, with tokens and cost of
 * each request. What a request answered follows it; calls have no ids, and results follow their call.
 */
export function createClineReader(
  context: ReaderContext,
  state: ClineTaskState = { hasPrompt: false, model: null, request: undefined, calls: {} },
): Reader {
  const kit = createReaderKit(context, CLINE_TOOLS);
  const unread = createUnreadLines(UNREAD_TASK_ENTRIES, context);

  const toId = (timestampMs: number | undefined): string => `cline/${context.sessionId ?? ''}/${timestampMs ?? ''}`;

  /** A request's own counts, or those of requests that the entry sums up. */
  const toUsage = (request: RequestUsage, { timestampMs }: Base, isSubagent = false): TranscriptRecord[] => {
    const { usage, responseId, reportedCostUsd } = request;
    if (usage === undefined) return [];
    const known = { responseId, reportedCostUsd, isSubagent, model: state.model, timestampMs };
    return [newUsageRecord({ ...known, usage, stopReason: 'stop' })];
  };

  const toRequest = (text: string): JsonObject | undefined => {
    const request = readObject(parseJsonText(text));
    if (request === undefined) context.report('invalid_usage', 'warning', 'A request is not a JSON object');
    return request;
  };

  const readRequest = (text: string, base: Base): TranscriptRecord[] => {
    const request = toRequest(text);
    if (request === undefined) return [];
    state.request = readRequestUsage(request, toId(base.timestampMs), kit);
    const usage = toUsage(state.request, base);
    const failure = readText(request.streamingFailedMessage);
    return failure === null ? usage : [...usage, ...toFailure(failure, base)];
  };

  /** Old versions of Cline state the counts when a request ends. */
  const readRequestEnd = (text: string, base: Base): TranscriptRecord[] => {
    const request = toRequest(text) ?? {};
    if (state.request?.usage !== undefined) return [];
    state.request = readRequestUsage(request, state.request?.responseId ?? toId(base.timestampMs), kit);
    return toUsage(state.request, base);
  };

  const toFailure = (text: string, base: Base): TranscriptRecord[] => [
    kit.toEvent({ kind: 'api_error', name: null, details: {} }, null, base.timestampMs),
    ...kit.toSystemMessages(text, base),
  ];

  /** `{"attempt":1,"maxAttempts":3,"delaySeconds":2,"errorMessage":"…"}`, or a text. */
  const toRetry = (text: string, base: Base): TranscriptRecord[] => {
    const retry = readObject(parseJsonText(text));
    const attempt = readCount(retry?.attempt, 1_000_000, () => undefined);
    const details = attempt === undefined ? {} : { retryAttempt: attempt };
    const said = retry === undefined ? text : readText(retry.errorMessage ?? retry.errorSnippet);
    const event = { kind: 'api_retry', name: null, details } as const;
    return [kit.toEvent(event, null, base.timestampMs), ...kit.toSystemMessages(said, base)];
  };

  const toAnswer = (blocks: BlockContent[], base: Base): TranscriptRecord[] => {
    if (blocks.length === 0) return [];
    const { model, request } = state;
    return [
      newMessage('assistant', {
        ...base,
        ...request,
        model,
        stopReason: request === undefined ? null : 'stop',
        blocks,
      }),
    ];
  };

  /** `tool`: the name under which results find the call. */
  const toCall = (
    call: { name: string; input: JsonValue; mcpServer?: string | null },
    base: Base,
    tool = call.name,
  ): TranscriptRecord[] => {
    const id = `${toId(base.timestampMs)}/${tool}`;
    if (Object.values(RESULTS).includes(tool) || tool === 'use_subagents') state.calls[tool] = id;
    return toAnswer(kit.toToolUseBlocks({ id, ...call }), base);
  };

  const toResult = (tool: string, content: JsonValue, isError: boolean, base: Base): TranscriptRecord[] =>
    content === '' || (Array.isArray(content) && content.length === 0)
      ? []
      : [kit.toToolResultMessage({ id: state.calls[tool] ?? null, content, isError }, base)];

  const readResult = (tool: string, line: JsonObject, text: string, base: Base): TranscriptRecord[] => {
    const images = toImages(line.images);
    if (tool !== 'browser_action') {
      const isError = tool === 'use_mcp_server' && text.startsWith('Error:');
      return toResult(tool, images.length === 0 ? text : [{ type: 'text', text }, ...images], isError, base);
    }
    const { screenshot, ...rest } = readObject(parseJsonText(text)) ?? {};
    const shown = Object.keys(rest).length === 0 ? [] : [{ type: 'text', text: JSON.stringify(rest) }];
    return toResult(tool, [...shown, ...toImages([screenshot ?? null])], false, base);
  };

  /** `{"type":"use_mcp_tool","serverName":"…","toolName":"…","arguments":"{…}"}`, or a resource with its `uri`. */
  const readMcpCall = (text: string, base: Base): TranscriptRecord[] => {
    const { type, serverName, toolName, arguments: given, ...rest } = readObject(parseJsonText(text)) ?? {};
    const name = readText(toolName) ?? readText(type) ?? 'use_mcp_server';
    const input = typeof given === 'string' ? (parseJsonText(given) ?? given) : (given ?? rest);
    return toCall({ name, input, mcpServer: readText(serverName) }, base, 'use_mcp_server');
  };

  const toPrompt = (line: JsonObject, text: string, base: Base): TranscriptRecord[] => {
    state.hasPrompt = true;
    state.request = undefined;
    const images = toImages(line.images);
    const content = images.length === 0 ? text : [...(text === '' ? [] : [{ type: 'text', text }]), ...images];
    return kit.toPromptRecords(content, base, `${context.sessionId ?? ''}/${base.timestampMs ?? ''}`);
  };

  /** A summary that replaces what was said before. Its cost, without tokens, is in no figure. */
  const readCondensed = (line: JsonObject, text: string, base: Base): TranscriptRecord[] => {
    const facts = readObject(line.contextCondense ?? line.contextTruncation) ?? readObject(parseJsonText(text)) ?? {};
    if (facts.status !== undefined && facts.status !== 'completed') return [];
    if ((kit.toDollars(facts, 'cost') ?? 0) > 0) {
      context.report('unread_content', 'notice', 'Usage that is not counted, in lines of type condense_context');
    }
    const preTokens = kit.toCount(facts, facts.tokensBefore === undefined ? 'prevContextTokens' : 'tokensBefore');
    const postTokens = kit.toCount(facts, facts.tokensAfter === undefined ? 'newContextTokens' : 'tokensAfter');
    const details = { ...(preTokens > 0 && { preTokens }), ...(postTokens > 0 && { postTokens }) };
    const blocks = kit.toBlocks(readText(facts.summary));
    const summary = blocks.length === 0 ? [] : [newMessage('summary', { ...base, blocks })];
    return [kit.toEvent({ kind: 'compaction', name: null, details }, null, base.timestampMs), ...summary];
  };

  /** What the sub-agents of a batch answered, once they have. */
  const readSubagents = (text: string, base: Base): TranscriptRecord[] => {
    const { status, items } = readObject(parseJsonText(text)) ?? {};
    if (status === 'running') return [];
    const answers = (Array.isArray(items) ? items : []).map((item) => readObject(item));
    const texts = answers.flatMap((item) => readText(item?.result) ?? readText(item?.error) ?? []);
    const content = texts.map((answer) => ({ type: 'text', text: answer }));
    return toResult('use_subagents', content, status === 'failed', base);
  };

  const readUsed = (type: string, text: string, base: Base): TranscriptRecord[] => {
    const summed = readRequestUsage(readObject(parseJsonText(text)) ?? {}, `${toId(base.timestampMs)}/${type}`, kit);
    return toUsage(summed, base, type === 'subagent_usage');
  };

  const readEntry = (type: string, line: JsonObject, text: string, base: Base): TranscriptRecord[] | undefined => {
    switch (type) {
      case 'task':
      case 'user_feedback':
        return toPrompt(line, text, base);
      case 'api_req_started':
        return readRequest(text, base);
      case 'api_req_finished':
        return readRequestEnd(text, base);
      // Sums of requests whose entries were removed when a checkpoint was restored, and of those of sub-agents.
      case 'deleted_api_reqs':
      case 'subagent_usage':
        return readUsed(type, text, base);
      case 'reasoning':
        return text === '' ? [] : toAnswer(kit.toBlocks([{ type: 'thinking', thinking: text }]), base);
      case 'tool': {
        const { tool, ...input } = readObject(parseJsonText(text)) ?? {};
        return toCall({ name: readText(tool) ?? 'unknown', input }, base);
      }
      case 'command':
        return toCall({ name: 'execute_command', input: { command: text } }, base);
      case 'use_mcp_server':
        return readMcpCall(text, base);
      case 'browser_action_launch':
        return toCall({ name: 'browser_action', input: { action: 'launch', url: text } }, base);
      case 'browser_action':
        return toCall({ name: type, input: readObject(parseJsonText(text)) ?? {} }, base);
      case 'use_subagents':
        return toCall({ name: type, input: readObject(parseJsonText(text)) ?? {} }, base);
      case 'subagent':
        return readSubagents(text, base);
      case 'image':
        return toAnswer(kit.toBlocks(toImages([readObject(parseJsonText(text))?.imagePath ?? null])), base);
      case 'condense_context':
      case 'sliding_window_truncation':
      case 'compaction':
        return readCondensed(line, text, base);
      default:
        return readTextEntry(type, line, text, base);
    }
  };

  /** Entries that are only a text, by who wrote it. */
  const readTextEntry = (type: string, line: JsonObject, text: string, base: Base): TranscriptRecord[] | undefined => {
    const tool = RESULTS[type];
    if (tool !== undefined) return readResult(tool, line, text, base);
    if (FAILURES.has(type)) return toFailure(text, base);
    if (RETRIES.has(type)) return toRetry(text, base);
    if (NOTED.has(type)) return kit.toSystemMessages(text, base);
    if (EDITED.has(type))
      return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: kit.toBlocks(text) })];
    if (!SAID.has(type)) return undefined;
    // The first text is the task.
    if (type === 'text' && !state.hasPrompt) return toPrompt(line, text, base);
    return toAnswer(kit.toBlocks([...toSaid(text), ...toImages(line.images)]), base);
  };

  return {
    state,
    read(line) {
      const isAsk = line.type === 'ask';
      const type = readType(isAsk ? line.ask : line.say);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.ts);
      const text = readText(line.text) ?? '';
      state.model = kit.toId(readObject(line.modelInfo)?.modelId) ?? state.model;
      const name = isAsk ? `ask/${type}` : type;
      // Entries are updated in place: what is partial when the file is read was cut off there.
      const isCut = toFlag(line.partial) === true && !SAID.has(type) && type !== 'reasoning';
      const isRepeated = isAsk && type === 'completion_result';
      if (isCut) return { type, timestampMs, records: [] };
      const records = isRepeated ? undefined : readEntry(type, line, text, { timestampMs });
      return { type, timestampMs, records: records ?? unread.read(type, line, name) };
    },
  };
}
