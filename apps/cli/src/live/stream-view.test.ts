import { parserFor, toCloseEvent } from '@recount/core/live';
import { expect, it } from 'vitest';
import { createCapture } from '../testing/fake-context.ts';
import { createScreen } from './screen.ts';
import { createJsonView, createLineView, type StreamView } from './stream-view.ts';

const layout = {
  agent: 'codex',
  isVerbose: false,
  showsText: true,
  showsProgress: false,
  isColored: false,
  maxWidth: Number.POSITIVE_INFINITY,
};
const started = { type: 'thread.started', thread_id: 't' };
const message = { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'Hallo' } };
const done = { type: 'turn.completed', usage: {} };
const failed = { type: 'turn.failed', error: { message: 'no\u0007more' } };
const ok = { exitCode: 0, signal: null };

async function show(
  createView: (screen: ReturnType<typeof createScreen>) => StreamView,
  lines: object[],
  exit?: { exitCode: number | null; signal: string | null; stderrTail?: string },
  columns?: number,
): Promise<string[]> {
  const { stream, text } = createCapture(columns);
  const view = createView(createScreen({ stdout: stream, stderr: createCapture().stream }));
  const parser = parserFor('codex', { now: () => 0 });
  for (const event of parser?.push(lines.map((line) => `${JSON.stringify(line)}\n`).join('')) ?? []) {
    await view.showEvent(event);
  }
  await view.showEvent(toCloseEvent(0, exit, parser?.toSummary()));
  return text().trimEnd().split('\n');
}

it.each<[string, object[], Parameters<typeof show>[2], string[]]>([
  ['a result', [started, message, done], ok, ['[codex] "Hallo"', '[codex] Complete']],
  ['no result', [started, message], ok, ['[codex] "Hallo"', '[codex] Complete']],
  ['no result, no exit', [message], undefined, ['[codex] "Hallo"', '[codex] ERROR: The stream ended within a turn']],
  ['work after a result', [done, message], ok, ['[codex] Complete', '[codex] "Hallo"', '[codex] Complete']],
  ['a failure', [started, failed], { exitCode: 1, signal: null }, ['[codex] ERROR: no more']],
  [
    'a failure after the result; stderr is not repeated',
    [done],
    { exitCode: 1, signal: null, stderrTail: 'stack' },
    ['[codex] Complete', '[codex] ERROR: The agent exited with code 1'],
  ],
  [
    'a signal',
    [failed],
    { exitCode: null, signal: 'SIGKILL' },
    ['[codex] ERROR: no more', '[codex] ERROR: The agent was ended by SIGKILL'],
  ],
])('the end of a stream: %s', async (_name, lines, exit, expected) => {
  expect(await show((screen) => createLineView(screen, layout), lines, exit)).toEqual(expected);
});

it('gives programs every event, and how the stream ended', async () => {
  const exit = { exitCode: 3, signal: null, stderrTail: 'bad\u009B' };
  const lines = await show(createJsonView, [started, message, failed], exit, 80);
  expect(lines.join('')).not.toMatch(/\p{Cc}/u);
  const values = lines.map((line) => JSON.parse(line));
  expect(values.map(({ type }) => type)).toEqual(['session-start', 'text', 'result', 'close']);
  expect(values.at(-1)).toMatchObject({ success: false, error: 'The agent exited with code 3: bad\u009B', exit });
});

it('shows what an agent says in plain words, and counts unreadable lines', async () => {
  const { stream, text } = createCapture();
  const view = createLineView(createScreen({ stdout: stream, stderr: createCapture().stream }), layout);
  const parser = parserFor('codex', { now: () => 0, quotesLines: true, maxBufferBytes: 1000 });
  const torn = `{"type":"item.comp ${'x'.repeat(200)}`;
  const bytes = `Invalid API key · Please run /login\n${torn}\n{"oops\n${'y'.repeat(2000)}\n`;
  for (const event of parser?.push(bytes) ?? []) await view.showEvent(event);
  await view.showEvent(toCloseEvent(0, ok));
  expect(text().trimEnd().split('\n')).toEqual([
    '[codex] Invalid API key · Please run /login',
    `[codex] WARNING: Unreadable line (line 2): ${torn.slice(0, 100)}`,
    '[codex] WARNING: More than 1000 bytes without a line feed, so the line was dropped (line 4)',
    '[codex] WARNING: 2 lines could not be read',
    '[codex] Complete',
  ]);
});

it('never quotes a line in JSON, which may go to a log', async () => {
  const { stream, text } = createCapture();
  const view = createJsonView(createScreen({ stdout: stream, stderr: createCapture().stream }));
  for (const event of parserFor('codex', { now: () => 0 })?.push('{"secret\n') ?? []) await view.showEvent(event);
  expect(text()).toContain('invalid_json');
  expect(text()).not.toContain('secret');
});

it('shows a result whose call was never seen, marked as such', async () => {
  const { stream, text } = createCapture();
  const view = createLineView(createScreen({ stdout: stream, stderr: createCapture().stream }), layout);
  let timeMs = 0;
  const parser = parserFor('claude', { now: () => timeMs });
  const result = (id: string, more = {}): string => {
    const content = [{ type: 'tool_result', tool_use_id: id, content: 'twelve files', ...more }];
    return `${JSON.stringify({ type: 'user', session_id: 's', message: { role: 'user', content } })}\n`;
  };
  expect(parser?.push(result('t1') + result('t2', { is_error: true }))).toEqual([]);
  timeMs = 2000;
  for (const event of parser?.poll() ?? []) await view.showEvent(event);
  expect(text().trimEnd().split('\n')).toEqual([
    '  -> twelve files (of a call not seen)',
    '[codex] ERROR: twelve files (of a call not seen)',
  ]);
});
