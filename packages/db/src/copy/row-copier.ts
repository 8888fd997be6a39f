import type { PoolClient } from 'pg';
import { getTableConfig, type PgTable } from '../drizzle.cjs';
import { type BinaryRowEncoder, createBinaryRowEncoder } from './binary-row-encoder.ts';
import { createChunkPool } from './chunk-pool.ts';
import { runCopies } from './copy-query.ts';

/** Encoded rows are sent once all tables together have this many bytes, because every COPY costs two round trips. */
const MAX_GATHERED_BYTES = 2 * 1024 * 1024;

/**
 * Shared by all copiers of the process, because they are short-lived, and would each leave separate memory as garbage.
 */
const chunkPool = createChunkPool();

export interface RowCopier {
  /**
   * Encodes rows of a table immediately; throws for a row that cannot be encoded. Postgres fills in the columns of
   * `defaulted`.
   */
  openTable<Table extends PgTable>(table: Table, defaulted?: readonly string[]): (row: Table['$inferInsert']) => void;
  /**
   * Await it every few rows. Once the tables have gathered 2 MiB, sends the fullest, as soon as what was sent before
   * has arrived.
   */
  sendFull(): Promise<void>;
  /** Sends the rest of all tables in one query; resolves when Postgres has received everything. */
  sendAll(): Promise<void>;
}

interface OpenTable {
  readonly statement: string;
  readonly encoder: BinaryRowEncoder<never>;
}

/**
 * Writes rows by binary COPY on a transaction's own connection, so that they commit or roll back with it. One COPY runs
 * while the rows of the next are encoded, so that neither side waits for the other. Throws Postgres' error at a later
 * call, and then the transaction can only be rolled back. Buffers 2 MiB over all tables, 2 MiB being sent, and what is
 * added between two calls of `sendFull`. `toTarget` is the name of the table that the rows go to, default their own.
 */
export function createRowCopier(client: PoolClient, toTarget: (table: PgTable) => string = toQualifiedName): RowCopier {
  const tables: OpenTable[] = [];
  let sending: Promise<void> = Promise.resolve();

  const copy = async (full: readonly OpenTable[]): Promise<void> => {
    const copies = full.map(({ statement, encoder }) => ({ statement, chunks: encoder.take() }));
    await runCopies(client, copies);
    for (const { chunks } of copies) chunkPool.giveBack(chunks);
  };

  const send = async (full: readonly OpenTable[]): Promise<void> => {
    await sending;
    sending = copy(full);
    // Awaited before the next one; until then a failure must not count as unhandled.
    sending.catch(() => undefined);
  };

  const sumGathered = (): number => tables.reduce((sum, { encoder }) => sum + encoder.byteLength, 0);

  return {
    openTable(table, defaulted) {
      const encoder = createBinaryRowEncoder(table, chunkPool, defaulted);
      tables.push({ statement: `COPY ${toTarget(table)} (${encoder.columnList}) FROM STDIN (FORMAT binary)`, encoder });
      return encoder.encode;
    },
    async sendFull() {
      while (sumGathered() >= MAX_GATHERED_BYTES) {
        await send([
          tables.reduce((fullest, table) => (table.encoder.byteLength > fullest.encoder.byteLength ? table : fullest)),
        ]);
      }
    },
    async sendAll() {
      await send(tables.filter(({ encoder }) => encoder.byteLength > 0));
      await sending;
    },
  };
}

function toQualifiedName(table: PgTable): string {
  const { schema, name } = getTableConfig(table);
  return schema === undefined ? `"${name}"` : `"${schema}"."${name}"`;
}
