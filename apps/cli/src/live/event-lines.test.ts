import type { AgentEvent } from '@recount/core/live';
import { parserFor } from '@recount/core/live';
import { describe, expect, it } from 'vitest';
import { type EventLayout, isErrorEvent, toEndLines, toEventLine } from './event-lines.ts';

const layout: EventLayout = {
  agent: 'claude',
  isVerbose: false,
  showsText: true,
  showsProgress: false,
  isColored: false,
  maxWidth: Number.POSITIVE_INFINITY,
};
const line = { timestampMs: 0, lineNumber: 1, byteOffset: 0, isLarge: false };
const tokens = { tokens_in: 0, tokens_out: 0, cache_read: 0, cache_write: 0 };
const text = (content: string) =>
  ({ ...line, type: 'text', text: content, wasStreamed: false }) as unknown as AgentEvent;
const toolStart = (toolName: string, toolInput: string) =>
  ({ ...line, type: 'tool-start', toolName, toolInput, toolId: 't', input: {} }) as unknown as AgentEvent;
const toolEnd = (toolOutput: string, toolError: string | null = null, durationMs: number | null = null) =>
  ({
    ...line,
    type: 'tool-end',
    toolName: 'Bash',
    toolId: 't',
    toolOutput,
    toolError,
    durationMs,
  }) as unknown as AgentEvent;
const result = (fields: object) =>
  ({
    ...line,
    type: 'result',
    isComplete: true,
    success: true,
    text: null,
    error: null,
    durationMs: null,
    tokens,
    costUsd: null,
    costDeltaUsd: null,
    ...fields,
  }) as unknown as AgentEvent;
const progress = (name: string, content: string, isError = false) =>
  ({ ...line, type: 'progress', name, text: content, isError }) as unknown as AgentEvent;

const show = (event: AgentEvent, change: Partial<EventLayout> = {}) => toEventLine(event, { ...layout, ...change });

