import { pipeline } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { getTableConfig, type PgTable } from '../drizzle.cjs';
import { type BinaryRowEncoder, createBinaryRowEncoder } from './binary-row-encoder.ts';

/** Encoded rows of a table wait until they are this many bytes: every COPY costs two round trips. */
const MIN_COPY_BYTES = 2 * 1024 * 1024;

interface RowCopier {
  /** Takes a row of a table, encoded at once; a row that cannot be encoded throws. */
  openTable<Table extends PgTable>(table: Table): (row: Table['$inferInsert']) => void;
  /** To be awaited every few rows: sends the tables that have gathered 2 MiB, once what was sent before has arrived. */
  sendFull(): Promise<void>;
  /** Sends what is left; resolves when Postgres has taken it all. */
  sendAll(): Promise<void>;
}

/**
 * Writes rows by binary COPY on a transaction's own connection, so that they commit or vanish with it. One COPY is
 * under way while the rows of the next are encoded, so that neither side waits for the other. Throws Postgres' error at
 * a later call, after which the transaction can only be rolled back. Holds 2 MiB a table and 2 MiB under way, and what
 * is added between two calls of `sendFull`.
 */
export function createRowCopier(client: PoolClient): RowCopier {
  const encoders: { statement: string; encoder: BinaryRowEncoder<never> }[] = [];
  let sending: Promise<void> = Promise.resolve();

  const copy = async (statement: string, encoder: BinaryRowEncoder<never>): Promise<void> => {
    const chunks = encoder.take();
    await pipeline(chunks, client.query(copyFrom(statement)));
    encoder.recycle(chunks);
  };

  const send = async (minBytes: number): Promise<void> => {
    for (const { statement, encoder } of encoders) {
      if (encoder.byteLength < minBytes) continue;
      await sending;
      sending = copy(statement, encoder);
      // Awaited before the next one; until then a failure must not count as unhandled.
      sending.catch(() => undefined);
    }
  };

  return {
    openTable(table) {
      const encoder = createBinaryRowEncoder(table);
      const { schema, name } = getTableConfig(table);
      const target = schema === undefined ? `"${name}"` : `"${schema}"."${name}"`;
      encoders.push({ statement: `COPY ${target} (${encoder.columnList}) FROM STDIN (FORMAT binary)`, encoder });
      return encoder.encode;
    },
    sendFull: () => send(MIN_COPY_BYTES),
    async sendAll() {
      await send(1);
      await sending;
    },
  };
}
