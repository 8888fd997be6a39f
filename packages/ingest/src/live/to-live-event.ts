import type { JsonValue } from '@recount/core';
import type { AgentEvent, Prompt, StreamOutcome, StreamSummary, TokenCounts } from '@recount/core/live';
import type { NewLiveEvent } from '@recount/db';

/** Longer texts are cut, and longer inputs left out: the transcript has them. In characters. */
export const MAX_EVENT_TEXT_LENGTH = 64 * 1024;
const MAX_TOOLS = 1000;

export interface LiveEventContext {
  sessionId: string;
  streamId: string;
  agent: string;
  /** Stands in for warnings, which have no time of their own. */
  nowMs: number;
}

type Fields = Record<string, unknown>;

/** What readers of a session's events get of an agent's. Bounded in size, whatever the agent wrote. */
export function toLiveEvent(event: AgentEvent, context: LiveEventContext): NewLiveEvent {
  const cut = createCutter();
  const { name, fields } = toNamedFields(event, context, cut);
  const timeMs = event.type === 'warning' ? context.nowMs : event.timestampMs;
  return toRow(name, context, timeMs, { ...fields, ...(cut.hasCut && { isCut: true }) });
}

/** The last event of a stream. */
export function toEndEvent(
  summary: StreamSummary,
  outcome: Pick<StreamOutcome, 'success' | 'error' | 'aborted'>,
  context: LiveEventContext,
): NewLiveEvent {
  return toRow('stream:end', context, context.nowMs, {
    success: outcome.success,
    ...(outcome.error !== null && { error: outcome.error }),
    ...(outcome.aborted && { aborted: true }),
    stopReason: summary.stopReason,
    totalTokens: summary.tokens,
    costUsd: summary.costUsd,
  });
}

function toRow(name: string, { sessionId, streamId }: LiveEventContext, timeMs: number, fields: Fields): NewLiveEvent {
  const timestamp = new Date(timeMs).toISOString();
  return { name, data: JSON.stringify({ sessionId, streamId, timestamp, ...fields }) };
}

interface Cutter {
  text<T extends string | null>(text: T): T | string;
  json(value: JsonValue): JsonValue;
  hasCut: boolean;
}

function createCutter(): Cutter {
  const cutter: Cutter = {
    hasCut: false,
    text(text) {
      if (text === null || text.length <= MAX_EVENT_TEXT_LENGTH) return text;
      cutter.hasCut = true;
      return text.slice(0, MAX_EVENT_TEXT_LENGTH).toWellFormed();
    },
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
      const { sessionId: agentSessionId, model } = event;
      const tools = event.tools.slice(0, MAX_TOOLS).map((tool) => cut.text(tool));
      return { name: 'stream:init', fields: { agent, agentSessionId, tools, model } };
    }
    case 'text': {
      const { wasStreamed, uuid } = event;
      return { name: 'stream:chunk', fields: { ...toChunk(cut.text(event.text), uuid), wasStreamed } };
    }
    case 'progress':
      return toProgress(event, cut);
    case 'unknown':
      return { name: 'stream:progress', fields: { name: event.name, text: '', isError: false, isKnown: false } };
    case 'tool-start': {
      const { toolId: id, toolName: name, toolInput: summary, input } = event;
      const toolUse = { id, name, input: cut.json(input), summary };
      return { name: 'stream:tool', fields: { type: 'tool_use', toolUse } };
    }
    case 'tool-end': {
      const { toolId: toolUseId, toolName, durationMs } = event;
      const isError = event.toolError !== null;
      const output = cut.text(event.toolOutput);
      const toolResult = { toolUseId, toolName, output, isError, error: cut.text(event.toolError), durationMs };
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
      return { name: 'stream:warning', fields: { code, message, lineNumber } };
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
  // Pieces of a text that is still growing.
  if (name === 'text') {
    return {
      name: 'stream:chunk',
      fields: { ...toChunk(cut.text(text), undefined), isPartial: true, wasStreamed: false },
    };
  }
  const uuid = checkpoint === undefined ? {} : { checkpoint };
  return { name: 'stream:progress', fields: { name, text: cut.text(text), isError, isKnown: true, ...uuid } };
}

function toPrompt(prompt: Prompt, cut: Cutter): Prompt {
  if (prompt.kind === 'confirmation') {
    return { ...prompt, toolInput: cut.json(prompt.toolInput), message: cut.text(prompt.message) };
  }
  const isLong = JSON.stringify(prompt).length > MAX_EVENT_TEXT_LENGTH;
  if (isLong) cut.hasCut = true;
  return isLong ? { ...prompt, questions: [] } : prompt;
}
