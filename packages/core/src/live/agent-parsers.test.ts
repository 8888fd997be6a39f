import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../lines/json.ts';
import { toUsageFields } from '../testing/transcript-lines.ts';
import type { AgentEvent } from './live-event.ts';
import { outputFlags, parserFor, withOutputFlags } from './parser-for.ts';
import { ampStream, claudeStream, codexStream, initLine, resultLine, toBytes } from './testing/stream-lines.ts';

function parse(command: string, lines: readonly JsonObject[]) {
  let timeMs = 0;
  const parser = parserFor(command, { now: () => ++timeMs });
  if (parser === undefined) throw new Error(`No parser for ${command}`);
  const events = [...parser.push(toBytes(lines)), ...parser.finish()];
  return { events, summary: parser.toSummary() };
}

/** An event as one line of text, as a terminal might show it. */
function toText(event: AgentEvent): string {
  switch (event.type) {
    case 'session-start':
      return `start ${event.sessionId} ${event.model}`;
    case 'tool-start':
      return `tool ${event.toolId} ${event.toolName}: ${event.toolInput}`;
    case 'tool-end':
      return `end ${event.toolId} ${event.toolName}: ${event.toolError === null ? event.toolOutput : `ERROR ${event.toolError}`}`;
    case 'text':
      return `text ${event.text}`;
    case 'result':
      return `result ${event.success} ${event.text ?? event.error} ${event.costUsd} ${event.costDeltaUsd}`;
    case 'progress':
      return `progress ${event.isError ? 'ERROR ' : ''}${event.name}: ${event.text}`.trimEnd();
    case 'prompt':
      return `prompt ${event.prompt.kind}`;
    case 'unknown':
      return `unknown ${event.name}`;
    case 'warning':
      return `warning ${event.warning.code}`;
  }
}

const texts = (command: string, lines: readonly JsonObject[]): string[] => parse(command, lines).events.map(toText);

describe('parserFor', () => {
  it.each([
    ['claude', 'claude-code'],
    ['/usr/local/bin/claude', 'claude-code'],
    ['C:\\Tools\\Claude.EXE', 'claude-code'],
    ['CODEX', 'codex'],
    ['./amp.exe', 'amp'],
    ['claude-code', 'claude-code'],
    ['claude.exe.exe', undefined],
    ['', undefined],
    ['/usr/bin/', undefined],
    ['constructor', undefined],
  ])('%j', (command, agent) => {
    expect(parserFor(command, { now: () => 0 })?.agent).toBe(agent);
    expect(outputFlags(command) === undefined).toBe(agent === undefined);
  });
});

describe('claude', () => {
  it('emits a whole stream in the terms that all agents share', () => {
    expect(texts('claude', claudeStream)).toEqual([
      'progress system/hook_started: SessionStart:startup',
      'start 11111111-2222-4333-8444-555555555555 claude-opus-4-8',
      'progress user: Prüfe die Zähler 👩‍👩‍👧',
      'progress text: Ich',
      'progress text: prüfe 日本語.',
      'text Ich prüfe 日本語.',
      'tool t1 Read: /srv/app/größe.ts',
      'end t1 Read: Zeile 1',
      'progress tool_progress: Read',
      'unknown never-seen-before',
      'tool t2 AskUserQuestion: ',
      'prompt question',
      'tool t3 Bash: ls',
      'end t3 Bash: ERROR kam zu früh',
      'text Fertig 🎉',
      'prompt confirmation',
      'result true Done. 0.02 0.02',
    ]);
  });

  it('reports what each turn cost, and the error of one that failed', () => {
    expect(
      texts('claude', [
        resultLine({ total_cost_usd: 0.1 }),
        resultLine({ total_cost_usd: 0.3, subtype: 'error_max_turns', result: null }),
        resultLine({ total_cost_usd: null }),
      ]),
    ).toEqual(['result true Done. 0.1 0.1', 'result false error_max_turns 0.3 0.2', 'result true Done. null null']);
  });
});

