import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  IDENTIFY_HEAD_BYTES,
  identifyTranscript,
  type ParseOptions,
  type ParseResult,
  parseTranscript,
} from '@recount/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';
import { countTranscript } from './independent-count.ts';

const corpus = findCorpus();
const isCorpusHere = corpus !== undefined;

/** Contents by path below the corpus, for all agents. */
const files = new Map<string, Buffer>();

beforeAll(() => {
  if (corpus === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'recount-corpus-'));
  for (const archive of readdirSync(corpus).filter((name) => name.endsWith('.tar.gz'))) {
    const target = join(folder, basename(archive, '.tar.gz'));
    mkdirSync(target);
    execFileSync('tar', ['-xzf', join(corpus, archive), '-C', target]);
  }
  for (const path of globSync('**/*.jsonl', { cwd: folder })) files.set(path, readFileSync(join(folder, path)));
  rmSync(folder, { recursive: true });
});

const isClaudeCode = (path: string) => path.startsWith('claude-code__');

function filesOf(prefix: string): [path: string, bytes: Buffer][] {
  const found = [...files].filter(([path]) => path.startsWith(prefix));
  expect(found, prefix).not.toHaveLength(0);
  return found;
}

function fileOf(path: string): Buffer {
  const bytes = files.get(path);
  if (bytes === undefined) throw new Error(`Not in the corpus: ${path}`);
  return bytes;
}

const parse = (bytes: Uint8Array, options?: ParseOptions) => parseTranscript('session', bytes, options);

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

function expectSame<T>(actual: T, expected: T): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

