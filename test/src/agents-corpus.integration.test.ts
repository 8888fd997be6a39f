import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, type ParseResult, parseTranscript } from '@recount/core';
import { readSources } from '@recount/storage/sources';
import { describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';

const corpus = findCorpus();

interface Transcript {
  path: string;
  text: string;
  parsed: ParseResult;
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/**
 * Reads an agent's transcripts as an upload would, and checks that the result does not depend on how their bytes are
 * split.
 */
async function readAll(agent: string): Promise<Transcript[]> {
  const folder = corpus ?? '';
  const archives = readdirSync(folder).filter((name) => name.startsWith(`${agent}__`));
  const transcripts: Transcript[] = [];
  for await (const item of readSources(archives.map((name) => join(folder, name)))) {
    if (item.kind !== 'transcript') throw new Error(`Not read: ${item.location}`);
    const bytes = Buffer.concat(await (await item.open()).toArray());
    const { format, sessionId = 'session' } = identifyTranscript({
      head: bytes.subarray(0, IDENTIFY_HEAD_BYTES),
      path: item.path,
    });
    const parsed = await parseTranscript(sessionId, bytes, { format });
    for (const size of bytes.length > 100_000 ? [64 * 1024] : [1, 7, 64 * 1024]) {
      expect(await parseTranscript(sessionId, inChunks(bytes, size), { format })).toEqual(parsed);
    }
    transcripts.push({ path: item.path, text: bytes.toString(), parsed });
  }
  expect(transcripts.length).toBeGreaterThan(0);
  return transcripts;
}

const toLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const sumOf = <T>(items: readonly T[], toCount: (item: T) => number | undefined): number =>
  items.reduce((total, item) => total + (toCount(item) ?? 0), 0);

interface CopilotData {
  outputTokens?: number;
  modelMetrics?: Record<string, { usage?: Record<`${'input' | 'output' | 'cacheRead' | 'cacheWrite'}Tokens`, number> }>;
  tokenDetails?: Record<'input' | 'output' | 'cache_read' | 'cache_write', { tokenCount: number }>;
  toolRequests?: unknown[];
}

/**
 * From the format's description alone. The total at the end is everything; without one, only the messages' output
 * exists.
 */
function countCopilot(lines: readonly Record<string, unknown>[]) {
  const dataOf = (type: string) => lines.filter((line) => line.type === type).map(({ data }) => data as CopilotData);
  const messages = dataOf('assistant.message');
  const ends = dataOf('session.shutdown');
  const usages = ends.flatMap(({ modelMetrics = {} }) =>
    Object.values(modelMetrics).flatMap(({ usage }) => usage ?? []),
  );
  const details = usages.length > 0 ? [] : ends.flatMap(({ tokenDetails }) => tokenDetails ?? []);
  const isEnded = usages.length + details.length > 0;
  return {
    input:
      sumOf(usages, (usage) => usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens) +
      sumOf(details, ({ input }) => input.tokenCount),
    output: isEnded
      ? sumOf(usages, (usage) => usage.outputTokens) + sumOf(details, ({ output }) => output.tokenCount)
      : sumOf(messages, ({ outputTokens }) => outputTokens),
    cacheRead:
      sumOf(usages, (usage) => usage.cacheReadTokens) + sumOf(details, ({ cache_read }) => cache_read.tokenCount),
    toolUses: sumOf(messages, ({ toolRequests = [] }) => toolRequests.length),
  };
}

interface AmpUsage {
  input_tokens?: number;
  output_tokens?: number;
  cache_read_input_tokens?: number;
  cache_creation_input_tokens?: number;
}

const toFigures = ({ stats }: ParseResult) => ({
  ...{
    input: stats.tokens_in ?? 0,
    output: stats.tokens_out ?? 0,
    cacheRead: stats.cache_read ?? 0,
    toolUses: stats.tool_use_count,
  },
});

describe.runIf(corpus)('the corpus of other agents', () => {
  it('counts Copilot CLI as an independent count does', async () => {
    for (const { path, text, parsed } of await readAll('copilot-cli')) {
      const lines = toLines(text);
      expect([path, toFigures(parsed)]).toEqual([path, countCopilot(lines)]);
      // The publisher removed all times, ids and names from one file.
      const isRedacted = text.includes('[trimmed for fixture]');
      const faults = [...parsed.errors, ...parsed.warnings].filter(
        ({ code }) => !isRedacted || code !== 'invalid_timestamp',
      );
      expect([path, faults]).toEqual([path, []]);
    }
  });

  it('counts the stream of Amp as an independent count does', async () => {
    for (const { text, parsed } of await readAll('amp')) {
      const usages = toLines(text).flatMap(({ type, message }) => {
        const usage = (message as { usage?: AmpUsage } | undefined)?.usage;
        return type === 'assistant' && usage !== undefined ? [usage] : [];
      });
      expect([...parsed.errors, ...parsed.warnings]).toEqual([]);
      expect(parsed.stats).toMatchObject({
        api_response_count: usages.length,
        tokens_in: sumOf(usages, (usage) => usage.input_tokens),
        tokens_out: sumOf(usages, (usage) => usage.output_tokens),
        cache_read: sumOf(usages, (usage) => usage.cache_read_input_tokens),
        cache_write: sumOf(usages, (usage) => usage.cache_creation_input_tokens),
      });
    }
  });

  it('counts each thread that `codex exec` prints as an independent count does', async () => {
    const totals = new Map<string, number[]>();
    for (const { text, parsed } of await readAll('codex-exec')) {
      let thread = '';
      const own = new Map<string, number[]>();
      for (const line of toLines(text)) {
        if (line.type === 'thread.started') thread = String(line.thread_id);
        const usage = line.type === 'turn.completed' ? (line.usage as Record<string, number> | null) : undefined;
        if (!usage) continue;
        const { input_tokens: input = 0, cached_input_tokens: cached = 0, output_tokens: output = 0 } = usage;
        own.set(thread, [input - cached, cached, output]);
      }
      const found = parsed.apiResponses.map((row) => [row.tokens_in, row.cache_read, row.tokens_out]);
      expect(found).toEqual([...own.values()]);
      for (const [key, [, , output = 0] = []] of own) {
        const keys = parsed.apiResponses.map((row) => row.response_key).filter((name) => name.includes(key));
        expect(keys).toHaveLength(1);
        if (output > (totals.get(key)?.[2] ?? -1)) totals.set(key, own.get(key) ?? []);
      }
    }
    // Two files belong to one thread; the second includes the first.
    expect(totals.get('019de4b0-3281-77c0-80ad-9fe95ed88828')).toEqual([21_407, 33_536, 10]);
  });

  it('finds no usage if Cursor keeps none', async () => {
    for (const { parsed } of await readAll('cursor')) {
      expect([...parsed.errors, ...parsed.warnings]).toEqual([]);
      expect(parsed.apiResponses).toEqual([]);
      expect(parsed.messages.every(({ tokens_in, tokens_out }) => tokens_in === null && tokens_out === null)).toBe(
        true,
      );
    }
  });
});
