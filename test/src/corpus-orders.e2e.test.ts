import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { IDENTIFY_HEAD_BYTES, identifyTranscript } from '@recount/core';
import { ensureWorkspace, verifyUsage } from '@recount/db';
import { readSources } from '@recount/storage/sources';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';
import { readFigures, readFiguresOf03 } from './figures-of-0.3.ts';
import { countFleet } from './independent-fleet-count.ts';
import { startTestBackend, type TestBackend } from './test-backend.ts';

const corpus = findCorpus();
let backend: TestBackend;
beforeAll(async () => {
  backend = await startTestBackend('orders');
});
afterAll(() => backend.stop());

interface File {
  path: string;
  bytes: Buffer;
}

async function readTranscripts(root: string): Promise<File[]> {
  const files: File[] = [];
  for await (const item of readSources([root])) {
    if (item.kind !== 'transcript') continue;
    const bytes = await buffer(await item.open());
    const head = bytes.subarray(0, IDENTIFY_HEAD_BYTES);
    if (identifyTranscript({ path: item.path, head }).format === 'claude-code') files.push({ path: item.path, bytes });
  }
  return files;
}

/** Deterministic for a seed. */
function shuffle<T>(items: readonly T[], seed: number): T[] {
  const [shuffled = []] = fc.sample(fc.shuffledSubarray([...items], { minLength: items.length }), { seed, numRuns: 1 });
  return shuffled;
}

async function withWorkers<T>(count: number, work: () => Promise<T>): Promise<T> {
  const workers = await Promise.all(Array.from({ length: count }, () => backend.start('worker')));
  try {
    return await work();
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}

/** Uploads in the given order and waits until everything is ingested. */
async function ingest(workspaceId: string, files: readonly File[]): Promise<void> {
  await ensureWorkspace(backend.database.database, workspaceId, workspaceId);
  for (const { path, bytes } of files) await backend.receive(workspaceId, [bytes], path);
  for (;;) {
    const { rows } = await backend.database.pool.query(
      `SELECT status, count(*)::int AS count FROM recount.transcripts WHERE workspace_id = $1 GROUP BY 1`,
      [workspaceId],
    );
    const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]));
    if (!counts.queued && !counts.processing) return expect(counts.failed).toBeUndefined();
    await sleep(200);
  }
}

/** Everything that is counted, one hash for each table, without ids that depend on the time of the upload. */
async function hashUsage(workspaceId: string) {
  const tables = {
    usage_ledger: "to_jsonb(r) - 'workspace_id' - 'row_set_id'",
    usage_rollup: "to_jsonb(r) - 'workspace_id'",
    message_rollup: "to_jsonb(r) - 'workspace_id'",
    usage_day_rollup: "to_jsonb(r) - 'workspace_id'",
    tool_day_rollup: "to_jsonb(r) - 'workspace_id'",
    file_day_rollup: "to_jsonb(r) - 'workspace_id'",
    message_day_rollup: "to_jsonb(r) - 'workspace_id'",
    findings: "to_jsonb(r) - 'workspace_id' - 'row_set_id'",
    sessions: "to_jsonb(r) - 'workspace_id' - 'primary_transcript_id' - 'created_at' - 'updated_at'",
  };
  const hashes: Record<string, unknown> = {};
  for (const [table, row] of Object.entries(tables)) {
    const { rows } = await backend.database.pool.query(
      `SELECT count(*)::int AS count, md5(string_agg(row, '' ORDER BY row COLLATE "C")) AS hash
       FROM (SELECT (${row})::text AS row FROM recount.${table} AS r WHERE workspace_id = $1) AS every`,
      [workspaceId],
    );
    hashes[table] = rows[0];
  }
  return hashes;
}

async function sumLedger(workspaceId: string) {
  const { rows } = await backend.database.pool.query(
    `SELECT count(*)::int AS responses, sum(tokens_in)::float8 AS "tokensIn", sum(tokens_out)::float8 AS "tokensOut",
            sum(cache_read)::float8 AS "cacheRead", sum(cache_write)::float8 AS "cacheWrite"
     FROM recount.usage_ledger WHERE workspace_id = $1`,
    [workspaceId],
  );
  return rows[0];
}

describe.skipIf(corpus === undefined)('the corpus in any order', () => {
  it('gives the same totals whatever the order of arrival and the number of workers', async () => {
    const files = await readTranscripts(corpus ?? '');
    const orders = [
      { workspaceId: '01J0000000000000000000000A', seed: 1, workers: 1 },
      { workspaceId: '01J0000000000000000000000B', seed: 2, workers: 4 },
    ];
    const hashes: unknown[] = [];
    for (const { workspaceId, seed, workers: count } of orders) {
      await withWorkers(count, () => ingest(workspaceId, shuffle(files, seed)));
      hashes.push(await hashUsage(workspaceId));
      for (const check of await backend.database.withSnapshot((snapshot) => verifyUsage(snapshot, workspaceId))) {
        expect(check).toMatchObject({ missing: 0, surplus: 0 });
      }
    }
    const of03 = readFiguresOf03();
    expect(await readFigures(backend.database, '01J0000000000000000000000A', of03)).toEqual(of03);
    expect(hashes[1]).toEqual(hashes[0]);
    const { rows: disputed } = await backend.database.pool.query(
      'SELECT response_key, disagreements FROM recount.usage_ledger WHERE disagreements IS NOT NULL',
    );
    expect(disputed).toEqual([]);
    expect(await sumLedger('01J0000000000000000000000A')).toEqual(countFleet(files.map(({ bytes }) => bytes)));
  });
});