describe('codex', () => {
  it('emits a whole stream', () => {
    const { events, summary } = parse('codex', codexStream);
    expect(events.map(toText)).toEqual([
      'start thread-1 null',
      'progress turn.started:',
      'progress thinking: Erst schauen',
      'tool item_1 Bash: ls',
      'end item_1 Bash: a\nb\n',
      'unknown item.completed/future_item',
      'text Zwei Dateien 🎉',
      'result true Zwei Dateien 🎉 null null',
    ]);
    expect(summary).toMatchObject({
      agentSessionId: 'thread-1',
      tokens: { tokens_in: 40, tokens_out: 20, cache_read: 60, cache_write: 0 },
      tokensCover: 'session',
      lastResult: { success: true },
    });
    expect(events.find(({ type }) => type === 'tool-end')).toMatchObject({ durationMs: 1 });
  });

  const item = (fields: JsonObject, stage = 'item.completed'): JsonObject => ({
    type: stage,
    item: { id: 'i', ...fields },
  });

  it('starts a tool that has only a completion, and none twice', () => {
    const search = { type: 'web_search', query: 'q' };
    expect(texts('codex', [item(search)])).toEqual(['tool i WebSearch: q', 'end i WebSearch: ']);
    const stages = ['item.started', 'item.updated', 'item.completed'];
    expect(
      texts(
        'codex',
        stages.map((stage) => item(search, stage)),
      ),
    ).toEqual(['tool i WebSearch: q', 'progress web_search:', 'end i WebSearch: ']);
  });

  it('reports what went wrong with a tool', () => {
    const command = { type: 'command_execution', command: 'x', status: 'completed' };
    expect(
      texts('codex', [
        item({ ...command, aggregated_output: 'not found\n', exit_code: 127 }),
        item({ ...command, aggregated_output: '', exit_code: 2 }),
        item({ type: 'file_change', changes: [{ path: '/a' }, { path: '/b' }], status: 'failed' }),
        item({ type: 'mcp_tool_call', server: 'gh', tool: 'find', arguments: { a: 1 }, error: { message: 'denied' } }),
        item({
          type: 'mcp_tool_call',
          server: 'gh',
          tool: 'find',
          result: { content: [{ type: 'text', text: 'ok' }] },
        }),
      ]),
    ).toEqual([
      'tool i Bash: x',
      'end i Bash: ERROR not found\n',
      'tool i Bash: x',
      'end i Bash: ERROR exit code 2',
      'tool i Edit: /a (+1)',
      'end i Edit: ERROR failed',
      'tool i mcp__gh__find: ',
      'end i mcp__gh__find: ERROR denied',
      'tool i mcp__gh__find: ',
      'end i mcp__gh__find: ok',
    ]);
  });

  it('reports plans, transient errors, failed turns and old names', () => {
    expect(
      texts('codex', [
        item({
          type: 'todo_list',
          items: [
            { text: 'one', completed: true },
            { text: 'two', completed: false },
          ],
        }),
        item({ type: 'error', message: 'no npm' }),
        { type: 'error', message: 'reconnecting' },
        item({ item_type: 'assistant_message', text: 'hello' }),
        item({ type: 'agent_message', text: 'hel' }, 'item.updated'),
        { type: 'turn.failed', error: { message: 'gave up' } },
        { type: 'turn.completed' },
        { type: 'item.started' },
        { type: 'turn.rate_limited' },
      ]),
    ).toEqual([
      'progress todo_list: 1/2 two',
      'progress ERROR error: no npm',
      'progress ERROR error: reconnecting',
      'text hello',
      'progress agent_message: hel',
      'result false gave up null null',
      'result true null null null',
      'unknown item.started',
      'unknown turn.rate_limited',
    ]);
  });

  it('counts the total of each thread once', () => {
    const turn = (input: number, cached: number, output: number): JsonObject => ({
      type: 'turn.completed',
      usage: { input_tokens: input, cached_input_tokens: cached, output_tokens: output },
    });
    const { summary } = parse('codex', [
      { type: 'thread.started', thread_id: 'a' },
      turn(100, 0, 5),
      turn(300, 150, 9),
      { type: 'turn.completed', usage: null },
      { type: 'thread.started', thread_id: 'b' },
      turn(10, 0, 1),
    ]);
    expect(summary.tokens).toEqual({ tokens_in: 160, tokens_out: 10, cache_read: 150, cache_write: 0 });
  });
});

