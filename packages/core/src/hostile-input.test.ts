import { describe, expect, it } from 'vitest';
import { parseTranscript } from './index.ts';
import type { JsonObject } from './lines/json.ts';
import { readJsonLine } from './lines/json-line.ts';
import { parserFor } from './live/index.ts';
import { streamTranscript } from './parse/stream-transcript.ts';
import { collectGarbage } from './testing/collect-garbage.ts';
import { assistantLine, nestedArrays, only, toJsonl, userLine } from './testing/transcript-lines.ts';

const MEBIBYTE = 1024 * 1024;

/** Bytes used by this process, including buffers outside the heap. */
function usedMemory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('names that mean something to JavaScript', () => {
  it('are data wherever they occur', async () => {
    const { messages, contentBlocks, errors, notices, metadata } = await parseTranscript(
      's',
      toJsonl(
        '{"__proto__":{"type":"user"}}',
        '{"type":"__proto__"}',
        '{"type":"user","__proto__":{"isMeta":true},"message":{"__proto__":{"content":"x"}}}',
        '{"type":"user","message":{"content":[{"type":"__proto__","__proto__":{"polluted":1}}]}}',
        '{"type":"assistant","message":{"id":"__proto__","content":"a","usage":{"__proto__":{"input_tokens":5}}}}',
        '{"type":"assistant","message":{"id":"__proto__","content":"b"}}',
        '{"type":"user","message":{"content":[{"type":"tool_use","input":{"__proto__":{"a":1},"constructor":2}}]}}',
      ),
    );
    expect(errors.map(({ error }) => error)).toEqual(['Missing type field']);
    expect(notices.map(({ error }) => error)).toEqual([
      'Unknown line type: __proto__',
      'Unknown type of content block: __proto__',
    ]);
    expect(messages.map(({ provider_message_id, tokens_in }) => [provider_message_id, tokens_in])).toEqual([
      [null, null],
      [null, null],
      ['__proto__', 0],
      [null, null],
    ]);
    expect(messages[0]?.metadata).toEqual({});
    expect(contentBlocks.map(({ block_type }) => block_type)).toEqual(['__proto__', 'text', 'text', 'tool_use']);
    expect(JSON.stringify(contentBlocks[0]?.metadata)).toBe('{"content":{"__proto__":{"polluted":1}}}');
    expect(JSON.stringify(contentBlocks[3]?.tool_input)).toBe('{"__proto__":{"a":1},"constructor":2}');
    expect(Object.keys(metadata.lineTypes)).toEqual(['__proto__', 'user', 'assistant']);
    expect(({} as JsonObject).polluted).toBeUndefined();
  });

  it('may occur twice, and the last one counts', async () => {
    const { messages, contentBlocks } = await parseTranscript(
      's',
      '{"type":"progress","type":"user","message":{"content":"a","content":"b"},"uuid":"1","uuid":"2"}\n',
    );
    expect(only(messages).uuid).toBe('2');
    expect(only(contentBlocks).content_text).toBe('b');
  });
});

describe('nesting of 100,000 levels', () => {
  const deep = nestedArrays(100_000);

  it.each([
    ['in tool input', `{"type":"assistant","message":{"content":[{"type":"tool_use","input":${deep}}]}}`, 1],
    ['in a tool result', `{"type":"user","message":{"content":[{"type":"tool_result","content":[${deep}]}]}}`, 1],
    ['in an unknown block', `{"type":"user","message":{"content":[{"type":"new","x":${deep}}]}}`, 1],
    ['in the source of an image', `{"type":"user","message":{"content":[{"type":"image","source":{"x":${deep}}}]}}`, 1],
    ['as a block', `{"type":"user","message":{"content":[${deep}]}}`, 0],
    ['as content', `{"type":"user","message":{"content":${deep}}}`, 0],
    ['as the message', `{"type":"user","message":${deep}}`, 0],
    ['as the result of a tool', `{"type":"user","toolUseResult":${deep},"forkedFrom":{"a":${deep}}}`, 0],
    ['beside a NUL', `{"type":"user","x":${deep},"message":{"content":"\\u0000"}}`, 1],
    ['in usage', `{"type":"assistant","message":{"usage":{"input_tokens":${deep},"cache_creation":${deep}}}}`, 0],
  ])('%s', async (_name, line, blockCount) => {
    const { messages, contentBlocks, errors } = await parseTranscript('s', toJsonl(line, userLine('after')));
    expect(messages).toHaveLength(2);
    expect(contentBlocks).toHaveLength(blockCount + 1);
    expect(errors).toEqual([]);
    // The result can be written as JSON.
    expect(JSON.stringify([messages, contentBlocks]).length).toBeLessThan(5000);
  });

  it('is survived as a line, and in truncated objects', async () => {
    const { errors } = await parseTranscript('s', toJsonl(deep, '{"a":'.repeat(100_000)));
    expect(errors.map(({ error }) => error)).toEqual(['Missing type field', 'Invalid JSON']);
  });
});

