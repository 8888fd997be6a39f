import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  changeWorkspaceSettings,
  createApiKey,
  ensureWorkspace,
  findKeyHolder,
  findLiveSession,
  hashApiKey,
  listTranscripts,
  verifyUsage,
} from '@recount/db';
import { rawObjectKey, workspaceRecordKey } from '@recount/storage';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newStreamId, openLiveWriter } from '../live/open-live-writer.ts';
import { recordWorkspaces } from '../maintenance/workspace-records.ts';
import { changePriceSettings } from '../prices/workspace-prices.ts';
import { emptyDatabase, hashTables } from '../testing/table-backup.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';
import { type RebuildFinding, type RebuildOptions, type RebuildProgress, rebuildDatabase } from './rebuild-database.ts';
import { type Finding, runDoctor } from './run-doctor.ts';

const OTHER = '01J00000000000000000000002';
/** Assembled from parts, so that secret scanners do not report this repository. */
const TOKEN = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
const PARENT = '11111111-2222-4333-8444-555555555555';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

const isLater = { minAgeMs: 0, nowMs: Date.now() + 3_600_000 };

async function rebuild(
  options: Partial<RebuildOptions> = {},
): Promise<{ findings: RebuildFinding[]; progress: RebuildProgress | undefined }> {
  const findings: RebuildFinding[] = [];
  let progress: RebuildProgress | undefined;
  const onObject = (now: RebuildProgress) => {
    progress = { ...now };
  };
  for await (const finding of rebuildDatabase(installation, { ...isLater, onObject, ...options }))
    findings.push(finding);
  return { findings, progress };
}

async function examine(fix = true): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of runDoctor(installation, { ...isLater, fix })) {
    if (finding.kind !== 'search-behind') findings.push(finding);
  }
  return findings;
}

async function expectExactUsage(): Promise<void> {
  for (const workspaceId of [TEST_WORKSPACE, OTHER]) {
    const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, workspaceId));
    expect(checks.every(({ missing, surplus }) => missing + surplus === 0)).toBe(true);
  }
}

async function stream(agent: string, sessionId: string, lines: readonly object[]): Promise<void> {
  const request = {
    workspaceId: TEST_WORKSPACE,
    streamId: newStreamId(),
    sessionId,
    agent,
    offset: 0,
    uploaderKeyId: 'key',
  };
  const limits = { maxOpenStreams: 10, maxBytes: 1_000_000 };
  const writer = await openLiveWriter(installation, { ...request, path: '/run/out' }, limits);
  for (const line of lines) await writer.append(Buffer.from(`${JSON.stringify(line)}\n`));
  await writer.end({});
}

/**
 * Two workspaces with everything that only uploads state, such as paths, session ids, versions, streams, secrets,
 * settings, prices.
 */
async function fill(): Promise<void> {
  const { database } = installation.database;
  await ensureWorkspace(database, OTHER, 'other');
  await createApiKey(database, { workspaceId: OTHER, name: 'laptop', scopes: ['ingest'] });
  await changeWorkspaceSettings(database, OTHER, { redaction: 'rows-and-raw', rowsMaxAgeDays: 3650 });
  await changePriceSettings(installation, TEST_WORKSPACE, {
    currencyLabel: 'EUR',
    overrides: [{ model: 'claude-sonnet-4-5', inputUsdPerMillion: 7, outputUsdPerMillion: 11 }],
  });
  await installation.receive(toTranscript('grown', 4));
  await installation.receive(toTranscript('grown', 9));
  await installation.receive(toTranscript('named-by-lines', 3), { sessionId: 'named-by-the-upload' });
  await installation.receive(toTranscript('named-by-lines', 3));
  await installation.receive(toTranscript('s', 5), { path: `/p/${PARENT}.jsonl` });
  await installation.receive(toTranscript('s', 6), { path: `/p/${PARENT}/subagents/agent-a1b2.jsonl` });
  const line = { type: 'user', uuid: 'u', message: { role: 'user', content: 'hello' } };
  await installation.receive(`${JSON.stringify(line)}\n`, {
    sessionId: 'no-line-says-so',
    agent: 'claude-code',
    path: 'ä/b.jsonl',
  });
  const secret = { message: { role: 'user', content: `log in with ${TOKEN}` } };
  await installation.receive(toLine('secret', 0, secret) + toTranscript('secret', 4), { workspaceId: OTHER });
  await stream('claude-code', 'live', [
    { type: 'system', subtype: 'init', session_id: 'live' },
    { type: 'user', session_id: 'live', message: { role: 'user', content: 'go' } },
  ]);
  await stream('codex', 'codex-session', [
    { type: 'thread.started', thread_id: 'codex-thread' },
    { type: 'turn.completed', usage: { input_tokens: 100, cached_input_tokens: 40, output_tokens: 7 } },
  ]);
  await installation.work();
  await recordWorkspaces(installation);
}

