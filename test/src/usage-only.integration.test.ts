import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toUsageOnly } from '@recount/collect';
import { type ApiResponse, createUsageScanner, IDENTIFY_HEAD_BYTES, identifyTranscript } from '@recount/core';
import { readSources } from '@recount/storage/sources';
import { describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';

const SAMPLES = fileURLToPath(new URL('../../samples', import.meta.url));
const corpus = findCorpus();

function scan(path: string, bytes: Buffer) {
  const { format, sessionId = path } = identifyTranscript({ path, head: bytes.subarray(0, IDENTIFY_HEAD_BYTES) });
  const responses: Partial<ApiResponse>[] = [];
  if (format === undefined) return { format, responses, scan: undefined };
  // Codex gave responses no ids until 2026: recount names them by the content of their lines.
  // Filler does not tell whether a text of the user's role is a prompt, so turns may begin elsewhere.
  const onResponse = ({ response_key, provider_message_id, turn_line: _, ...row }: ApiResponse) =>
    responses.push(response_key.startsWith('codex:') ? row : { ...row, response_key, provider_message_id });
  const scanner = createUsageScanner(sessionId, { format, onResponse });
  scanner.push(bytes);
  const { agentVersion: _masked, ...found } = scanner.finish();
  return { format, responses, scan: found };
}

/** Four words of a text, as no name and no path has them. */
const PROSE = /[a-z]{2} [a-z]{2,20} [a-z]{2,20} [a-z]{2}/;

async function expectSameUsage(paths: string[]): Promise<number> {
  let count = 0;
  for await (const item of readSources(paths)) {
    if (item.kind !== 'transcript') continue;
    const bytes = Buffer.concat(await (await item.open()).toArray());
    const { format } = identifyTranscript({ path: item.path, head: bytes.subarray(0, IDENTIFY_HEAD_BYTES) });
    const rewrite = toUsageOnly(format);
    if (rewrite === undefined) continue;
    const before = scan(item.path, bytes);
    async function* inPieces() {
      for (let start = 0; start < bytes.length; start += 50_000) yield bytes.subarray(start, start + 50_000);
    }
    const pieces: Buffer[] = [];
    for await (const piece of rewrite(inPieces())) pieces.push(piece);
    const rewritten = Buffer.concat(pieces);
    expect([item.path, scan(item.path, rewritten)]).toEqual([item.path, before]);
    expect([item.path, PROSE.exec(rewritten.toString())?.[0]]).toEqual([item.path, undefined]);
    count += 1;
  }
  return count;
}

describe('a session as its usage alone', () => {
  it('has the same responses as the whole, and no prose', async () => {
    expect(await expectSameUsage([SAMPLES])).toBeGreaterThan(0);
  });

  it.runIf(corpus)('also for those of real agents', async () => {
    const folder = corpus ?? '';
    const archives = readdirSync(folder).filter((name) => name.endsWith('.tar.gz'));
    expect(await expectSameUsage(archives.map((name) => join(folder, name)))).toBeGreaterThan(200);
  });
});
