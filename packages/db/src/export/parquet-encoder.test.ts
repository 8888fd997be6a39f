import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { expect, it } from 'vitest';
import type { ExportColumn } from './export-columns.ts';
import { createParquetEncoder } from './parquet-encoder.ts';

const COLUMNS: ExportColumn[] = [
  { name: 'name', type: 'text' },
  { name: 'tokens', type: 'count' },
  { name: 'cost_usd', type: 'cost' },
  { name: 'at', type: 'time' },
  { name: 'is_own', type: 'flag' },
  { name: 'details', type: 'json' },
];

function encode(batches: unknown[][][], rowGroupRows: number): { file: ArrayBuffer; chunkSizes: number[] } {
  const encoder = createParquetEncoder(COLUMNS, { rowGroupRows });
  const chunks = [encoder.start(), ...batches.map((rows) => encoder.encode(rows)), encoder.end()] as Uint8Array[];
  return { file: Uint8Array.from(Buffer.concat(chunks)).buffer, chunkSizes: chunks.map(({ length }) => length) };
}

const toRow = (index: number): unknown[] =>
  index % 5 === 4
    ? [null, null, null, null, null, null]
    : [
        index % 3 === 0 ? '' : `näme "${index}"`,
        index * 2 ** 40,
        `${index}.${String(index).padStart(10, '0')}`,
        new Date(Date.UTC(2026, 2, 29) + index).toISOString(),
        index % 2 === 0,
        { models: [`m${index}`] },
      ];

it('writes row groups as they fill, which a reader restores exactly', async () => {
  const rows = Array.from({ length: 103 }, (_, index) => toRow(index));
  const { file, chunkSizes } = encode([rows.slice(0, 7), rows.slice(7, 57), rows.slice(57)], 10);
  const metadata = parquetMetadata(file);
  expect(metadata.row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([...Array(10).fill(10), 3]);
  expect(chunkSizes.slice(0, 2)).toEqual([4, 0]);
  const read = await parquetReadObjects({ file });
  expect(read).toHaveLength(103);
  for (const [index, { cost_usd: costUsd, ...row }] of read.entries()) {
    const [name, tokens, cost, at, isOwn, details] = rows[index] ?? [];
    // The reader converts decimals to doubles, which are precise enough to compare units.
    expect(costUsd === null ? null : Math.round(costUsd * 1e10)).toBe(
      cost === null ? null : Math.round(Number(cost) * 1e10),
    );
    expect(row).toEqual({
      name,
      tokens: tokens === null ? null : BigInt(tokens as number),
      at: at === null ? null : new Date(String(at)),
      is_own: isOwn,
      details: details === null ? null : JSON.stringify(details),
    });
  }
});

it('ends a row group early if its texts are very long', async () => {
  const rows = [10, 10, 500, 10, 600].map((length) => ['x'.repeat(length), 1, '1', null, true, { a: 'x' }]);
  const encoder = createParquetEncoder(COLUMNS, { rowGroupRows: 4, rowGroupLength: 500 });
  const chunks = [encoder.start(), encoder.encode(rows), encoder.end()] as Uint8Array[];
  const file = Uint8Array.from(Buffer.concat(chunks)).buffer;
  expect(parquetMetadata(file).row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([3, 2]);
  expect((await parquetReadObjects({ file })).map(({ name }) => String(name).length)).toEqual([10, 10, 500, 10, 600]);
});

it('refuses a cost that the column cannot hold, rather than storing another', () => {
  expect(() => encode([[['a', 1, '99999999.9999999999', null, true, null]]], 10)).not.toThrow();
  expect(() => encode([[['a', 1, '100000000', null, true, null]]], 10)).toThrow('does not fit into Parquet');
});

it('stores costs as decimals, without the rounding of a double', () => {
  const { file } = encode([[['a', 1, '12345678.0000000001', null, true, null]]], 10);
  const schema = parquetMetadata(file).schema.find(({ name }) => name === 'cost_usd');
  expect(schema).toMatchObject({ type: 'INT64', converted_type: 'DECIMAL', precision: 18, scale: 10 });
  const statistics = parquetMetadata(file).row_groups[0]?.columns[2]?.meta_data?.statistics;
  expect(Buffer.from(file).includes(toInt64(123456780000000001n))).toBe(true);
  expect(statistics?.null_count).toBe(0n);
});

it('writes a valid file without rows', async () => {
  const { file } = encode([], 10);
  expect(await parquetReadObjects({ file })).toEqual([]);
});

function toInt64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}
