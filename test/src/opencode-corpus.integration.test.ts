import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, parseTranscript } from '@recount/core';
import { readSources } from '@recount/storage/sources';
import { expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';

const corpus = findCorpus();

interface Export {
  messages: {
    info: {
      role: string;
      cost: number;
      tokens: { input: number; total: number; cache: { read: number; write: number } };
    };
    parts: { type: string }[];
  }[];
}

/** From the description of `opencode export` alone; in these files, each assistant message is one response. */
function countExport({ messages }: Export) {
  const responses = messages.flatMap(({ info }) => (info.role === 'assistant' ? [info] : []));
  const sum = (toCount: (info: (typeof responses)[number]) => number) =>
    responses.reduce((total, info) => total + toCount(info), 0);
  return {
    responses: responses.length,
    input: sum(({ tokens }) => tokens.input),
    output: sum(({ tokens }) => tokens.total - tokens.input - tokens.cache.read - tokens.cache.write),
    cacheRead: sum(({ tokens }) => tokens.cache.read),
    microdollars: Math.round(sum(({ cost }) => cost * 1e6)),
    toolCalls: messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'tool')).length,
  };
}

it.runIf(corpus)(
  'every opencode session of the corpus has the tokens, cost and calls of an independent count',
  async () => {
    const folder = corpus ?? '';
    const archives = readdirSync(folder).filter((name) => name.startsWith('opencode__'));
    let count = 0;
    for await (const item of readSources(archives.map((name) => join(folder, name)))) {
      if (item.kind !== 'transcript') throw new Error(`Not read: ${item.location}`);
      const bytes = Buffer.concat(await (await item.open()).toArray());
      const identity = identifyTranscript({ head: bytes.subarray(0, IDENTIFY_HEAD_BYTES), path: item.path });
      expect(identity).toMatchObject({ agent: 'opencode' });
      const parsed = await parseTranscript(identity.sessionId ?? '', bytes, { format: identity.format });
      expect([...parsed.errors, ...parsed.warnings]).toEqual([]);
      const sum = (toCount: (row: (typeof parsed.apiResponses)[number]) => number) =>
        parsed.apiResponses.reduce((total, row) => total + toCount(row), 0);
      expect({
        responses: parsed.apiResponses.length,
        input: sum((row) => row.tokens_in),
        output: sum((row) => row.tokens_out),
        cacheRead: sum((row) => row.cache_read),
        microdollars: Math.round(sum((row) => (row.reported_cost_usd ?? 0) * 1e6)),
        toolCalls: parsed.toolCalls.length,
      }).toEqual(countExport(JSON.parse(bytes.toString())));
      count += 1;
    }
    expect(count).toBe(19);
  },
);
