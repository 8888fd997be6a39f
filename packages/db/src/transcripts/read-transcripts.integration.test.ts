import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TranscriptStatus } from '../schema/transcripts.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import {
  countTranscriptsByStatus,
  listAllTranscripts,
  listTranscripts,
  type TranscriptFilter,
} from './read-transcripts.ts';

const COUNT = 2500;

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  for (const workspace of [TEST_WORKSPACE, OTHER_WORKSPACE]) {
    await pool.pool.query(
      `INSERT INTO recount.transcripts (workspace_id, id, session_id, agent, format, is_stream, sha256, size_bytes,
         object_key, status, created_at)
       SELECT $1, 't' || lpad(n::text, 5, '0'), 's' || n / 2, 'claude-code', 'claude-code', false, 'sha' || n, n, $1 || n,
              (ARRAY['queued', 'processing', 'ingested', 'superseded', 'failed'])[n % 5 + 1],
              timestamptz '2026-01-01Z' + n * interval '1 second'
       FROM generate_series(1, $2) AS n`,
      [workspace, COUNT],
    );
  }
});
afterAll(() => pool.close());

const toIds = (from: number, to: number, isWanted = (_n: number) => true) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)
    .filter(isWanted)
    .map((n) => `t${String(n).padStart(5, '0')}`);

async function list(filter: TranscriptFilter, page: { afterId?: string; limit: number } = { limit: 5000 }) {
  const rows = await listTranscripts(pool.database, TEST_WORKSPACE, filter, page);
  for (const row of rows) expect(row.workspace_id).toBe(TEST_WORKSPACE);
  return rows.map(({ id }) => id);
}

it('lists a page of a workspace’s transcripts in upload order', async () => {
  expect(await list({})).toEqual(toIds(1, COUNT));
  expect(await list({}, { limit: 3 })).toEqual(toIds(1, 3));
  expect(await list({}, { afterId: 't00003', limit: 3 })).toEqual(toIds(4, 6));
  expect(await list({}, { afterId: 't02499', limit: 3 })).toEqual(toIds(2500, 2500));
});

it('lists the requested ones', async () => {
  expect(await list({ ids: ['t00007', 't00005', 'unknown'] })).toEqual(['t00005', 't00007']);
  expect(await list({ ids: [] })).toEqual([]);
  expect(await list({ sessionId: 's3' })).toEqual(toIds(6, 7));
  expect(await list({ sha256: 'sha9' })).toEqual(toIds(9, 9));
  expect(await list({ statuses: ['ingested', 'failed'] })).toEqual(toIds(1, COUNT, (n) => n % 5 === 2 || n % 5 === 4));
  expect(await list({ statuses: ['queued'], sessionId: 's5' })).toEqual(toIds(10, 10));
});

async function listAll(filter: Parameters<typeof listAllTranscripts>[1]) {
  const found: string[] = [];
  for await (const page of listAllTranscripts(pool.database, filter)) {
    for (const { workspace_id, id } of page) found.push(`${workspace_id}/${id}`);
  }
  return found;
}
const ofBoth = (ids: string[]) =>
  [TEST_WORKSPACE, OTHER_WORKSPACE].flatMap((workspace) => ids.map((id) => `${workspace}/${id}`));

it('iterates over the transcripts of all workspaces, each once', async () => {
  expect(await listAll({})).toEqual(ofBoth(toIds(1, COUNT)));
  expect(await listAll({ statuses: ['queued'] })).toEqual(ofBoth(toIds(1, COUNT, (n) => n % 5 === 0)));
});

it('counts by status', async () => {
  const each = (count: number): Record<TranscriptStatus, number> => ({
    queued: count,
    processing: count,
    ingested: count,
    superseded: count,
    failed: count,
  });
  const count = (filter: Parameters<typeof countTranscriptsByStatus>[1]) =>
    countTranscriptsByStatus(pool.database, filter);
  expect(await count({})).toEqual(each((COUNT / 5) * 2));
  expect(await count({ workspaceId: OTHER_WORKSPACE })).toEqual(each(COUNT / 5));
  expect(await count({ workspaceId: TEST_WORKSPACE, ids: ['t00001', 't00002'] })).toEqual({
    ...each(0),
    processing: 1,
    ingested: 1,
  });
  expect(await count({ workspaceId: 'nobody' })).toEqual(each(0));
});
