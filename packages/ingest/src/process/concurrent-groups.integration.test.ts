import { ensureWorkspace, verifyUsage } from '@recount/db';
import { waitForLocks } from '@recount/local-postgres/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestInstallation, type TestInstallation, toLine } from '../testing/test-installation.ts';
import { ingestBatch } from './ingest-batch.ts';

const OPTIONS = { maxLineBytes: 1024 * 1024 };

let installation: TestInstallation;
let workspaceCount = 0;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

/** A session with its own responses, and some that other sessions have as well. */
interface MadeSession {
  ownCount: number;
  sharedIndexes: number[];
}

function toText(session: string, { ownCount, sharedIndexes }: MadeSession): string {
  const lines = Array.from({ length: 2 * ownCount }, (_, index) =>
    toLine(session, index).replaceAll('msg-', `msg-${session}-`).replaceAll('req-', `req-${session}-`),
  );
  // Answers have odd indexes.
  return [...lines, ...sharedIndexes.map((index) => toLine(session, 2 * index + 1))].join('');
}

async function receiveAll(made: readonly MadeSession[]): Promise<{ workspaceId: string; ids: string[] }> {
  const workspaceId = `workspace-${++workspaceCount}`;
  await ensureWorkspace(installation.database.database, workspaceId, workspaceId);
  const ids: string[] = [];
  for (const [index, session] of made.entries()) {
    const { transcript } = await installation.receive(toText(`session-${index}`, session), { workspaceId });
    ids.push(transcript.id);
  }
  return { workspaceId, ids };
}

const TABLES = [
  ...['usage_ledger', 'tool_calls', 'sessions', 'findings', 'usage_rollup', 'usage_day_rollup', 'message_rollup'],
  ...['message_day_rollup', 'tool_day_rollup', 'file_day_rollup'],
];

/** Every derived row, with places of uploads instead of their ids. */
async function readDerived(workspaceId: string, ids: readonly string[]): Promise<Record<string, string[]>> {
  const dump: Record<string, string[]> = {};
  for (const table of TABLES) {
    const { rows } = await installation.database.pool.query<{ row: string }>(
      `SELECT (to_jsonb(t) - ARRAY['workspace_id', 'created_at', 'updated_at'])::text AS row
       FROM recount.${table} AS t WHERE workspace_id = $1`,
      [workspaceId],
    );
    const toPlaces = (text: string) => ids.reduce((result, id, place) => result.replaceAll(id, `#${place}`), text);
    dump[table] = rows.map(({ row }) => toPlaces(row)).sort();
  }
  return dump;
}

const sessionArbitrary: fc.Arbitrary<MadeSession> = fc.record({
  ownCount: fc.integer({ min: 1, max: 3 }),
  sharedIndexes: fc.uniqueArray(fc.integer({ min: 50, max: 65 }), { maxLength: 2 }),
});

it('derives the same rows in groups by several workers as one by one, whatever responses they share', async () => {
  const made = fc.array(sessionArbitrary, { minLength: 2, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(made, fc.integer({ min: 1, max: 4 }), async (sessions, workers) => {
      const [oneByOne, atOnce] = [await receiveAll(sessions), await receiveAll(sessions)];
      for (const id of oneByOne.ids) {
        expect(await ingestBatch(installation, oneByOne.workspaceId, [id], OPTIONS)).toHaveLength(1);
      }
      const groups = Array.from({ length: workers }, (_, worker) =>
        atOnce.ids.filter((_id, index) => index % workers === worker),
      );
      const ingested = await Promise.all(
        groups.map((group) => ingestBatch(installation, atOnce.workspaceId, group, OPTIONS)),
      );
      expect(ingested.flat()).toHaveLength(sessions.length);
      expect(await readDerived(atOnce.workspaceId, atOnce.ids)).toEqual(
        await readDerived(oneByOne.workspaceId, oneByOne.ids),
      );
      for (const { workspaceId } of [oneByOne, atOnce]) {
        const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, workspaceId));
        for (const check of checks) expect(check).toMatchObject({ missing: 0, surplus: 0 });
      }
    }),
  );
});

it('looks again once a transaction that wrote one of its responses at the same time has committed', async () => {
  const made = { ownCount: 3, sharedIndexes: [] };
  const [first, second] = [await receiveAll([made]), await receiveAll([made])];
  await ingestBatch(installation, first.workspaceId, first.ids, OPTIONS);
  const { pool } = installation.database;
  const { rows } = await pool.query(
    'SELECT to_jsonb(l) AS row FROM recount.usage_ledger AS l WHERE workspace_id = $1',
    [first.workspaceId],
  );
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query(
    'INSERT INTO recount.usage_ledger SELECT * FROM jsonb_populate_record(NULL::recount.usage_ledger, $1)',
    [{ ...rows[0].row, workspace_id: second.workspaceId }],
  );
  const processing = ingestBatch(installation, second.workspaceId, second.ids, OPTIONS);
  await waitForLocks(installation, 1);
  await client.query('COMMIT');
  client.release();
  expect(await processing).toHaveLength(1);
  expect(await readDerived(second.workspaceId, second.ids)).toEqual(await readDerived(first.workspaceId, first.ids));
});
