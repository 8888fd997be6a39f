import { describe, expect, it } from 'vitest';
import type { JsonObject } from './lines/json.ts';
import { parserFor } from './live/index.ts';
import { parseTranscript } from './parse/parse-transcript.ts';
import { assistantLine, nestedArrays, resultLine, toJsonl, userLine } from './testing/transcript-lines.ts';

const LENGTH = 30_000;
/** Processor time, not wall clock. Anything quadratic in the length takes minutes. */
const MAX_CPU_US_PER_TEXT = 5e6;

const repeat = (part: string): string => part.repeat(LENGTH / part.length);

/** Texts that make a careless regular expression or loop very slow. */
const texts: [name: string, text: string][] = [
  ...['"', "'", '\\', ' ', '\n', '\t', '#', '/', '&', '(', '{', '-', '<', '1', '_', '\0', '\ud800', '漢', '😀'],
  ...['#\n', 'a=', '<command-name>', '<tool_use_error>', 'Error: ', 'mcp__', 'sudo ', 'cd a && ', '\u001b['],
].map((part): [string, string] => [JSON.stringify(part), repeat(part)]);
texts.push(
  ['spaces before a letter', `${repeat(' ')}x`],
  ['a permission without an end', `Permission to use ${repeat('a')}`],
  ['a hook without an end', `PreToolUse:${repeat('a')}`],
  ['a time with spaces', `2026-01-01T00:00${repeat(' ')}`],
);

const toLines = (text: string): JsonObject[] => [
  userLine([{ type: 'text', text }], { cwd: text, timestamp: text, gitBranch: text }),
  userLine(`<command-name>${text}`),
  assistantLine(text, [{ type: 'tool_use', id: text, name: text, input: text }], { model: text }, { uuid: text }),
  assistantLine('m', [{ type: 'tool_use', id: 't', name: 'Bash', input: { command: text } }]),
  assistantLine('m', [{ type: 'tool_use', id: 'u', name: 'Bash', input: { command: `cd ${text}` } }]),
  assistantLine('m', [{ type: 'thinking', thinking: '', signature: text }]),
  resultLine('t', text, { toolUseResult: text }, true),
  resultLine('u', [{ type: 'image', source: { type: 'base64', media_type: text, data: text } }], {}, true),
  { type: 'system', subtype: 'local_command', content: `<command-${text}` },
  { type: 'system', subtype: 'api_error', error: text },
  { type: 'pr-link', prUrl: text, prRepository: text },
  { type: text, [text]: text },
  { type: 'result', subtype: text, result: text, errors: [text], session_id: text },
  { type: 'item.completed', item: { id: text, type: 'command_execution', command: text, aggregated_output: text } },
  { type: 'stream_event', session_id: text, event: { type: 'content_block_delta', delta: { partial_json: text } } },
];

describe('a long text in place of any other', () => {
  it.each(texts)('%s', async (_name, text) => {
    const before = process.threadCpuUsage();
    const input = toJsonl(...toLines(text), userLine('after'));
    const { messages } = await parseTranscript('s', input);
    expect(messages.length).toBeGreaterThan(5);
    for (const agent of ['claude', 'codex', 'amp']) {
      const parser = parserFor(agent, { now: () => 0 });
      parser?.push(input);
      parser?.finish();
      expect(parser?.toSummary().lineCount).toBe(16);
    }
    expect(process.threadCpuUsage(before).user).toBeLessThan(MAX_CPU_US_PER_TEXT);
  });

  it('is survived as a line', async () => {
    const lines = [...texts.map(([, text]) => text), repeat('{"a":'), repeat('{"type":"user"}'), repeat('{"')];
    // Except for line feeds, which would split the line.
    const input = lines.map((line) => line.replaceAll('\n', ' ')).join('\n');
    const { errors } = await parseTranscript('s', `${input}\n`);
    expect(errors.length).toBeGreaterThan(20);
  });
});