describe('numbers', () => {
  it('out of range are neither tokens nor timestamps', async () => {
    const line =
      '{"type":"assistant","timestamp":1e400,"message":{"id":1e400,"content":"","usage":{"input_tokens":1e400,"output_tokens":99999999999999999999}}}';
    const { messages, stats, warnings } = await parseTranscript('s', toJsonl(line));
    expect(only(messages)).toMatchObject({ tokens_in: 0, tokens_out: 0, cost_usd: 0, timestamp: null });
    expect(stats.tokens_out).toBe(0);
    expect(warnings.map(({ code }) => code)).toEqual(['invalid_timestamp', 'invalid_usage', 'invalid_usage']);
  });

  it('give exact costs up to the largest token count', async () => {
    const usage = {
      input_tokens: 1e8,
      output_tokens: 1e8,
      cache_read_input_tokens: 1e8,
      cache_creation_input_tokens: 1e8,
    };
    const lines = Array.from({ length: 40 }, (_, index) => assistantLine(`m${index}`, null, { usage }));
    const { messages, stats } = await parseTranscript('s', toJsonl(...lines));
    expect(messages[0]?.cost_usd).toBe(2_205);
    expect(stats).toMatchObject({ tokens_in: 4e9, cost_estimate_usd: 40 * 2_205 });
  });
});

describe('floods', () => {
  it('become one issue each if they are faults on one line', async () => {
    const elements = JSON.stringify(Array(200_000).fill(5));
    const { errors, warnings, contentBlocks } = await parseTranscript(
      's',
      toJsonl('{}'.repeat(500_000), `{"type":"user","message":{"content":${elements}}}`, '{"type":"x"}'.repeat(1000)),
    );
    expect(contentBlocks).toEqual([]);
    expect(errors.length + warnings.length).toBeLessThan(10);
  });

  it('are cut, and reported, if they are blocks', async () => {
    const content = Array(25_000).fill({ type: 'text', text: 'x' });
    const { contentBlocks, errors } = await parseTranscript('s', toJsonl(userLine(content)));
    expect(contentBlocks).toHaveLength(10_000);
    expect(errors.map(({ code, count }) => [code, count])).toEqual([['too_many_blocks', 15_000]]);
  });

  it('arrive in bounded batches if they are tiny lines', async () => {
    let lines = 0;
    for await (const { messages, issues } of streamTranscript('s', '0\n'.repeat(300_000))) {
      expect(messages.length + issues.length).toBeLessThan(150_000);
      lines += issues.length;
    }
    expect(lines).toBe(300_000);
  });
});