function countBy<T>(values: readonly T[], toKey: (value: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[toKey(value)] = (counts[toKey(value)] ?? 0) + 1;
  return counts;
}

/** The figures that `countTranscript` counts, from a parse result. */
function toFigures({ messages, contentBlocks, apiResponses, stats, errors, metadata }: ParseResult) {
  const errorCount = (...codes: string[]) =>
    errors.filter(({ code }) => codes.includes(code)).reduce((sum, { count }) => sum + count, 0);
  const messageCount = (type: string) => messages.filter(({ message_type }) => message_type === type).length;
  return {
    messages: stats.total_messages,
    userMessages: stats.user_messages,
    assistantMessages: stats.assistant_messages,
    systemMessages: messageCount('system'),
    summaryMessages: messageCount('summary'),
    contentBlocks: contentBlocks.length,
    blocksByType: countBy(contentBlocks, ({ block_type }) => block_type),
    toolUses: stats.tool_use_count,
    thinkingBlocks: stats.thinking_blocks,
    subagents: stats.subagent_count,
    progressResponses: apiResponses.filter(({ source }) => source === 'progress').length,
    tokensIn: stats.tokens_in ?? 0,
    tokensOut: stats.tokens_out ?? 0,
    tokensOutOfMessages: messages.reduce((sum, { tokens_out }) => sum + (tokens_out ?? 0), 0),
    cacheRead: stats.cache_read ?? 0,
    cacheWrite: stats.cache_write ?? 0,
    invalidJsonLines: errorCount('invalid_json', 'truncated_last_line'),
    missingTypeLines: errorCount('missing_type'),
    firstTimestamp: metadata.firstTimestamp,
    lastTimestamp: metadata.lastTimestamp,
    perMessageId: new Map(
      messages.flatMap(({ provider_message_id, tokens_in, tokens_out, cache_read, cache_write, metadata }) =>
        provider_message_id === null
          ? []
          : [
              [
                provider_message_id,
                {
                  input: tokens_in ?? 0,
                  output: tokens_out ?? 0,
                  cacheRead: cache_read ?? 0,
                  cacheWrite: cache_write ?? 0,
                  lines: metadata.line_count ?? 1,
                },
              ],
            ],
      ),
    ),
  };
}

describe.skipIf(!isCorpusHere)('the corpus of real transcripts', () => {
  it('counts as an independent count does, in every Claude Code transcript', async () => {
    for (const [path, bytes] of filesOf('claude-code__')) {
      const { outputFirstLine, outputSummed: _, ...expected } = countTranscript(bytes);
      expectSame<unknown>({ path, ...toFigures(await parse(bytes)) }, { path, ...expected });
      const { stats } = await parse(bytes, { usageFrom: 'first' });
      expect([path, stats.tokens_out ?? 0]).toEqual([path, outputFirstLine]);
    }
  });

  it('emits each API response once, including those only in progress lines', async () => {
    const message = new Set<string>();
    const progress = new Set<string>();
    for (const [path, bytes] of filesOf('claude-code__')) {
      const { apiResponses, toolCalls, events, stats } = await parse(bytes);
      const { perMessageId, tokensOut } = countTranscript(bytes);
      for (const keys of [
        apiResponses.map(({ response_key }) => response_key),
        toolCalls.map(({ call_key }) => call_key),
        events.map(({ event_key }) => event_key),
      ]) {
        expect([path, new Set(keys).size]).toEqual([path, keys.length]);
      }
      expect(apiResponses.reduce((sum, { tokens_out }) => sum + tokens_out, 0)).toBe(tokensOut);
      expect(stats.api_response_count).toBe(apiResponses.length);
      for (const { source, response_key } of apiResponses) {
        if (source === 'message') message.add(response_key);
        if (source !== 'progress') continue;
        progress.add(response_key);
        expect(perMessageId.has(response_key)).toBe(false);
      }
    }
    expect(progress.size).toBe(315);
    // The others are in sub-agent files as well.
    expect([...progress].filter((key) => !message.has(key))).toHaveLength(269);
  });

  it('parses the same however the bytes are split', async () => {
    let smallBytes = 0;
    for (const [path, bytes] of filesOf('claude-code__')) {
      // Single bytes are slow, so only a megabyte of small transcripts is split like this.
      const isSmall = bytes.length < 64 * 1024;
      if (isSmall) smallBytes += bytes.length;
      const expected = { path, ...(await parse(bytes)) };
      for (const size of isSmall ? [1, 7, 64 * 1024] : [4099, 64 * 1024]) {
        expectSame({ path, ...(await parseTranscript('session', inChunks(bytes, size))) }, expected);
      }
    }
    expect(smallBytes).toBeGreaterThan(500_000);
  });

  it('tells Claude Code transcripts from other agents’ transcripts', () => {
    for (const [path, bytes] of files) {
      const { format, sessionId } = identifyTranscript({ path, head: bytes.subarray(0, IDENTIFY_HEAD_BYTES) });
      expect([path, format === 'claude-code']).toEqual([path, isClaudeCode(path)]);
      if (isClaudeCode(path)) expect([path, sessionId]).not.toEqual([path, undefined]);
    }
  });

  it('finds no error but comments', async () => {
    const codes: string[] = [];
    for (const [, bytes] of filesOf('claude-code__'))
      codes.push(...(await parse(bytes)).errors.map(({ code }) => code));
    expect(countBy(codes, String)).toEqual({ invalid_json: 10 });
  });

  it('links sub-agent files to their parents, by path and by lines', async () => {
    let count = 0;
    for (const [path, bytes] of filesOf('claude-code__')) {
      const byPath = identifyTranscript({ path, head: bytes });
      if (!path.includes('/subagents/')) continue;
      const { metadata, messages } = await parse(bytes);
      expect([path, byPath.isSubagent, byPath.agentId]).toEqual([path, true, metadata.agentId]);
      expect(messages.every(({ is_sidechain }) => is_sidechain)).toBe(true);
      const byLines = identifyTranscript({ head: bytes });
      expect([path, byLines.isSubagent, byLines.agentId]).toEqual([path, true, metadata.agentId]);
      count += 1;
      if (path.startsWith('claude-code__jazzyalex')) continue; // Its lines were anonymised, its path was not.
      expect(byLines).toEqual(byPath);
    }
    expect(count).toBe(19);
  });

  it('gives the beginning of a transcript that grew the same rows', async () => {
    const snapshots = [...files].filter(([path]) => isClaudeCode(path) && path.includes('/growth/'));
    expect(snapshots).toHaveLength(4);
    for (const [path, bytes] of snapshots) {
      const [archive, , session] = path.split('/');
      const whole = fileOf(`${archive}/${session}.jsonl`);
      expect(whole.subarray(0, bytes.length).equals(bytes)).toBe(true);
      const before = await parse(bytes);
      const after = await parse(whole);
      expectSame(after.contentBlocks.slice(0, before.contentBlocks.length), before.contentBlocks);
      expect(after.messages.slice(0, before.messages.length).map(({ id }) => id)).toEqual(
        before.messages.map(({ id }) => id),
      );
    }
  });
});

describe.skipIf(!isCorpusHere)('peculiarities of the corpus', () => {
  const cipherBox = 'claude-code__FSM1+cipher-box';
  const sessionShare = 'claude-code__moredip+session-share';

  it('first, last and summed usage that all differ, with a known answer', async () => {
    const transcripts = filesOf('claude-code__chiphuyen+sniffly/-Users-chip-dev-ai-music/');
    const sums = {
      lines: 0,
      ids: 0,
      input: 0,
      output: 0,
      cacheWrite: 0,
      cacheRead: 0,
      firstOutput: 0,
      summedOutput: 0,
    };
    for (const [, bytes] of transcripts) {
      const { stats, metadata, messages } = await parse(bytes);
      sums.lines += metadata.lineTypes.assistant ?? 0;
      sums.ids += new Set(messages.flatMap(({ provider_message_id: id }) => (id === null ? [] : [id]))).size;
      sums.input += stats.tokens_in ?? 0;
      sums.output += stats.tokens_out ?? 0;
      sums.cacheWrite += stats.cache_write ?? 0;
      sums.cacheRead += stats.cache_read ?? 0;
      sums.firstOutput += (await parse(bytes, { usageFrom: 'first' })).stats.tokens_out ?? 0;
      sums.summedOutput += countTranscript(bytes).outputSummed;
    }
    expect(sums).toEqual({
      lines: 123,
      ids: 90,
      input: 293,
      output: 19_313,
      cacheWrite: 206_624,
      cacheRead: 4_302_385,
      firstOutput: 15_711,
      summedOutput: 19_443,
    });
  });

  it('NUL escapes in a string', async () => {
    const { warnings, errors, messages, contentBlocks } = await parse(
      fileOf(`${cipherBox}/246f023c-afd0-42aa-be48-02188da43a0f.jsonl`),
    );
    expect(errors).toEqual([]);
    expect(warnings.map(({ code, lineNumber, count }) => [code, lineNumber, count])).toEqual([
      ['replaced_characters', 844, 23_386],
    ]);
    const line = contentBlocks.filter(({ line_number }) => line_number === 844);
    expect(line.some(({ result_text }) => result_text?.includes('\uFFFD'))).toBe(true);
    const texts = contentBlocks.flatMap(({ content_text, result_text }) => [content_text ?? '', result_text ?? '']);
    expect(texts.some((text) => text.includes('\0'))).toBe(false);
    expect(messages.some(({ line_number }) => line_number > 844)).toBe(true);
  });

  it('a garbled tool name', async () => {
    const { contentBlocks } = await parse(fileOf(`${cipherBox}/f7594e2b-a01a-4dde-b65e-7fd0625e8c42.jsonl`));
    const [block] = contentBlocks.filter(({ line_number }) => line_number === 10);
    expect(block).toMatchObject({
      block_type: 'tool_use',
      tool_name: 'Task" >\n<parameter name="description',
      tool_input: { subagent_type: 'Explore' },
    });
  });

  it('a line of 1.86 MB, read or skipped', async () => {
    const bytes = fileOf(`${cipherBox}/39dea4ee-5f57-4587-8c44-40db1cc1144c.jsonl`);
    const whole = await parse(bytes);
    expect(whole.errors).toEqual([]);
    const message = whole.messages.find(({ line_number }) => line_number === 587);
    expect(message).toMatchObject({ byte_length: 1_858_106, message_type: 'user', has_tool_result: true });
    const rows = whole.contentBlocks.filter(({ line_number }) => line_number === 587);
    expect(JSON.stringify(rows).length).toBeLessThan(5000);

    const skipped = await parse(bytes, { maxLineBytes: 1_858_105 });
    expect(skipped.errors.map(({ lineNumber, error }) => [lineNumber, error])).toEqual([
      [587, 'Line exceeds max size'],
    ]);
    expect(skipped.messages.map(({ uuid }) => uuid)).toEqual(
      whole.messages.filter((other) => other !== message).map(({ uuid }) => uuid),
    );
  });

  it('comment lines at the top', async () => {
    const commented = filesOf(`${sessionShare}/`).filter(([path]) => dirname(path) === sessionShare);
    expect(commented).toHaveLength(5);
    for (const [, bytes] of commented) {
      const { errors, messages } = await parse(bytes);
      expect(errors.map(({ lineNumber, error }) => [lineNumber, error])).toEqual([
        [1, 'Invalid JSON'],
        [2, 'Invalid JSON'],
      ]);
      expect(messages.length).toBeGreaterThan(1);
    }
  });

  it('images of the user and of tools, whose bytes are in no row', async () => {
    const ofUser = await parse(fileOf(`${sessionShare}/images-in-user-messages.jsonl`));
    const images = ofUser.contentBlocks.filter(({ block_type }) => block_type === 'image');
    expect(images.map(({ metadata }) => metadata)).toMatchObject([
      { media_type: 'image/png', byte_length: 24_021, sha256: expect.stringMatching(/^cbc0103b/) },
      { media_type: 'image/png', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
    const ofTool = await parse(fileOf(`${sessionShare}/images-in-tool-results.jsonl`));
    const results = ofTool.contentBlocks.filter(({ block_type }) => block_type === 'tool_result');
    expect(results.map(({ metadata }) => metadata)).toMatchObject([
      { other_parts: [{ type: 'image', source: { media_type: 'image/png', byte_length: 453_131 } }] },
    ]);
    for (const { contentBlocks } of [ofUser, ofTool]) {
      expect(JSON.stringify(contentBlocks)).not.toContain('iVBORw0KGgo');
    }
  });

  it('a message that continues 353 lines later', async () => {
    const { messages, contentBlocks } = await parse(fileOf(`${sessionShare}/general-tool-calls.jsonl`));
    const linesOf = (id: string) =>
      contentBlocks.filter(({ message_id }) => message_id === id).map(({ line_number }) => line_number);
    const spans = messages.map(({ id, line_number }) => Math.max(line_number, ...linesOf(id)) - line_number);
    expect(Math.max(...spans)).toBe(353);
    const ids = messages.flatMap(({ provider_message_id: id }) => (id === null ? [] : [id]));
    expect(new Set(ids).size).toBe(ids.length);
  });
});