describe('an array nested 100,000 levels deep', () => {
  const deep = nestedArrays(100_000);

  it.each(['type', 'subtype', 'event', 'timestamp', 'parent_tool_use_id', 'error', 'usage'])(
    'in place of %s on a line of a stream is ignored by the parser',
    async (field) => {
      const line = `{"session_id":"s","type":"stream_event","${field}":${deep}}`;
      const { metadata, errors } = await parseTranscript('s', toJsonl(line, userLine('after')));
      expect(metadata.lineTypes).toMatchObject({ user: 1 });
      expect(errors.length).toBe(field === 'type' ? 1 : 0);
    },
  );

  it.each([
    ['claude', `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"x","input":${deep}}]}}`],
    ['claude', `{"type":"some_new_type","value":${deep}}`],
    ['codex', `{"type":"item.completed","item":{"id":"i","type":"mcp_tool_call","result":${deep},"status":"failed"}}`],
    ['amp', `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":${deep}}]}}`],
  ])('is left out of the events of %s with a warning: %.30s…', (agent, line) => {
    const parser = parserFor(agent, { now: () => 0 });
    const events = [...(parser?.push(`${line}\n`) ?? []), ...(parser?.push('{"type":"system"}\n') ?? [])];
    expect(JSON.stringify(events)).toContain('"nesting_too_deep"');
    expect(parser?.toSummary()).toMatchObject({ lineCount: 2 });
  });

  it('counts as absent in place of a flag', () => {
    const events = parserFor('claude', { now: () => 0 })?.push(
      `{"type":"result","subtype":"success","is_error":${deep}}\n`,
    );
    expect(JSON.parse(JSON.stringify(events))).toMatchObject([{ type: 'result' }]);
  });
});

describe('an object that cannot be converted to a text', () => {
  const odd = '{"toString":null,"valueOf":[]}';
  const message = `{"id":${odd},"content":[{"type":"tool_result","tool_use_id":${odd},"is_error":${odd}}],"usage":${odd}}`;

  it.each(['type', 'subtype', 'is_error', 'session_id', 'timestamp', 'uuid', 'item', 'event'])(
    'in place of %s',
    async (field) => {
      for (const type of [
        'user',
        'assistant',
        'system',
        'result',
        'stream_event',
        'item.completed',
        'turn.completed',
      ]) {
        const input = `{"type":"${type}","session_id":"s","message":${message},"usage":${odd},"${field}":${odd}}\n`;
        expect((await parseTranscript('s', input)).metadata.lineCount).toBe(1);
        for (const agent of ['claude', 'codex', 'amp']) {
          const parser = parserFor(agent, { now: () => 0 });
          parser?.push(input);
          expect(parser?.toSummary().lineCount).toBe(1);
        }
      }
    },
  );
});

describe('counts of an API response', () => {
  it('are dropped if they are impossible, so that sums of millions stay in range', async () => {
    const usage = { input_tokens: 1e8 + 1, output_tokens: 5, server_tool_use: { web_search_requests: 1001 } };
    const { stats, warnings } = await parseTranscript('s', toJsonl(assistantLine('m', 'x', { usage })));
    expect(stats).toMatchObject({ tokens_in: 0, tokens_out: 5, web_search_count: 0 });
    expect(warnings.map(({ error }) => error)).toEqual([
      'Usage field input_tokens is no plausible figure',
      'Usage field web_search_requests is no plausible figure',
    ]);
  });

  it('summed over many tool uses are bounded as well', async () => {
    const uses = Array.from({ length: 3 }, (_, index) => ({
      type: 'tool_use',
      id: `t${index}`,
      name: 'WebSearch',
      input: {},
    }));
    const results = uses.map(({ id }) => resultLine(id, 'x', { toolUseResult: { searchCount: 1000 } }));
    const usage = { input_tokens: 1, output_tokens: 1 };
    const { stats } = await parseTranscript('s', toJsonl(assistantLine('m', uses, { usage }), ...results));
    expect(stats.web_search_count).toBe(1000);
  });

  it.each(['-5', '1.5', '1e400', '9007199254740993', '"many"'])('of a Codex turn: %s is dropped', (count) => {
    const parser = parserFor('codex', { now: () => 0 });
    const events = parser?.push(`{"type":"turn.completed","usage":{"input_tokens":${count},"output_tokens":7}}\n`);
    expect(parser?.toSummary().tokens).toMatchObject({ tokens_in: 0, tokens_out: 7 });
    expect(events).toContainEqual(expect.objectContaining({ type: 'warning' }));
  });
});