describe('a line of very many values', () => {
  const many = `[${'{},'.repeat(2_000_000)}{}]`;
  const heapUsed = (): number => process.memoryUsage().heapUsed;
  const answer = (content: string): string =>
    `{"type":"assistant","message":{"id":"m1","content":${content},"usage":{"input_tokens":5,"output_tokens":7}}}`;
  const lines = [toJsonl(userLine('before')).trim(), answer(many), toJsonl(userLine('after')).trim(), ''].join('\n');

  it('loses the last of them, and neither its usage nor the lines around it', async () => {
    const { messages, stats, errors } = await parseTranscript('s', lines, { maxLineBytes: 64 * MEBIBYTE });
    expect(messages.map(({ line_number }) => line_number)).toEqual([1, 2, 3]);
    expect(stats).toMatchObject({ tokens_in: 5, tokens_out: 7 });
    expect(errors).toMatchObject([
      { code: 'line_cut', lineNumber: 2, error: 'Line of more than 500,000 values: elements left out' },
      { code: 'too_many_blocks', lineNumber: 2 },
    ]);
    const [{ count = 0 } = {}] = errors;
    expect(count).toBeGreaterThan(1_500_000);
    expect(count).toBeLessThan(2_000_001);
  });

  it('is read the same way while the agent runs', () => {
    const parser = parserFor('claude', { now: () => 0 });
    const events = [...(parser?.push(Buffer.from(lines)) ?? []), ...(parser?.finish() ?? [])];
    const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.warning] : []));
    expect(warnings).toContainEqual(expect.objectContaining({ code: 'line_cut', lineNumber: 2 }));
    expect(parser?.toSummary()).toMatchObject({ lineCount: 3, tokens: { tokens_in: 5, tokens_out: 7 } });
  });

  it('costs no memory for those that are left out', () => {
    const before = heapUsed();
    const json = readJsonLine(Buffer.from(answer(many)), () => undefined);
    // Reading all values takes some 130 MB, see `MAX_LINE_VALUES`.
    expect(heapUsed() - before).toBeLessThan(60 * MEBIBYTE);
    expect(json?.isBroken).toBe(false);
  });

  it('may be in a text of it, which stays a text, and is reported', async () => {
    const { toolCalls, contentBlocks, errors } = await parseTranscript(
      's',
      toJsonl(
        { type: 'session_meta', payload: { id: 's', cwd: '/a', cli_version: '0.50.0' } },
        { type: 'response_item', payload: { type: 'function_call', name: 'shell', call_id: 'c', arguments: many } },
        {
          type: 'response_item',
          payload: { type: 'function_call', name: 'shell', call_id: 'd', arguments: '{"a":1}' },
        },
      ),
      { format: 'codex-rollout', maxLineBytes: 64 * MEBIBYTE },
    );
    expect(errors).toMatchObject([{ code: 'line_cut', lineNumber: 2, error: 'JSON of too many values left as text' }]);
    expect(toolCalls).toHaveLength(2);
    expect(contentBlocks.map(({ tool_input }) => typeof tool_input)).toEqual(['string', 'object']);
  });
});

describe('memory', () => {
  it('does not hold a line of 200 MB', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    await collectGarbage();
    const before = usedMemory();
    let peak = 0;
    async function* source(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(toJsonl(userLine('before')));
      for (let index = 0; index < 200 * 16; index++) {
        yield chunk;
        if (index % 100 === 0) peak = Math.max(peak, usedMemory());
      }
      yield Buffer.from(`\n${toJsonl(userLine('after'))}`);
    }
    const { messages, errors, metadata } = await parseTranscript('s', source());
    expect(messages.map(({ line_number }) => line_number)).toEqual([1, 3]);
    expect(errors.map(({ error, lineNumber }) => [error, lineNumber])).toEqual([['Line exceeds max size', 2]]);
    expect(metadata.byteLength).toBeGreaterThan(200 * MEBIBYTE);
    // The line stays in memory up to the limit of 5 MiB; the rest is uncollected garbage.
    expect(peak - before).toBeLessThan(80 * MEBIBYTE);
  });

  it('is freed of long texts whose beginning is in rows', async () => {
    const long = 'é'.repeat(500_000);
    const lineOf = (index: number): JsonObject =>
      assistantLine(
        `m${index}`,
        [{ type: 'tool_use', name: `${index}${long}`, id: long, input: {} }],
        {},
        { error: long },
      );
    async function* source(): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 50; index++) yield Buffer.from(toJsonl(lineOf(index)));
    }
    await collectGarbage();
    const before = usedMemory();
    const { messages, contentBlocks } = await parseTranscript('s', source());
    await collectGarbage();
    expect(messages.length + contentBlocks.length).toBe(100);
    // 150 MB of text were parsed.
    expect(usedMemory() - before).toBeLessThan(60 * MEBIBYTE);
  });
});