describe('toEventLine', () => {
  it('shows a stream as documented', () => {
    const session_id = 's';
    const say = (content: object[]) => ({ type: 'assistant', session_id, message: { role: 'assistant', content } });
    const stream = [
      say([{ type: 'tool_use', id: 'a', name: 'Read', input: { file_path: 'internal/config/config.go' } }]),
      say([{ type: 'text', text: "I'll fix the failing test by updating the expected value...\nNow." }]),
      say([{ type: 'tool_use', id: 'b', name: 'Edit', input: { file_path: '/etc/passwd' } }]),
      {
        type: 'user',
        session_id,
        message: {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'b', content: 'Permission denied', is_error: true }],
        },
      },
      { type: 'result', subtype: 'success', is_error: false, session_id, total_cost_usd: 0.015, result: 'ok' },
    ];
    const parser = parserFor('claude', { now: () => 0 });
    const events = parser?.push(stream.map((each) => `${JSON.stringify(each)}\n`).join('')) ?? [];
    expect(events.flatMap((event) => show(event) ?? [])).toEqual([
      '[claude] Read: internal/config/config.go',
      '[claude] "I\'ll fix the failing test by updating the expected value..."',
      '[claude] Edit: /etc/passwd',
      '[claude] ERROR: Permission denied',
      '[claude] Complete (cost: $0.0150)',
    ]);
  });

  it('cuts a text to 80 characters, and to the terminal if that is narrower', () => {
    const long = 'ä'.repeat(200);
    expect(show(text(long))).toBe(`[claude] "${'ä'.repeat(77)}..."`);
    expect(show(text('日本'.repeat(60)), { maxWidth: 40 })).toBe(`[claude] "${'日本'.repeat(7)}…"`);
    expect(show(text('ä'.repeat(80)))).toBe(`[claude] "${'ä'.repeat(80)}"`);
    expect(show(text('fits')), 'not widened').toBe('[claude] "fits"');
  });

  it.each<[string, AgentEvent, Partial<EventLayout>, string | undefined]>([
    ['a blank text', text(' \n'), {}, undefined],
    ['a text, without texts', text('a'), { showsText: false }, undefined],
    ['a tool without a summary', toolStart('mcp__x', ''), {}, '[claude] mcp__x'],
    ['a tool with a hostile name', toolStart('\u001B[31m', '\u001B[2Jls'), {}, '[claude] tool: ls'],
    ['an output', toolEnd('a\n\tb'), {}, undefined],
    ['an output, verbose', toolEnd('a\n\tb', null, 1234), { isVerbose: true }, '  -> a b (1.2 s)'],
    ['a long output', toolEnd('x'.repeat(200)), { isVerbose: true }, `  -> ${'x'.repeat(97)}...`],
    [
      'a long output on a terminal',
      toolEnd('x'.repeat(200), null, 60_000),
      { isVerbose: true, maxWidth: 40 },
      `  -> ${'x'.repeat(22)}… (1 min 0 s)`,
    ],
    ['no output, after a while', toolEnd('', null, 500), { isVerbose: true }, '  -> (0.5 s)'],
    ['no output, at once', toolEnd('', null, 3), { isVerbose: true }, undefined],
    ['a failed tool', toolEnd('', 'Exit code 1\nnot found', 500), {}, '[claude] ERROR: Exit code 1 not found'],
    ['a failed tool, verbose', toolEnd('', 'no', 500), { isVerbose: true }, '[claude] ERROR: no (0.5 s)'],
    ['an end without cost', result({}), {}, '[claude] Complete'],
    [
      'an end, verbose',
      result({ costUsd: 1.5, durationMs: 90_000 }),
      { isVerbose: true },
      '[claude] Complete (cost: $1.5000, 1 min 30 s)',
    ],
    [
      'a failure',
      result({ success: false, error: 'error_max_turns', costUsd: 0.1 }),
      {},
      '[claude] ERROR: error_max_turns (cost: $0.1000)',
    ],
    ['a thought', progress('thinking', 'Hm.'), {}, undefined],
    ['a thought, with progress', progress('thinking', 'Hm.'), { showsProgress: true }, '[claude] thinking: Hm.'],
    ['a piece of a text', progress('text', 'Hm'), { showsProgress: true }, undefined],
    ['a transient error', progress('error', 'reconnecting', true), {}, '[claude] ERROR: reconnecting'],
    [
      'in colour',
      toolStart('Read', 'a.ts'),
      { isColored: true },
      '\u001B[36m[claude]\u001B[0m \u001B[1mRead\u001B[0m: a.ts',
    ],
  ])('%s', (_name, event, change, expected) => {
    expect(show(event, change)).toBe(expected);
  });

  it('shows what the agent asks, and an unreadable stream', () => {
    const question = {
      question: 'Which?',
      header: null,
      options: [
        { label: 'A', description: null },
        { label: 'B', description: null },
      ],
      multiSelect: false,
    };
    const ask = {
      ...line,
      type: 'prompt',
      prompt: { kind: 'question', toolUseId: null, requestId: null, questions: [question] },
    };
    expect(show(ask as unknown as AgentEvent)).toBe('[claude] QUESTION: Which? [A / B]');
    const denial = {
      kind: 'confirmation',
      reason: 'permission_denied',
      toolUseId: null,
      requestId: null,
      toolName: 'Bash',
      toolInput: null,
      message: null,
    };
    expect(show({ ...line, type: 'prompt', prompt: denial } as unknown as AgentEvent)).toBe('[claude] DENIED: Bash');
    const warn = (
      code: 'stream_corrupted' | 'invalid_json' | 'buffer_overflow' | 'unsupported_version',
    ): AgentEvent => ({
      type: 'warning',
      timestampMs: 0,
      warning: { code, message: 'Look', lineNumber: 7, byteOffset: 0 },
    });
    expect(show(warn('invalid_json'))).toBe(undefined);
    expect(show(warn('invalid_json'), { isVerbose: true })).toBe('[claude] WARNING: Look (line 7)');
    for (const code of ['stream_corrupted', 'buffer_overflow', 'unsupported_version'] as const) {
      expect(show(warn(code))).toBe('[claude] WARNING: Look (line 7)');
    }
  });
});

it('counts failed tools, failed turns and transient errors as errors', () => {
  const errors = [toolEnd('', 'no'), result({ success: false }), progress('error', 'x', true)];
  expect(errors.map(isErrorEvent)).toEqual([true, true, true]);
  expect([toolEnd('yes'), result({}), progress('x', ''), text('ERROR')].map(isErrorEvent)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

it('toEndLines says how it ended if no event did, and counts', () => {
  const counts = { events: 1200, errors: 1, warnings: 0, unreadableLines: 0 };
  expect(toEndLines(null, counts, false, layout)).toEqual(['[claude] Complete']);
  expect(toEndLines(null, counts, true, layout)).toEqual([]);
  expect(toEndLines('The agent exited with code 3', counts, false, layout)).toEqual([
    '[claude] ERROR: The agent exited with code 3',
  ]);
  expect(toEndLines(null, counts, true, { ...layout, isVerbose: true })).toEqual(['[claude] 1,200 events, 1 error']);
  const withWarnings = { events: 1, errors: 0, warnings: 2, unreadableLines: 0 };
  expect(toEndLines(null, withWarnings, true, { ...layout, isVerbose: true })).toEqual([
    '[claude] 1 event, 0 errors, 2 warnings',
  ]);
});
