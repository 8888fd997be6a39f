import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../lines/json.ts';
import { parseTranscript } from '../parse/parse-transcript.ts';
import { assistantLine, only, resultLine, toJsonl, toUsageFields, userLine } from '../testing/transcript-lines.ts';

const parse = (...lines: readonly JsonObject[]) => parseTranscript('s', toJsonl(...lines));
const eventsOf = async (...lines: readonly JsonObject[]) => (await parse(...lines)).events;
const system = (subtype: string, fields: JsonObject = {}): JsonObject => ({ type: 'system', subtype, ...fields });
const queued = (prompt: JsonValue, fields: JsonObject = {}, line: JsonObject = {}): JsonObject => ({
  type: 'attachment',
  attachment: { type: 'queued_command', prompt, ...fields },
  ...line,
});

describe('an event', () => {
  it('has every field', async () => {
    const line = userLine('Fix it', { uuid: 'u1', timestamp: '2026-01-01T00:00:00Z', promptSource: 'typed' });
    expect(await eventsOf({ type: 'mode' }, line)).toEqual([
      {
        event_key: 'prompt:u1',
        kind: 'prompt',
        session_id: 's',
        timestamp: '2026-01-01T00:00:00.000Z',
        is_subagent: false,
        name: 'typed',
        details: {},
        line_number: 2,
      },
    ]);
  });

  it('is emitted once for copies of its line, and identified by its place if it has no uuid', async () => {
    const known = userLine('a', { uuid: 'u1' });
    const events = await eventsOf(known, userLine('a'), userLine('a'), known);
    expect(events.map(({ event_key }) => event_key)).toEqual(['prompt:u1', 'prompt:s:2', 'prompt:s:3']);
  });
});

describe('prompts', () => {
  it('are what a user typed in the main conversation', async () => {
    const { events, stats } = await parse(
      userLine('one'),
      userLine('meta', { isMeta: true }),
      userLine('summary', { isCompactSummary: true }),
      userLine('to a sub-agent', { isSidechain: true }),
      userLine('<system-reminder>x'),
      resultLine('t1', 'x'),
      userLine([{ type: 'text', text: 'two' }]),
    );
    expect(events.map(({ kind, line_number }) => [kind, line_number])).toEqual([
      ['prompt', 1],
      ['prompt', 7],
    ]);
    expect(stats).toMatchObject({ prompt_count: 2, turn_count: 0 });
  });

  it('may be queued while the agent works', async () => {
    const events = await eventsOf(
      queued('one', { commandMode: 'prompt', origin: { kind: 'human' } }),
      queued([{ type: 'text', text: 'two' }, { type: 'image' }]),
      queued('<task-notification>x', { commandMode: 'task-notification' }),
      queued('<task-notification>x'),
      queued('x', { origin: { kind: 'task-notification' } }),
      queued('x', { isMeta: true }),
      queued('x', {}, { isSidechain: true }),
      queued(null),
      { type: 'attachment', attachment: { type: 'file', prompt: 'x' } },
    );
    expect(events.map(({ kind, name, line_number }) => [kind, name, line_number])).toEqual([
      ['prompt', 'queued_command', 1],
      ['prompt', 'queued_command', 2],
    ]);
  });

  it('make a turn if a response of the main conversation follows', async () => {
    const answer = (name: string, fields: JsonObject = {}, message: JsonObject = {}) =>
      assistantLine(`msg_${name.padStart(24, '0')}`, 'x', { usage: toUsageFields(1, 9), ...message }, fields);
    const { stats } = await parse(
      answer('0'),
      userLine('one'),
      answer('1'),
      answer('2'),
      userLine('two'),
      answer('1'),
      answer('3', { isSidechain: true }),
      answer('4', {}, { model: '<synthetic>' }),
      assistantLine('msg_00000000000000000000005', 'no usage'),
      userLine('three'),
      queued('four'),
      answer('6'),
    );
    expect(stats).toMatchObject({ prompt_count: 4, turn_count: 2 });
  });
});

