import { generateTranscript, REAL_LINES } from '@recount/bench/generate-transcript';
import { readSources } from '@recount/storage/sources';
import { expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';

const corpus = findCorpus();
const TYPES = ['user', 'assistant', 'progress'] as const;

/** Shares of bytes and lines of each relevant type, and bytes of a line. */
async function measureShape(transcripts: AsyncIterable<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>) {
  const bytes = new Map<string, number>();
  const lines = new Map<string, number>();
  let allBytes = 0;
  let allLines = 0;
  for await (const transcript of transcripts) {
    const parts: Uint8Array[] = [];
    for await (const part of transcript) parts.push(part);
    for (const line of Buffer.concat(parts).toString().split('\n')) {
      const type = toType(line);
      const lineBytes = Buffer.byteLength(line) + 1;
      bytes.set(type, (bytes.get(type) ?? 0) + lineBytes);
      lines.set(type, (lines.get(type) ?? 0) + 1);
      allBytes += lineBytes;
      allLines += 1;
    }
  }
  const toShares = (type: string) => [(bytes.get(type) ?? 0) / allBytes, (lines.get(type) ?? 0) / allLines] as const;
  return { shares: TYPES.map(toShares), lineBytes: allBytes / allLines };
}

function toType(line: string): string {
  try {
    return JSON.parse(line).type;
  } catch {
    return 'none';
  }
}

async function* readCorpus(folder: string) {
  for await (const item of readSources([folder])) {
    if (item.kind !== 'transcript' || !item.location.includes('claude-code__')) continue;
    yield await item.open();
  }
}

async function* generate() {
  for (let seed = 1; seed <= 10; seed++) yield generateTranscript({ seed, targetBytes: 2_000_000, shape: REAL_LINES });
}

it.skipIf(corpus === undefined)('transcripts of the bench have the shape of real ones', async () => {
  const real = await measureShape(readCorpus(corpus ?? ''));
  const generated = await measureShape(generate());
  for (const [index, type] of TYPES.entries()) {
    const [realShares, shares] = [real.shares[index] ?? [], generated.shares[index] ?? []];
    for (const [unit, share] of shares.entries()) {
      expect(Math.abs(share - (realShares[unit] ?? 0)), `${type}, ${unit === 0 ? 'bytes' : 'lines'}`).toBeLessThan(
        0.08,
      );
    }
  }
  expect(generated.lineBytes / real.lineBytes).toBeGreaterThan(0.8);
  expect(generated.lineBytes / real.lineBytes).toBeLessThan(1.25);
});