describe('amp', () => {
  it('emits a whole stream, and the failure in a tool result', () => {
    const { events, summary } = parse('amp', ampStream);
    expect(events.map(toText)).toEqual([
      'start T-1 null',
      'progress user: Zähle',
      'text Ich zähle',
      'tool TU-1 shell_command: wc -l',
      'end TU-1 shell_command: ERROR nicht da\n',
      'text Fertig',
      'result true Fertig null null',
    ]);
    expect(summary.tokens).toEqual({ tokens_in: 0, tokens_out: 12, cache_read: 110, cache_write: 102 });
  });

  it('passes on text that only looks like JSON', () => {
    const result = { type: 'tool_result', tool_use_id: 't', content: '{not json' };
    expect(texts('amp', [{ type: 'user', message: { content: [result] } }])).toEqual(['end t null: {not json']);
  });
});

describe('an unreadable line', () => {
  it.each(['claude', 'codex', 'amp'])('is a warning of %s, and counted', (command) => {
    const parser = parserFor(command, { now: () => 0 });
    expect(parser?.push('oops\n').map(toText)).toEqual(['warning invalid_json']);
    expect(parser?.toSummary()).toMatchObject({ warningCount: 1, lineCount: 0 });
  });
});

describe('withOutputFlags', () => {
  it.each([
    ['claude', ['-p', 'hi'], ['-p', 'hi', '--output-format', 'stream-json', '--verbose']],
    ['claude', ['-p', '--', 'hi'], ['-p', '--output-format', 'stream-json', '--verbose', '--', 'hi']],
    ['claude', ['-p', '--output-format=stream-json', 'hi'], ['-p', '--output-format=stream-json', 'hi', '--verbose']],
    ['claude', ['--verbose', '-p', 'hi'], ['--verbose', '-p', 'hi', '--output-format', 'stream-json']],
    ['claude', ['-p', '--output-format', 'json'], undefined],
    [
      'claude',
      ['-p', '--verbose', '--input-format', 'stream-json'],
      [
        ...['-p', '--verbose', '--input-format', 'stream-json'],
        ...['--output-format', 'stream-json', '--replay-user-messages'],
      ],
    ],
    [
      'claude',
      ['-p', '--input-format=stream-json', '--replay-user-messages'],
      [
        ...['-p', '--input-format=stream-json', '--replay-user-messages'],
        ...['--output-format', 'stream-json', '--verbose'],
      ],
    ],
    ['codex', ['exec', 'hi'], ['exec', '--json', 'hi']],
    ['codex', ['-m', 'gpt-5', 'e', 'resume', '--last', 'hi'], ['-m', 'gpt-5', 'e', '--json', 'resume', '--last', 'hi']],
    ['codex', ['exec', '--experimental-json', 'hi'], ['exec', '--experimental-json', 'hi']],
    ['codex', ['hi'], undefined],
    ['amp', ['-x', 'hi'], ['-x', 'hi', '--stream-json']],
    ['amp', ['-x', 'hi', '--stream-json-thinking'], ['-x', 'hi', '--stream-json-thinking']],
    ['vim', ['x'], undefined],
  ])('%s %j', (command, args, expected) => {
    const before = [...args];
    expect(withOutputFlags(command, args)).toEqual(expected);
    expect(args).toEqual(before);
  });

  it('equal outputFlags', () => {
    expect(outputFlags('claude')).toEqual(['--output-format', 'stream-json', '--verbose']);
    expect(outputFlags('codex')).toEqual(['--json']);
    expect(outputFlags('amp')).toEqual(['--stream-json']);
  });
});

describe('usage of a result', () => {
  it('is not added to the messages’ cost', () => {
    const { summary } = parse('claude', [initLine(), resultLine({ usage: toUsageFields(1000, 1000) })]);
    expect(summary.tokens).toEqual({ tokens_in: 0, tokens_out: 0, cache_read: 0, cache_write: 0 });
  });
});
