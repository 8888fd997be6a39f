import { type ApiResponse, parseTranscript } from '@recount/core';
import { describe, expect, it } from 'vitest';
import { findCorpus } from '../corpus.ts';
import { createRandom } from '../random.ts';
import { createRowChecker } from './check-rows.ts';
import { feedMutatedLines } from './feed-mutated-lines.ts';
import { createLineMutator } from './mutate-lines.ts';
import { readSeedLines } from './seed-lines.ts';

/** Limits the part of the corpus that is used. */
const MAX_ARCHIVE_BYTES = 100_000;

describe('mutated lines', () => {
  it('crash neither the parser nor the live readers, and give consistent rows', async () => {
    const seeds = await readSeedLines(findCorpus(), { maxArchiveBytes: MAX_ARCHIVE_BYTES, maxBytes: 4_000_000 });
    const run = await feedMutatedLines({ seeds, lineCount: 2000, seed: 7 });
    expect(run.lines).toBe(2000);
    // Enough of them are still valid lines; otherwise only the JSON parser would be tested.
    expect(run.rows).toBeGreaterThan(1000);
    expect(run.liveEvents).toBeGreaterThan(1000);
  });

  it('are the same for the same seed, and unlike their originals', async () => {
    const seeds = await readSeedLines(undefined, { maxArchiveBytes: 0, maxBytes: 0 });
    const draw = () => {
      const nextLine = createLineMutator(seeds, createRandom(3));
      return Array.from({ length: 200 }, () => nextLine().toString('latin1'));
    };
    const lines = draw();
    expect(draw()).toEqual(lines);
    const known = new Set(seeds.map((seed) => seed.toString('latin1')));
    expect(lines.filter((line) => known.has(line)).length).toBeLessThan(20);
  });
});

describe('the check of the rows', () => {
  const text = '{"type":"assistant","message":{"id":"m","content":"a","usage":{"input_tokens":5,"output_tokens":9}}}\n';

  async function check(change: (response: ApiResponse) => Partial<ApiResponse>): Promise<void> {
    const { messages, contentBlocks, apiResponses, toolCalls, events, stats, metadata } = await parseTranscript(
      's',
      text,
    );
    const changed = apiResponses.map((response) => ({ ...response, ...change(response) }));
    const checker = createRowChecker();
    const rows = { messages, contentBlocks, toolCalls, events, issues: [] };
    checker.addBatch({ ...rows, apiResponses: changed });
    checker.finish({ stats, exactCostUsd: null, metadata, activeMs: null });
  }

  it('finds nothing in unchanged rows', async () => {
    await expect(check(() => ({}))).resolves.toBeUndefined();
  });

  it.each<[string, Partial<ApiResponse>, string]>([
    ['a negative count', { tokens_in: -1 }, 'ApiResponse.tokens_in'],
    ['a count beyond exact integers', { cache_read: 2 ** 53 }, 'ApiResponse.cache_read'],
    ['a wrong sum', { tokens_out: 10 }, 'TranscriptStats.tokens_out'],
    ['an empty key', { response_key: '' }, 'ApiResponse.response_key'],
    ['a key too long for an index', { response_key: '漢'.repeat(1000) }, 'ApiResponse.response_key'],
    ['NUL', { model: 'a\0' }, 'apiResponses'],
    ['half a surrogate pair', { git_branch: '\ud800' }, 'apiResponses'],
    ['a cost that is not a number', { cost_usd: Number.NaN }, 'ApiResponse.cost_usd'],
    ['a missing message', { message_id: 'other' }, 'ApiResponse.message_id'],
  ])('finds %s', async (_name, change, what) => {
    await expect(check(() => change)).rejects.toThrow(`Violated: ${what}`);
  });
});
