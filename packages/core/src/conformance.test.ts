import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AGENTS } from './agents/all-agents.ts';
import { identifyTranscript } from './agents/identify-transcript.ts';
import type { JsonObject } from './lines/json.ts';
import { parseTranscript } from './parse/parse-transcript.ts';
import type { ApiResponse } from './records/rows.ts';
import { COUNTED_AGENTS, countIndependently } from './testing/independent-counts.ts';
import { toJsonl } from './testing/transcript-lines.ts';

type VectorFile = { path: string } & ({ lines: JsonObject[] } | { document: JsonObject | JsonObject[] });

interface Vector {
  id: string;
  agent: string;
  rule: string;
  files: VectorFile[];
  expected: { responses: number; input: number; cacheRead: number; cacheWrite: number; output: number };
}

const FOLDER = resolve(import.meta.dirname, '../../../docs/conformance');
const vectors = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({
    name: basename(name, '.json'),
    vector: JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Vector,
  }));

const toBytes = (file: VectorFile): Buffer =>
  Buffer.from('lines' in file ? toJsonl(...file.lines) : JSON.stringify(file.document));

/** Counts each response of all files once, as the ledger does. Of its copies, it takes the one with the most output. */
async function count(files: Vector['files']): Promise<Vector['expected']> {
  const responses = new Map<string, ApiResponse>();
  for (const file of files) {
    const { path } = file;
    const bytes = toBytes(file);
    const { format, sessionId = path } = identifyTranscript({ path, head: bytes });
    const { apiResponses, errors } = await parseTranscript(sessionId, bytes, { format });
    expect(errors).toEqual([]);
    for (const response of apiResponses) {
      const known = responses.get(response.response_key);
      if (known === undefined || known.tokens_out < response.tokens_out) responses.set(response.response_key, response);
    }
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
    expect(vectors.length).toBeGreaterThan(30);
    for (const { name, vector } of vectors) expect(vector.id).toBe(name);
  });

  it('exist for every agent that keeps usage, with a separate count or one in test/src', () => {
    const counted = new Set(vectors.map(({ vector }) => vector.agent));
    // Cursor and Crush record no usage; Kilo CLI uses opencode's store.
    const others = AGENTS.map(({ id }) => id).filter((id) => !counted.has(id));
    expect(others.toSorted()).toEqual(['crush', 'cursor', 'kilo']);
    expect([...counted].filter((id) => !COUNTED_AGENTS.includes(id)).toSorted()).toEqual(['claude-code', 'codex']);
  });

  it.each(vectors)('hold for $name', async ({ vector: { agent, files, expected } }) => {
    for (const file of files) {
      expect(identifyTranscript({ path: file.path, head: toBytes(file) })).toMatchObject({ agent });
    }
    expect(await count(files)).toEqual(expected);
    expect(await count(files.toReversed())).toEqual(expected);
    const values = files.map((file) => ('lines' in file ? file.lines : [file.document]));
    expect(countIndependently(agent, values) ?? expected).toEqual(expected);
  });
});
