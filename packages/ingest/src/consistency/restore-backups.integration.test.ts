import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyUsage } from '@recount/db';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { deleteSession } from '../maintenance/deletions.ts';
import { requeueTranscript } from '../queue/requeue-transcript.ts';
import { backUpDatabase, hashTables } from '../testing/table-backup.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import { type Finding, runDoctor } from './run-doctor.ts';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

async function examine(fix: boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  const options = { fix, minAgeMs: 0, nowMs: Date.now() + 3_600_000 };
  for await (const finding of runDoctor(installation, options)) {
    if (finding.kind !== 'search-behind') findings.push(finding);
  }
  return findings;
}

async function ingest(session: string, lineCount: number, path?: string): Promise<string> {
  const { transcript } = await installation.receive(toTranscript(session, lineCount), { path });
  await installation.work();
  return transcript.id;
}

async function expectExactUsage(): Promise<void> {
  const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
  expect(checks.every(({ missing, surplus }) => missing + surplus === 0)).toBe(true);
}

it('restores what an older database lacks, exactly, by `doctor --fix`', async () => {
  await ingest('before', 3);
  await ingest('grows', 3);
  const restore = await backUpDatabase(installation.database);
  await ingest('grows', 8);
  await ingest('after', 4, '/p/11111111-2222-4333-8444-555555555555/subagents/agent-a1b2.jsonl');
  const complete = await hashTables(installation.database);
  await restore();

  expect((await examine(false)).map(({ kind }) => kind)).toEqual(['orphan-object', 'orphan-object']);
  expect(await examine(true)).toMatchObject([{ fixed: true }, { fixed: true }]);
  await installation.work();
  expect(await hashTables(installation.database)).toEqual(complete);
  await expectExactUsage();
  expect(await examine(false)).toEqual([]);
});

it('names the sessions of an older database that were deleted since', async () => {
  const id = await ingest('deleted', 3);
  await ingest('kept', 3);
  const restore = await backUpDatabase(installation.database);
  await deleteSession(installation, TEST_WORKSPACE, 'deleted');
  await restore();
  for (const fix of [false, true]) {
    expect(await examine(fix)).toMatchObject([{ kind: 'missing-object', transcriptId: id, fixed: false }]);
  }
  await deleteSession(installation, TEST_WORKSPACE, 'deleted');
  expect(await examine(false)).toEqual([]);
  await expectExactUsage();
});

it('names what an older raw store lacks, which the same uploads restore', async () => {
  await ingest('before', 3);
  const backup = await mkdtemp(join(tmpdir(), 'recount-store-backup-'));
  onTestFinished(() => rm(backup, { recursive: true }));
  await cp(installation.storeDirectory, backup, { recursive: true });
  const id = await ingest('after', 4, '/p/after.jsonl');
  const complete = await hashTables(installation.database);
  await rm(installation.storeDirectory, { recursive: true });
  await cp(backup, installation.storeDirectory, { recursive: true });

  const missing = [{ kind: 'missing-object', transcriptId: id, fixed: false }];
  for (const fix of [false, true]) expect(await examine(fix)).toMatchObject(missing);
  // Existing rows stay, whatever is tried.
  const job = { workspaceId: TEST_WORKSPACE, transcriptId: id };
  await requeueTranscript(installation, job, ['ingested']);
  await expect(installation.work()).rejects.toThrow('No raw object');
  await expectExactUsage();

  const again = await installation.receive(toTranscript('after', 4), { path: '/p/after.jsonl' });
  expect(again).toMatchObject({ isDuplicate: true, transcript: { id } });
  await requeueTranscript(installation, job, ['failed', 'queued', 'processing']);
  await installation.work();
  expect(await examine(false)).toEqual([]);
  // Its transcript names the new object.
  const { transcripts: _transcripts, ...others } = complete;
  expect(await hashTables(installation.database)).toMatchObject(others);
});