const listRows = (workspaceId = TEST_WORKSPACE) =>
  listTranscripts(installation.database.database, workspaceId, {}, { limit: 100 });
const findStreamTotals = () =>
  findLiveSession(installation.database.database, { workspaceId: TEST_WORKSPACE, sessionId: 'codex-session' });

it('restores every row of a lost database from the raw store alone', async () => {
  await fill();
  const before = await hashTables(installation.database);
  expect(before.transcripts?.rows).toBe(10);
  expect(before.usage_ledger?.rows).toBeGreaterThan(0);
  const receivedAt = (await listRows()).map(({ created_at }) => Date.parse(created_at));
  const totals = await findStreamTotals();
  await emptyDatabase(installation.database);

  const { findings, progress } = await rebuild();
  expect(findings.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual([
    { kind: 'lost-keys', workspaceId: TEST_WORKSPACE, name: 'test', keyNames: [], fixed: false },
    { kind: 'lost-keys', workspaceId: OTHER, name: 'other', keyNames: ['laptop'], fixed: false },
  ]);
  expect(progress).toMatchObject({ objects: 10, registered: 10 });
  expect(await examine()).toEqual([]);
  await installation.work();
  expect(await hashTables(installation.database)).toEqual(before);
  await expectExactUsage();
  for (const [index, row] of (await listRows()).entries()) {
    expect(Math.abs(Date.parse(row.created_at) - (receivedAt[index] ?? 0))).toBeLessThan(60_000);
  }
  expect(await findStreamTotals()).toMatchObject({ tokens_in: totals?.tokens_in, stream_count: 1 });

  expect(await examine()).toEqual([]);
  expect(await rebuild()).toMatchObject({ findings: [], progress: { objects: 10, registered: 0 } });
  expect(await installation.listJobs()).toEqual([]);
});

it('continues where it was interrupted, and where others began', async () => {
  for (let index = 0; index < 150; index += 1) await installation.receive(toTranscript(`s-${index}`, 2));
  await installation.clearJobs();
  await recordWorkspaces(installation);
  await emptyDatabase(installation.database);
  const abort = new AbortController();
  await expect(rebuild({ signal: abort.signal, onObject: () => abort.abort() })).rejects.toThrow('aborted');
  const count = (await listTranscripts(installation.database.database, TEST_WORKSPACE, {}, { limit: 1000 })).length;
  expect(count).toBe(64);
  const [one, two] = await Promise.all([rebuild(), rebuild()]);
  expect([...one.findings, ...two.findings]).toEqual([]);
  const rows = await listTranscripts(installation.database.database, TEST_WORKSPACE, {}, { limit: 1000 });
  expect(rows).toHaveLength(150);
  expect(await installation.listObjectKeys()).toHaveLength(151);
  expect(new Set((await installation.listJobs()).map(({ transcriptId }) => transcriptId)).size).toBe(150);
});

it('restores the old workspace and its keys into an empty new one of the same name', async () => {
  await fill();
  await emptyDatabase(installation.database);
  const { database } = installation.database;
  const { id } = await ensureWorkspace(database, '01J00000000000000000000077', 'test');
  const { key } = await createApiKey(database, { workspaceId: id, name: 'recount up', scopes: ['admin'] });
  await recordWorkspaces(installation);
  await rebuild();
  expect(await findKeyHolder(database, hashApiKey(key))).toMatchObject({ workspaceId: TEST_WORKSPACE });
  expect(await installation.rawStore.stat(workspaceRecordKey(id))).toBeUndefined();
  const { rows } = await installation.database.pool.query('SELECT id, name FROM recount.workspaces ORDER BY id');
  expect(rows).toEqual([
    { id: TEST_WORKSPACE, name: 'test' },
    { id: OTHER, name: 'other' },
  ]);
});

it('leaves a workspace of the same name alone if it has transcripts', async () => {
  await installation.receive(toTranscript('old', 3));
  await recordWorkspaces(installation);
  await emptyDatabase(installation.database);
  await ensureWorkspace(installation.database.database, OTHER, 'test');
  await installation.receive(toTranscript('new', 3), { workspaceId: OTHER });
  const name = `test ${TEST_WORKSPACE}`;
  expect((await rebuild()).findings).toContainEqual(
    expect.objectContaining({ kind: 'renamed-workspace', workspaceId: TEST_WORKSPACE, name, wantedName: 'test' }),
  );
  expect(await listRows(OTHER)).toHaveLength(1);
  expect(await listRows()).toHaveLength(1);
});

it('uses lines and keys for objects that recount 0.3 stored, and says what needs manual attention', async () => {
  await fill();
  const nameless = newStreamId();
  const line = { type: 'user', uuid: 'u', message: { role: 'user', content: 'whose?' } };
  const namelessKey = rawObjectKey({ workspaceId: TEST_WORKSPACE, transcriptId: nameless });
  await installation.rawStore.put(namelessKey, Readable.from([Buffer.from(`${JSON.stringify(line)}\n`)]));
  const keys = await installation.listObjectKeys();
  for (const key of keys) {
    await rm(join(installation.storeDirectory, `${key}.about.json`), { force: true });
    if (key.endsWith('workspace.json')) await installation.rawStore.delete(key);
  }
  await emptyDatabase(installation.database);
  const { findings, progress } = await rebuild();
  const kinds = findings.map(({ kind }) => kind).sort();
  expect(kinds.filter((kind) => kind === 'lost-keys' || kind === 'renamed-workspace')).toHaveLength(4);
  expect(findings).toContainEqual(expect.objectContaining({ kind: 'unidentified-object', transcriptId: nameless }));
  expect(findings).toContainEqual({ kind: 'guessed-objects', count: progress?.registered, fixed: false });
  await installation.work();
  const sessions = (await listRows()).map(({ session_id }) => session_id);
  expect(sessions).toEqual(expect.arrayContaining(['grown', 's', 'named-by-lines', nameless]));
  await expectExactUsage();
});

it('is exact for objects of recount 0.3 that `doctor --fix` has described before', async () => {
  await fill();
  const before = await hashTables(installation.database);
  for (const key of await installation.listObjectKeys()) {
    await rm(join(installation.storeDirectory, `${key}.about.json`), { force: true });
  }
  expect(await examine()).toEqual([{ kind: 'undescribed-objects', count: 10, fixed: true }]);
  await emptyDatabase(installation.database);
  await rebuild();
  await examine();
  await installation.work();
  expect(await hashTables(installation.database)).toEqual(before);
});

it('counts what it cannot use, and leaves it in place', async () => {
  const { transcript } = await installation.receive(toTranscript('damaged', 3));
  await installation.receive(toTranscript('whole', 3));
  await recordWorkspaces(installation);
  const path = join(installation.storeDirectory, transcript.object_key);
  const bytes = await readFile(path);
  bytes[12] = (bytes[12] ?? 0) ^ 1;
  await writeFile(path, bytes);
  await installation.rawStore.put('notes/of-somebody.txt', Readable.from([Buffer.from('x')]));
  await emptyDatabase(installation.database);
  // Once the workspace is gone, each of its objects needs attention.
  const orphans = await examine();
  expect(orphans.filter((finding) => 'obstacle' in finding && finding.obstacle === 'no-workspace')).toHaveLength(2);
  const { findings } = await rebuild();
  expect(findings).toContainEqual({ kind: 'unknown-objects', count: 1, fixed: false });
  const obstacles = (await examine()).map((finding) => 'obstacle' in finding && [finding.objectKey, finding.obstacle]);
  expect(obstacles).toEqual([[transcript.object_key, 'damaged']]);
  expect((await listRows()).map(({ session_id }) => session_id)).toEqual(['whole']);
  expect(await readFile(path)).toEqual(bytes);
});

it('skips recent objects, and says so', async () => {
  await installation.receive(toTranscript('young', 3));
  await recordWorkspaces(installation);
  await emptyDatabase(installation.database);
  const { findings } = await rebuild({ nowMs: Date.now(), minAgeMs: 3_600_000 });
  expect(findings).toContainEqual({ kind: 'young-objects', count: 1, fixed: false });
  expect(await listRows()).toEqual([]);
});

it('says that figures are lost if retention had deleted their objects', async () => {
  await changeWorkspaceSettings(installation.database.database, TEST_WORKSPACE, { rawMaxAgeDays: 30 });
  await recordWorkspaces(installation);
  await emptyDatabase(installation.database);
  expect((await rebuild()).findings).toContainEqual(
    expect.objectContaining({ kind: 'lost-figures', rawMaxAgeDays: 30 }),
  );
});

it('leaves a session that another has extended with the person who uploaded it first', async () => {
  const { pool } = installation.database;
  const readOrigin = async () => {
    const { rows } = await pool.query(
      `SELECT uploader_key_id, machine, person, other_uploader_count, total_messages FROM recount.sessions WHERE session_id = 'appended'`,
    );
    return rows;
  };
  await installation.receive(toTranscript('appended', 4), { uploaderKeyId: 'key-1', person: 'Ada', machine: 'heron' });
  await installation.work();
  await installation.receive(toTranscript('appended', 6), { uploaderKeyId: 'key-2', person: 'Bob', machine: 'otter' });
  await installation.work();
  const origin = {
    uploader_key_id: 'key-1',
    machine: 'heron',
    person: 'Ada',
    other_uploader_count: 1,
    total_messages: 6,
  };
  expect(await readOrigin()).toEqual([origin]);
  await emptyDatabase(installation.database);
  await rebuild();
  await installation.work();
  expect(await readOrigin()).toEqual([origin]);
});
