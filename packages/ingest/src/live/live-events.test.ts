import type { AgentEvent, Prompt } from '@recount/core/live';
import { expect, it } from 'vitest';
import { MAX_EVENT_TEXT_LENGTH, toEndEvent, toLiveEvent } from './live-events.ts';

const CONTEXT = { sessionId: 's', streamId: 'st', agent: 'claude-code', nowMs: 0 };
const LONG = 'n'.repeat(1_000_000);
const LINE = { timestampMs: 0, lineNumber: 1, isLarge: false };
/** The longest event has several texts and a tool's input, or a thousand tool names. */
const MAX_EVENT_LENGTH = 5 * MAX_EVENT_TEXT_LENGTH;

const QUESTION: Prompt = {
  kind: 'question',
  toolUseId: LONG,
  requestId: LONG,
  questions: [{ question: LONG, header: LONG, options: [{ label: LONG, description: LONG }], multiSelect: false }],
};
const CONFIRMATION: Prompt = {
  kind: 'confirmation',
  reason: 'permission_request',
  toolUseId: LONG,
  requestId: LONG,
  toolName: LONG,
  toolInput: { [LONG]: LONG },
  message: LONG,
};
const TOKENS = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 };

const EVENTS: AgentEvent[] = [
  { ...LINE, type: 'session-start', sessionId: LONG, model: LONG, tools: Array.from({ length: 2000 }, () => LONG) },
  { ...LINE, type: 'text', text: LONG, uuid: LONG, wasStreamed: false },
  { ...LINE, type: 'progress', name: 'text', text: LONG, isError: false },
  { ...LINE, type: 'progress', name: LONG, text: LONG, isError: false, checkpoint: LONG },
  { ...LINE, type: 'unknown', name: LONG, original: { type: LONG } },
  { ...LINE, type: 'tool-start', toolName: LONG, toolId: LONG, toolInput: LONG, input: { [LONG]: LONG } },
  { ...LINE, type: 'tool-end', toolName: LONG, toolId: LONG, toolOutput: LONG, toolError: LONG, durationMs: 1 },
  { ...LINE, type: 'prompt', prompt: QUESTION },
  { ...LINE, type: 'prompt', prompt: CONFIRMATION },
  {
    ...LINE,
    type: 'result',
    isComplete: true,
    success: false,
    text: LONG,
    error: LONG,
    durationMs: 1,
    tokens: TOKENS,
    costUsd: 1,
    costDeltaUsd: 1,
  },
  { type: 'warning', warning: { code: 'invalid_usage', message: LONG, lineNumber: 1, byteOffset: 0 } },
];

it.each(EVENTS.map((event) => [event.type, event] as const))('bounds every string of %s', (_type, event) => {
  const { name, data } = toLiveEvent(event, CONTEXT);
  expect(name.length).toBeLessThan(100);
  expect(data.length).toBeLessThan(MAX_EVENT_LENGTH);
  expect(JSON.parse(data)).toMatchObject({ isCut: true });
});

it('bounds the end event', () => {
  const summary = {
    agentSessionId: LONG,
    model: LONG,
    tokens: TOKENS,
    tokensCover: 'stream',
    reportedTokens: null,
    costUsd: null,
    lastResult: null,
    stopReason: LONG,
    lineCount: 1,
    warningCount: 0,
    lastActivityMs: 0,
  } as const;
  const { data } = toEndEvent(summary, { success: false, error: LONG, aborted: true }, CONTEXT);
  expect(data.length).toBeLessThan(MAX_EVENT_LENGTH);
});

it('leaves short strings unchanged', () => {
  const event: AgentEvent = {
    ...LINE,
    type: 'tool-start',
    toolName: 'Read',
    toolId: 't',
    toolInput: '/a',
    input: { a: 1 },
  };
  expect(JSON.parse(toLiveEvent(event, CONTEXT).data)).toEqual({
    sessionId: 's',
    streamId: 'st',
    timestamp: '1970-01-01T00:00:00.000Z',
    type: 'tool_use',
    toolUse: { id: 't', name: 'Read', input: { a: 1 }, summary: '/a' },
  });
});
