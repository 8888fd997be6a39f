import { expect, it } from 'vitest';
import { CHUNK_BYTES, createChunkPool } from './chunk-pool.ts';

it('reuses chunks once they are released, and hands out none twice', () => {
  const pool = createChunkPool();
  const first = Array.from({ length: 8 }, () => pool.take(1));
  const memory = new Set(first.map(({ buffer }) => buffer));
  expect(memory.size).toBe(8);
  pool.giveBack(first.map((chunk) => chunk.subarray(0, 100)));
  const again = Array.from({ length: 9 }, () => pool.take(CHUNK_BYTES));
  expect(new Set(again.map(({ buffer }) => buffer)).size).toBe(9);
  expect(again.filter(({ buffer }) => memory.has(buffer))).toHaveLength(8);
  expect(again.every(({ length }) => length === CHUNK_BYTES)).toBe(true);
});

it('keeps no more than 8 MiB, and nothing larger than a chunk', () => {
  const pool = createChunkPool();
  const large = pool.take(CHUNK_BYTES + 1);
  expect(large).toHaveLength(CHUNK_BYTES + 1);
  const chunks = Array.from({ length: 100 }, () => pool.take(1));
  pool.giveBack([large, ...chunks]);
  const memory = new Set([large, ...chunks].map(({ buffer }) => buffer));
  const again = Array.from({ length: 100 }, () => pool.take(1));
  expect(again.filter(({ buffer }) => memory.has(buffer))).toHaveLength((8 * 1024 * 1024) / CHUNK_BYTES);
});
