import { pipeline } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { getTableConfig, type PgTable } from '../drizzle.cjs';
import { type BinaryRowEncoder, createBinaryRowEncoder } from './binary-row-encoder.ts';

/** Encoded bytes handed to the socket at a time. */
const FLUSH_BYTES = 256 * 1024;

/**
 * Writes rows by binary COPY on a transaction's own connection, so that they commit or vanish with it. Resolves when
 * Postgres has taken them all; throws Postgres' error, or that of a row that cannot be encoded, otherwise, after which
 * the transaction can only be rolled back.
 */
export async function copyRows<Table extends PgTable>(
  client: PoolClient,
  table: Table,
  rows: Iterable<Table['$inferInsert']>,
): Promise<void> {
  const encoder = createBinaryRowEncoder(table);
  const { schema, name } = getTableConfig(table);
  const target = schema === undefined ? `"${name}"` : `"${schema}"."${name}"`;
  const stream = client.query(copyFrom(`COPY ${target} (${encoder.columnList}) FROM STDIN (FORMAT binary)`));
  await pipeline(encodeRows(encoder, rows), stream);
}

function* encodeRows<Row>(encoder: BinaryRowEncoder<Row>, rows: Iterable<Row>): Generator<Buffer> {
  for (const row of rows) {
    encoder.encode(row);
    if (encoder.byteLength >= FLUSH_BYTES) yield encoder.take();
  }
  yield encoder.finish();
}
