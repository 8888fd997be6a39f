import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabasePool, type DatabasePool, ensureWorkspace, mergeSegments, verifyUsage } from '@recount/db';
import { receiveTranscript, verifyTranscripts } from '@recount/ingest';
import { workJobs } from '@recount/ingest/testing/work-jobs';
import { createTestDatabase } from '@recount/local-postgres/testing';
import { createFolderRawStore, type RawStore } from '@recount/storage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashWorkspace } from './chaos/compare-workspaces.ts';
import type { FleetFile } from './fleet/facts.ts';
import { generateFleet } from './fleet/generate-fleet.ts';
import { createRandom, type Random } from './random.ts';

const MAX_BYTES = 64 * 1024 * 1024;

interface Installation {
  database: DatabasePool;
  rawStore: RawStore;
  /** Uploads a file and ingests it. */
  ingest(workspaceId: string, file: FleetFile): Promise<void>;
  close(): Promise<void>;
}

async function createInstallation(): Promise<Installation> {
  const testDatabase = await createTestDatabase();
  const directory = await mkdtemp(join(tmpdir(), 'recount-growing-'));
  const database = createDatabasePool({ connectionString: testDatabase.connectionString });
  const rawStore = createFolderRawStore({ directory });
  const deps = { database, rawStore };
  return {
    database,
    rawStore,
    async ingest(workspaceId, { path, text }) {
      const body = (async function* () {
        yield Buffer.from(text);
      })();
      await receiveTranscript(deps, { workspaceId, uploaderKeyId: null, path, body, maxBytes: MAX_BYTES });
      await workJobs(deps, { maxLineBytes: MAX_BYTES, minCheckpointBytes: 0 });
    },
    async close() {
      await database.close();
      await rawStore.close();
      await testDatabase.drop();
      await rm(directory, { recursive: true });
    },
  };
}

/** The file at several earlier times, usually at the end of a line, and as it is. */
function toVersions({ path, text }: FleetFile, random: Random): FleetFile[] {
  const lineEnds = [...text.matchAll(/\n/g)].map(({ index }) => index + 1);
  const ends = Array.from(
    { length: random.integer(0, 3) },
    () => random.pick(lineEnds) - (random.integer(0, 5) === 0 ? 9 : 0),
  );
  return [...ends.sort((a, b) => a - b), text.length].map((end) => ({ path, text: text.slice(0, end) }));
}

/** All versions of all files; versions of the same file come in order. */
function interleave(files: readonly FleetFile[][], random: Random): FleetFile[] {
  const waiting = files.map((versions) => [...versions]);
  const order = random.shuffle(waiting.flatMap((versions) => versions.map(() => versions)));
  return order.flatMap((versions) => versions.shift() ?? []);
}

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(() => installation.close());

/** All rows; of transcripts, only those that have rows. */
async function readState(workspaceId: string) {
  const { transcripts: _, ...rows } = await hashWorkspace(installation.database, workspaceId);
  const { rows: transcripts } = await installation.database.pool.query(
    `SELECT to_jsonb(t) - ARRAY['workspace_id', 'id', 'row_set_id', 'grown_from', 'tail_sha256', 'object_key', 'created_at', 'ingested_at', 'attempt_count'] AS row
     FROM recount.transcripts AS t WHERE workspace_id = $1 AND status = 'ingested' ORDER BY session_id, sha256`,
    [workspaceId],
  );
  return { rows, transcripts };
}

describe.each([1, 2, 3, 4])('a fleet whose sessions grow (seed %i)', (seed) => {
  it('has the rows of one whose sessions were uploaded once, and reads only what was added', async () => {
    const random = createRandom(seed);
    const { files } = generateFleet(seed, 8);
    const [whole, grown] = [`whole-${seed}`, `grown-${seed}`];
    for (const id of [whole, grown]) await ensureWorkspace(installation.database.database, id, id);
    for (const file of files) await installation.ingest(whole, file);

    const uploads = interleave(
      files.map((file) => toVersions(file, random)),
      random,
    );
    for (const upload of uploads) {
      await installation.ingest(grown, upload);
      if (random.integer(0, 3) === 0) await mergeSegments(installation.database, grown);
    }

    expect(await readState(grown)).toEqual(await readState(whole));
    const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, grown));
    for (const check of checks) expect(check).toMatchObject({ missing: 0, surplus: 0 });
    const verified = await verifyTranscripts(installation, grown, { maxLineBytes: 1024 * 1024 });
    for (const check of verified.checks) expect(check).toMatchObject({ missing: 0, surplus: 0 });
    const { rows } = await installation.database.pool.query(
      'SELECT count(*)::int AS resumed FROM recount.transcripts WHERE workspace_id = $1 AND row_set_id <> id',
      [grown],
    );
    expect(rows[0]?.resumed).toBeGreaterThan(3);
  });
});
