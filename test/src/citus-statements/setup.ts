import { listPlacements } from '@recount/db';
import { withClient } from '@recount/local-postgres';
import { createTestDatabase, isOnCitus } from '@recount/local-postgres/testing';
import { afterAll, expect } from 'vitest';
import { findFaults } from './find-faults.ts';
import { plansWithoutParameters } from './plans-without-parameters.ts';
import { forgetStatements, recordStatements, takeStatements } from './record-statements.ts';
import { ALL_NODES } from './statements-for-all-nodes.ts';

const listTables = (placement: string): string[] =>
  listPlacements().flatMap(({ table, statement }) =>
    statement.includes(placement) ? [table.replace(/^.*\./, '')] : [],
  );
const distributedTables = new Set(listTables('create_distributed_table'));
const spreadTables = new Set([...distributedTables, ...listTables('create_reference_table')]);

/**
 * Tests of the packages that send statements to the database. Migrations, which change all workspaces, are excluded.
 */
const SENDERS = /\/(?:packages\/(?:db|ingest)|apps\/(?:api|cli))\/src\/(?!migrations\/|commands\/ordinary-owner)/;

const toLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

recordStatements();

// Without a cluster, statements that Citus cannot run fail the file that sends them; on a cluster they fail by
// themselves.
afterAll(async () => {
  if (isOnCitus() || !SENDERS.test(expect.getState().testPath ?? '')) return forgetStatements();
  const statements = takeStatements();
  if (statements.length === 0) return;
  const { connectionString, drop } = await createTestDatabase();
  try {
    const faults = await withClient(connectionString, async (client) => {
      if (!(await plansWithoutParameters(client))) return [];
      const found: string[] = [];
      for (const text of statements) {
        const line = toLine(text);
        const asksAllNodes = ALL_NODES.some(({ part }) => line.includes(part));
        const faultsOfThis = await findFaults(client, text, { distributedTables, spreadTables, asksAllNodes });
        found.push(...faultsOfThis.map((fault) => `${fault}\n    ${line}`));
      }
      return found;
    });
    expect(faults, 'statements that Citus cannot run: see docs/scaling.md').toEqual([]);
  } finally {
    await drop();
  }
});
