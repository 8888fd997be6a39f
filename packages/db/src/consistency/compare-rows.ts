import type { PoolClient } from 'pg';
import { createRowCopier } from '../copy/row-copier.ts';
import type { Database } from '../database/database.ts';
import { getTableColumns, getTableConfig, type PgTable, type SQL, sql } from '../drizzle.cjs';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
import { sessionEvents, toolCalls, usageEntries } from '../schema/usage.ts';
import { COST_COLUMNS } from '../schema/usage-columns.ts';
import type { RowSetKey } from '../transcripts/transcript-rows.ts';
import { createTranscriptCopier } from '../transcripts/transcript-writer.ts';

/** A table whose rows are made from bytes, and how it compares with rows that were made again. */
export interface RowCheck {
  table: string;
  /** Stored. */
  rows: number;
  /** Made again, and not stored. */
  missing: number;
  /** Stored, and not made again. */
  surplus: number;
}

interface ComparedTable {
  table: PgTable;
  /** Numbers in the order of writing, which a transcript that grew continues, and what is derived later. */
  ignored: readonly string[];
  costs: readonly string[];
}

const COMPARED: readonly ComparedTable[] = [
  { table: transcriptMessages, ignored: [], costs: ['cost_usd'] },
  { table: contentBlocks, ignored: [], costs: [] },
  {
    table: usageEntries,
    ignored: ['entry_number', 'price_version'],
    costs: [...COST_COLUMNS, 'price_basis'],
  },
  { table: toolCalls, ignored: ['call_number', 'is_own'], costs: [] },
  { table: sessionEvents, ignored: ['event_number'], costs: [] },
  { table: ingestIssues, ignored: ['issue_number'], costs: [] },
];

const toScratchName = (table: PgTable): string => `pg_temp.made_again_${getTableConfig(table).name}`;

/**
 * Makes the connection's tables for rows that are made again; they are empty at the beginning of each transaction, need
 * no space in the database's own tables, and are not logged.
 */
export async function prepareScratchTables(transaction: Database): Promise<void> {
  const statements = COMPARED.map(({ table }) => {
    const { schema, name } = getTableConfig(table);
    return `CREATE TEMPORARY TABLE IF NOT EXISTS ${toScratchName(table)} (LIKE ${schema}.${name} INCLUDING DEFAULTS) ON COMMIT DELETE ROWS`;
  });
  await transaction.execute(sql.raw(statements.join('; ')));
}

/** As `createTranscriptCopier`, into the tables of `prepareScratchTables`. */
export const createScratchCopier = (client: PoolClient) =>
  createTranscriptCopier(client, createRowCopier(client, toScratchName));

/** Compares the stored rows of a transcript with those that were made again, by a hash of each. */
export async function compareRows(
  transaction: Database,
  { workspaceId, rowSetId }: RowSetKey,
  { areCostsCompared }: { areCostsCompared: boolean },
): Promise<RowCheck[]> {
  const stored = sql`s.workspace_id = ${workspaceId} AND s.row_set_id = ${rowSetId}`;
  return await compareTables(transaction, COMPARED, stored, areCostsCompared);
}

async function compareTables(
  transaction: Database,
  tables: readonly ComparedTable[],
  stored: SQL,
  areCostsCompared: boolean,
): Promise<RowCheck[]> {
  const comparisons = tables.map(({ table, ignored, costs }) => {
    const left = areCostsCompared ? ignored : [...ignored, ...costs];
    const columns = Object.keys(getTableColumns(table)).filter((name) => !left.includes(name));
    // Only hashes are compared and kept, because a text may have megabytes.
    const hash = sql.raw(`md5(ROW(${columns.map((name) => `s."${name}"`).join(', ')})::text) AS hash`);
    const again = sql.raw(toScratchName(table));
    return sql`
      SELECT ${getTableConfig(table).name}::text AS table, coalesce(sum(stored), 0)::int AS rows, coalesce(sum(greatest(again - stored, 0)), 0)::int AS missing,
        coalesce(sum(greatest(stored - again, 0)), 0)::int AS surplus
      FROM (
        SELECT hash, count(*) FILTER (WHERE is_stored) AS stored, count(*) FILTER (WHERE NOT is_stored) AS again
        FROM (
          SELECT ${hash}, true AS is_stored FROM ${table} AS s WHERE ${stored}
          UNION ALL
          SELECT ${hash}, false AS is_stored FROM ${again} AS s
        ) AS each
        GROUP BY hash
      ) AS hashes`;
  });
  const { rows } = await transaction.execute<RowCheck & Record<string, unknown>>(
    sql.join(comparisons, sql` UNION ALL `),
  );
  return rows.map(({ table, rows: count, missing, surplus }) => ({ table, rows: count, missing, surplus }));
}