describe('slash commands', () => {
  const markup =
    '<command-message>x</command-message>\n<command-name>/review</command-name><command-args>1</command-args>';

  it('are recognised by their markup, and are prompts unless they only operate the program', async () => {
    const events = await eventsOf(
      userLine(markup, { uuid: 'u1' }),
      userLine('<command-name>/clear</command-name>'),
      userLine(`I saw ${markup}`),
      userLine(markup, { isMeta: true }),
    );
    expect(events.map(({ kind, name, line_number }) => [kind, name, line_number])).toEqual([
      ['slash_command', '/review', 1],
      ['prompt', null, 1],
      ['slash_command', '/clear', 2],
      ['prompt', null, 3],
    ]);
  });

  it('may be on a system line', async () => {
    const content = '<command-name>/model</command-name>';
    const output = system('local_command', { content: '<local-command-stdout>ok</local-command-stdout>' });
    expect(
      await eventsOf(system('local_command', { content }), output, system('informational', { content })),
    ).toMatchObject([{ kind: 'slash_command', name: '/model', line_number: 1 }]);
  });
});

describe('other events', () => {
  it('are compactions, by their trigger', async () => {
    const compactMetadata = { trigger: 'auto', preTokens: 167_094, postTokens: 900, other: { a: 1 } };
    const microcompactMetadata = { trigger: 'manual', preTokens: 'many' };
    expect(
      await eventsOf(
        system('compact_boundary', { compactMetadata }),
        system('microcompact_boundary', { microcompactMetadata }),
        system('compact_boundary', { isSidechain: true }),
      ),
    ).toMatchObject([
      {
        kind: 'compaction',
        name: 'auto',
        details: { subtype: 'compact_boundary', preTokens: 167_094, postTokens: 900 },
      },
      { kind: 'compaction', name: 'manual', details: { subtype: 'microcompact_boundary' } },
      { kind: 'compaction', name: null, is_subagent: true },
    ]);
  });

  it('are errors that the API gave to the agent', async () => {
    const line = (fields: JsonObject) => assistantLine('m', 'x', { model: '<synthetic>' }, fields);
    expect(
      await eventsOf(
        line({ isApiErrorMessage: true, apiErrorStatus: 529 }),
        line({ isApiErrorMessage: true, error: 'rate_limit' }),
        line({ isApiErrorMessage: true, error: { status: 500 } }),
        line({ isApiErrorMessage: true }),
        line({ isApiErrorMessage: false, error: 'x' }),
      ),
    ).toMatchObject([
      ...['529', 'rate_limit', '500', null].map((name) => ({ kind: 'api_error', name })),
      { kind: 'turn', name: 'conversation' },
    ]);
  });

  it('are retries, by status or any other fact', async () => {
    const error = { status: 529, error: { type: 'error', error: { type: 'overloaded_error', message: 'secret' } } };
    const retry = { retryInMs: 547.9, retryAttempt: 1, maxRetries: 10 };
    expect(
      await eventsOf(
        system('api_error', { error, ...retry }),
        system('api_error', { error: { cause: { code: 'ECONNRESET' } }, ...retry }),
        system('api_error', { error: {} }),
      ),
    ).toMatchObject([
      { kind: 'api_retry', name: '529', details: { ...retry, type: 'overloaded_error' } },
      { kind: 'api_retry', name: 'ECONNRESET', details: { ...retry, type: 'ECONNRESET' } },
      { kind: 'api_retry', name: null, details: {} },
    ]);
  });

  it('are pull requests, each once', async () => {
    const link = (prNumber: number, prUrl: string | null): JsonObject => ({
      type: 'pr-link',
      prNumber,
      prUrl,
      prRepository: 'o/r',
      timestamp: '2026-01-01T00:00:00Z',
    });
    const events = await eventsOf(link(1, 'https://x/1'), link(2, 'https://x/2'), link(1, 'https://x/1'));
    expect(events).toMatchObject([
      {
        kind: 'pull_request',
        name: 'https://x/1',
        details: { number: 1, repository: 'o/r' },
        event_key: 'pull_request:s:1',
      },
      { kind: 'pull_request', name: 'https://x/2', details: { number: 2, repository: 'o/r' } },
    ]);
    expect(only(await eventsOf(link(3, null))).name).toBeNull();
  });
});
