import { readFile } from 'node:fs/promises';
import { EXPORT_DATASETS } from '@recount/contract/choices';
import { createDatabasePool, type ReportFilter, sql, toExportQuery } from '@recount/db';
import { createTestDatabase } from '@recount/local-postgres/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toExportColumns } from './export-columns.ts';

const FILTER: ReportFilter = { workspaceId: 'w', from: null, to: null, timeZone: 'UTC', subagents: 'include' };

/** By the type's OID. */
const TYPES: Readonly<Record<number, string>> = {
  16: 'flag',
  20: 'count',
  23: 'count',
  25: 'text',
  1009: 'json',
  1184: 'time',
  1700: 'cost',
  3802: 'json',
};

describe('toExportColumns', () => {
  it.each(EXPORT_DATASETS)('are the columns of the query of %s, with their types', async (dataset) => {
    const { connectionString, drop } = await createTestDatabase();
    const database = createDatabasePool({ connectionString });
    onTestFinished(async () => {
      await database.close();
      await drop();
    });
    const { fields } = await database.database.execute(sql`${toExportQuery(dataset, FILTER)} LIMIT 0`);
    const columns = toExportColumns(dataset);
    expect(columns.map(({ name }) => name)).toEqual(fields.map(({ name }) => name));
    const sums = new Set([
      'own_responses',
      'own_tokens_in',
      'own_tokens_out',
      'own_cache_read',
      'own_cache_write',
      'shared_responses',
      'own_unpriced_responses',
      'shared_unpriced_responses',
    ]);
    expect(columns.map(({ name, type }) => (sums.has(name) ? 'sum' : type))).toEqual(
      fields.map(({ name, dataTypeID }) => (sums.has(name) ? 'sum' : TYPES[dataTypeID])),
    );
  });

  it.each(EXPORT_DATASETS)('are the columns of %s that the documentation lists', async (dataset) => {
    const page = await readFile(new URL('../../../../docs/api/exports.md', import.meta.url), 'utf8');
    const section = page.slice(page.indexOf(`\n**${dataset}**`)).split(/\n\*\*|\n## |$(?![\s\S])/)[1] ?? '';
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    const listed = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(listed).toEqual(toExportColumns(dataset).map(({ name }) => name));
  });
});
