import type { JsonValue } from '@recount/core';
import {
  type AgentEvent,
  addStreamTotals,
  type Prompt,
  type SessionTotals,
  type StreamOutcome,
  type StreamSummary,
  type TokenCounts,
} from '@recount/core/live';
import type { LiveFigures, LiveSessionChange, LiveSessionRow, LiveStreamRow, NewLiveEvent } from '@recount/db';

/** In characters. Longer texts are cut, and longer inputs left out: the transcript has them. */
export const MAX_EVENT_TEXT_LENGTH = 64 * 1024;

/** In characters. Longer names, ids and the like are cut, in events and in a stream's row. */
const MAX_NAME_LENGTH = 256;

const cutTo = (maxLength: number, text: string): string =>
  text.length <= maxLength ? text : text.slice(0, maxLength).toWellFormed();

export const cutName = <T extends string | null>(name: T): T | string =>
  name === null ? name : cutTo(MAX_NAME_LENGTH, name);

const MAX_TOOLS = 1000;

interface LiveEventContext {
  sessionId: string;
  streamId: string;
  agent: string;
  /** Used for warnings, which have no time of their own. */
  nowMs: number;
}

type Fields = Record<string, unknown>;

/** Converts an agent's event to what readers of the session get. Bounded in size, whatever the agent wrote. */
export function toLiveEvent(event: AgentEvent, context: LiveEventContext): NewLiveEvent {
  const cut = createCutter();
  const { name, fields } = toNamedFields(event, context, cut);
  const { timestampMs, isLarge } = event.type === 'warning' ? { timestampMs: context.nowMs, isLarge: false } : event;
  const flags = { ...(isLarge && { isLarge }), ...(cut.hasCut && { isCut: true }) };
  return toRow(name, context, timestampMs, { ...fields, ...flags });
}

/** The last event of a stream. */
export function toEndEvent(
  summary: StreamSummary,
  outcome: Pick<StreamOutcome, 'success' | 'error' | 'aborted'>,
  context: LiveEventContext,
): NewLiveEvent {
  return toRow('stream:end', context, context.nowMs, {
    success: outcome.success,
    ...(outcome.error !== null && { error: cutTo(MAX_EVENT_TEXT_LENGTH, outcome.error) }),
    ...(outcome.aborted && { aborted: true }),
    stopReason: cutName(summary.stopReason),
    totalTokens: summary.tokens,
    costUsd: summary.costUsd,
  });
}

function toRow(name: string, { sessionId, streamId }: LiveEventContext, timeMs: number, fields: Fields): NewLiveEvent {
  const timestamp = new Date(timeMs).toISOString();
  return { name, data: JSON.stringify({ sessionId, streamId, timestamp, ...fields }) };
}

interface Cutter {
  name<T extends string | null>(name: T): T | string;
  text<T extends string | null>(text: T): T | string;
  json(value: JsonValue): JsonValue;
  hasCut: boolean;
}

function createCutter(): Cutter {
  const note = <T extends string | null>(whole: T, cut: T | string): T | string => {
    if (cut !== whole) cutter.hasCut = true;
    return cut;
  };
  const cutter: Cutter = {
    hasCut: false,
    name: (name) => note(name, cutName(name)),
    text: (text) => (text === null ? text : note(text, cutTo(MAX_EVENT_TEXT_LENGTH, text))),
    json(value) {
      if (JSON.stringify(value).length <= MAX_EVENT_TEXT_LENGTH) return value;
      cutter.hasCut = true;
      return null;
    },
  };
  return cutter;
}

function toNamedFields(event: AgentEvent, { agent }: LiveEventContext, cut: Cutter): { name: string; fields: Fields } {
  switch (event.type) {
    case 'session-start': {
      const agentSessionId = cut.name(event.sessionId);
      const tools = event.tools.slice(0, MAX_TOOLS).map((tool) => cut.name(tool));
      return { name: 'stream:init', fields: { agent, agentSessionId, tools, model: cut.name(event.model) } };
    }
    case 'text': {
      const { wasStreamed, uuid } = event;
      return {
        name: 'stream:chunk',
        fields: { ...toChunk(cut.text(event.text), uuid && cut.name(uuid)), wasStreamed },
      };
    }
    case 'progress':
      return toProgress(event, cut);
    case 'unknown':
      return {
        name: 'stream:progress',
        fields: { name: cut.name(event.name), text: '', isError: false, isKnown: false },
      };
    case 'tool-start': {
      const { toolId, toolName, toolInput, input } = event;
      const [id, name, summary] = [cut.name(toolId), cut.name(toolName), cut.text(toolInput)];
      const toolUse = { id, name, input: cut.json(input), summary };
      return { name: 'stream:tool', fields: { type: 'tool_use', toolUse } };
    }
    case 'tool-end': {
      const { durationMs } = event;
      const [toolUseId, toolName] = [cut.name(event.toolId), cut.name(event.toolName)];
      const isError = event.toolError !== null;
      const output = cut.text(event.toolOutput);
      const error = cut.text(event.toolError);
      const isUnpaired = event.isUnpaired && { isUnpaired: true };
      const toolResult = { toolUseId, toolName, output, isError, error, durationMs, ...isUnpaired };
      return { name: 'stream:tool', fields: { type: 'tool_result', toolResult } };
    }
    case 'prompt':
      return { name: 'stream:prompt', fields: { prompt: toPrompt(event.prompt, cut) } };
    case 'result': {
      const { success, text, error, durationMs, tokens, costUsd } = event;
      const totalTokens: TokenCounts = tokens;
      const fields = { success, text: cut.text(text), error: cut.text(error), durationMs, totalTokens, costUsd };
      return { name: 'stream:result', fields };
    }
    case 'warning': {
      const { code, message, lineNumber } = event.warning;
      return { name: 'stream:warning', fields: { code, message: cut.text(message), lineNumber } };
    }
  }
}

