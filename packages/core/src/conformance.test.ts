import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { identifyTranscript } from './agents/identify-transcript.ts';
import { parseTranscript } from './parse-transcript.ts';
import type { ApiResponse, JsonObject } from './rows.ts';
import { toJsonl } from './testing/transcript-lines.ts';

interface Vector {
  id: string;
  agent: string;
  rule: string;
  files: { path: string; lines: JsonObject[] }[];
  expected: { responses: number; input: number; cacheRead: number; cacheWrite: number; output: number };
}

const FOLDER = resolve(import.meta.dirname, '../../../docs/conformance');
const vectors = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({
    name: basename(name, '.json'),
    vector: JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Vector,
  }));

/** Each response of all files once, as the ledger has it: its copies differ in nothing that counts here. */
async function count(files: Vector['files']): Promise<Vector['expected']> {
  const responses = new Map<string, ApiResponse>();
  for (const { path, lines } of files) {
    const bytes = Buffer.from(toJsonl(...lines));
    const { format, sessionId = path } = identifyTranscript({ path, head: bytes });
    const { apiResponses, errors } = await parseTranscript(sessionId, bytes, { format });
    expect(errors).toEqual([]);
    for (const response of apiResponses) responses.set(response.response_key, response);
  }
  const sum = (toTokens: (response: ApiResponse) => number): number =>
    [...responses.values()].reduce((total, response) => total + toTokens(response), 0);
  return {
    responses: responses.size,
    input: sum((response) => response.tokens_in),
    cacheRead: sum((response) => response.cache_read),
    cacheWrite: sum((response) => response.cache_write),
    output: sum((response) => response.tokens_out),
  };
}

describe('the conformance vectors', () => {
  it('are named after their files', () => {
    expect(vectors.length).toBeGreaterThan(15);
    for (const { name, vector } of vectors) expect(vector.id).toBe(name);
  });

  it.each(vectors)('hold for $name', async ({ vector: { agent, files, expected } }) => {
    for (const { path, lines } of files) {
      expect(identifyTranscript({ path, head: Buffer.from(toJsonl(...lines)) })).toMatchObject({ agent });
    }
    expect(await count(files)).toEqual(expected);
    expect(await count(files.toReversed())).toEqual(expected);
  });
});
