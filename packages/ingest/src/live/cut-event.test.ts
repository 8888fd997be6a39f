import type { LiveEvent, Prompt } from '@recount/core/live';
import { expect, it } from 'vitest';
import { MAX_EVENT_TEXT_LENGTH, toEventRow } from './cut-event.ts';

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
const TOKENS = { tokens_in: 1, tokens_out: 1, cache_read: 1, cache_write: 1 };

const EVENTS: LiveEvent[] = [
  {
    ...{ ...LINE, type: 'session-start', agent: 'claude-code', sessionId: LONG, model: LONG, cwd: LONG, version: LONG },
    tools: Array.from({ length: 2000 }, () => LONG),
  },
  { ...LINE, type: 'text', text: LONG, uuid: LONG, parentToolUseId: LONG, wasStreamed: false },
  { ...LINE, type: 'progress', name: 'text', text: LONG, isError: false },
  { ...LINE, type: 'progress', name: LONG, text: LONG, isError: false, checkpoint: LONG },
  { ...LINE, type: 'unknown', name: LONG, original: { type: LONG } },
  {
    ...{ ...LINE, type: 'tool-start', toolName: LONG, toolKind: 'other', toolId: LONG, toolInput: LONG },
    input: { [LONG]: LONG },
  },
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
  { type: 'warning', timestampMs: 0, warning: { code: 'invalid_usage', message: LONG, lineNumber: 1, byteOffset: 0 } },
  {
    ...{ type: 'close', timestampMs: 0, state: 'error', success: false, aborted: true, error: LONG, stopReason: LONG },
    exit: { exitCode: 1, signal: null },
    summary: {
      ...{ agentSessionId: LONG, model: LONG, tokens: TOKENS, tokensCover: 'stream', reportedTokens: TOKENS },
      ...{ costUsd: null, lastResult: { success: false, error: LONG }, stopReason: LONG },
      ...{ lineCount: 1, warningCount: 0, lastActivityMs: 0 },
    },
  },
];

it.each(EVENTS.map((event) => [event.type, event] as const))('bounds every string of %s', (type, event) => {
  const { name, data } = toEventRow(event);
  expect(name).toBe(type);
  expect(data.length).toBeLessThan(MAX_EVENT_LENGTH);
  expect(JSON.parse(data)).toMatchObject({ type, isCut: true });
});

it('leaves events of usual length unchanged', () => {
  const event: LiveEvent = {
    ...{ ...LINE, type: 'tool-start', toolName: 'Read', toolKind: 'read', toolId: 't', toolInput: '/a' },
    input: { a: [1, { b: null }], questions: 'q' },
  };
  expect(JSON.parse(toEventRow(event).data)).toEqual(event);
  const prompt: LiveEvent = {
    ...LINE,
    type: 'prompt',
    prompt: { ...QUESTION, toolUseId: 't', requestId: null, questions: [] },
  };
  expect(JSON.parse(toEventRow(prompt).data)).toEqual(prompt);
});
