import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, type ParseResult, parseTranscript } from '@recount/core';
import { readSources } from '@recount/storage/sources';
import { beforeAll, describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';
import { type CodexCount, countRollout } from './independent-codex-count.ts';

const corpus = findCorpus();

interface Rollout {
  text: string;
  result: ParseResult;
}

/** By file name. */
const rollouts = new Map<string, Rollout>();

beforeAll(async () => {
  if (corpus === undefined) return;
  const archives = readdirSync(corpus).filter((name) => name.startsWith('codex-rollout__'));
  for (const archive of archives) {
    for await (const item of readSources([join(corpus, archive)])) {
      if (item.kind !== 'transcript') continue;
      const bytes = Buffer.concat(await (await item.open()).toArray());
      const { path } = item;
      const identity = identifyTranscript({ path, head: bytes.subarray(0, IDENTIFY_HEAD_BYTES) });
      expect({ path, format: identity.format }).toEqual({ path, format: 'codex-rollout' });
      const result = await parseTranscript(identity.sessionId ?? path, bytes, { format: 'codex-rollout' });
      rollouts.set(basename(path), { text: bytes.toString(), result });
    }
  }
});

const toCount = ({ apiResponses }: ParseResult): CodexCount => {
  const sum = (toTokens: (response: (typeof apiResponses)[number]) => number): number =>
    apiResponses.reduce((total, response) => total + toTokens(response), 0);
  return {
    input: sum((response) => response.tokens_in + response.cache_read + response.cache_write),
    cached: sum((response) => response.cache_read),
    output: sum((response) => response.tokens_out),
    reasoning: sum((response) => response.thinking_tokens),
  };
};

describe.runIf(corpus)('the Codex rollouts of the corpus', () => {
  it('have the tokens of an independent count, which equal their own last total but for two', () => {
    expect(rollouts.size).toBe(40);
    const odd: string[] = [];
    for (const [name, { text, result }] of rollouts) {
      const { used, lastTotal } = countRollout(text);
      expect({ name, ...toCount(result) }).toEqual({ name, ...used });
      if (lastTotal !== undefined && JSON.stringify(lastTotal) !== JSON.stringify(used)) odd.push(name);
    }
    // In one of them the total was reset; the other is many sessions in one file, with their texts and ids replaced.
    expect(odd.sort()).toEqual([
      'rollout-2025-09-25T08-02-05-0199812e-64f0-7f73-91fc-095dda01c36e.jsonl',
      'small.jsonl',
    ]);
    expect(rollouts.get('codex_050_legacy.jsonl')?.result.warnings).toMatchObject([{ code: 'invalid_usage' }]);
  });

  it('name each response once', () => {
    const keys = [...rollouts.values()].flatMap(({ result }) => result.apiResponses.map((row) => row.response_key));
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.length).toBeGreaterThan(1500);
  });

  it('have a response for each call and a prompt for each that a person typed', () => {
    for (const [name, { text, result }] of rollouts) {
      if (!/^(?:019|rollout-)/.test(name)) continue;
      const count = (type: string): number =>
        text.split('\n').filter((line) => line !== '' && JSON.parse(line).payload.type === type).length;
      expect({ name, prompts: result.stats.prompt_count }).toEqual({ name, prompts: count('user_message') });
      const calls = ['function_call', 'custom_tool_call', 'web_search_call', 'tool_search_call'].map(count);
      expect({ name, calls: result.stats.tool_use_count }).toEqual({ name, calls: calls.reduce((a, b) => a + b) });
      expect({ name, errors: result.errors }).toEqual({ name, errors: [] });
    }
  });

  it('have notices only where third parties invented lines that Codex does not write', () => {
    const named = [...rollouts].filter(([, { result }]) => result.notices.length > 0).map(([name]) => name);
    expect(named.sort()).toEqual([
      'codex_050_legacy.jsonl',
      'codex_051_usage.jsonl',
      'codex_052_raw.jsonl',
      'codex_053_rate_limit.jsonl',
      'large.jsonl',
    ]);
    for (const [name, { result }] of rollouts) expect({ name, errors: result.errors }).toEqual({ name, errors: [] });
  });

  it('have no total that differs from what was counted', () => {
    for (const [name, { result }] of rollouts) {
      const mismatches = result.warnings.filter(({ code }) => code === 'total_mismatch');
      expect({ name, mismatches }).toEqual({ name, mismatches: [] });
    }
  });
});