const toChunk = (content: string, uuid: string | undefined): Fields => ({
  type: 'text',
  content,
  ...(uuid !== undefined && { uuid }),
  isPartial: false,
});

function toProgress(
  { name, text, isError, checkpoint }: Extract<AgentEvent, { type: 'progress' }>,
  cut: Cutter,
): { name: string; fields: Fields } {
  // Pieces of a growing text.
  if (name === 'text') {
    return {
      name: 'stream:chunk',
      fields: { ...toChunk(cut.text(text), undefined), isPartial: true, wasStreamed: false },
    };
  }
  const uuid = checkpoint === undefined ? {} : { checkpoint: cut.name(checkpoint) };
  return {
    name: 'stream:progress',
    fields: { name: cut.name(name), text: cut.text(text), isError, isKnown: true, ...uuid },
  };
}

function toPrompt(prompt: Prompt, cut: Cutter): Prompt {
  const [toolUseId, requestId] = [cut.name(prompt.toolUseId), cut.name(prompt.requestId)];
  if (prompt.kind === 'confirmation') {
    const { kind, reason, toolName, toolInput, message } = prompt;
    const input = { toolName: cut.name(toolName), toolInput: cut.json(toolInput), message: cut.text(message) };
    return { kind, reason, toolUseId, requestId, ...input };
  }
  const isLong = JSON.stringify(prompt.questions).length > MAX_EVENT_TEXT_LENGTH;
  if (isLong) cut.hasCut = true;
  return { ...prompt, toolUseId, requestId, ...(isLong && { questions: [] }) };
}

/** The figures of a stream's row. */
export function toFigures(summary: StreamSummary): LiveFigures {
  const { tokens } = summary;
  return {
    line_count: summary.lineCount,
    warning_count: summary.warningCount,
    agent_session_id: cutName(summary.agentSessionId),
    model: cutName(summary.model),
    tokens_in: tokens.input,
    tokens_out: tokens.output,
    cache_read: tokens.cacheRead,
    cache_write: tokens.cacheWrite,
    cost_usd: summary.costUsd,
    stop_reason: cutName(summary.stopReason),
  };
}

type CountedFigures = Pick<StreamSummary, 'tokens' | 'tokensCover' | 'costUsd' | 'model'>;

/** The session's totals once the stream has ended, without the streams that it replaces. */
export function withTotals(
  session: LiveSessionRow,
  summary: CountedFigures,
  replaced: readonly LiveStreamRow[],
): LiveSessionChange {
  const before = replaced.reduce((totals, stream) => withoutStream(totals, summary, stream), toTotals(session));
  const { tokens, costUsd, model } = addStreamTotals(before, summary);
  return {
    stream_count: session.stream_count + 1 - replaced.length,
    tokens_in: tokens.input,
    tokens_out: tokens.output,
    cache_read: tokens.cacheRead,
    cache_write: tokens.cacheWrite,
    cost_usd: costUsd,
    model: cutName(model),
  };
}

const toTotals = (row: LiveSessionRow | LiveStreamRow): SessionTotals => ({
  tokens: { input: row.tokens_in, output: row.tokens_out, cacheRead: row.cache_read, cacheWrite: row.cache_write },
  costUsd: row.cost_usd,
  model: row.model,
});

function withoutStream(
  { tokens, costUsd, model }: SessionTotals,
  { tokensCover }: CountedFigures,
  stream: LiveStreamRow,
): SessionTotals {
  const counted = toTotals(stream);
  return {
    // Totals of a whole session are never added up.
    tokens:
      tokensCover === 'session'
        ? tokens
        : {
            input: tokens.input - counted.tokens.input,
            output: tokens.output - counted.tokens.output,
            cacheRead: tokens.cacheRead - counted.tokens.cacheRead,
            cacheWrite: tokens.cacheWrite - counted.tokens.cacheWrite,
          },
    costUsd: costUsd === null || counted.costUsd === null ? costUsd : costUsd - counted.costUsd,
    model,
  };
}
