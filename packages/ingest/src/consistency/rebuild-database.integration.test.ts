import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { TelemetryRecord } from '@recount/core';
import {
  addressFindings,
  annotateSession,
  changePerson,
  changeWorkspaceSettings,
  createApiKey,
  createBudget,
  createDestination,
  createDigest,
  createPerson,
  createTeam,
  deleteTelemetry,
  dismissFindings,
  ensureWorkspace,
  findKeyHolder,
  findLiveSession,
  findSession,
  hashApiKey,
  listTranscripts,
  mergePerson,
  recordCrossings,
  renameRepositories,
  type SessionAnnotation,
  storeBill,
  storeTelemetry,
  verifyUsage,
} from '@recount/db';
import { rawObjectKey, workspaceRecordKey } from '@recount/storage';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
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
  await installation.database.withTransaction(async (transaction) => {
    const change = { workspaceId: TEST_WORKSPACE, actor: 'key:ada' } as const;
    await renameRepositories(transaction, change, ['app'], 'Heron');
    await renameRepositories(transaction, change, ['Heron'], 'Birds');
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
  const place = { period: 'day' as const, time_zone: 'UTC', unit: 'tokens' as const, filters: { person: ['ada'] } };
  const warnings = { thresholds: [50], forecast_percent: null, anomaly_factor: null, destination_ids: null };
  const crossing = { period_start: '2026-01-01', kind: 'threshold' as const, threshold: 50, is_late: true, figure: 7 };
  const details = { amount: 1, unit: 'tokens' as const, low: null, high: null, median: null };
  await installation.database.withTransaction(async (transaction) => {
    const budget = { name: 'all', amount: 1, ...place, ...warnings };
    const row = await createBudget(transaction, TEST_WORKSPACE, budget, 'system');
    if (typeof row === 'string') throw new Error(row);
    await recordCrossings(transaction, row, [{ ...crossing, ...details }], '2026-02-01T00:00:00.000Z');
    // Later, so that no message to it waits, which a rebuild would lose.
    const destination = { id: '01J0000000000000000000D001', name: 'team', kind: 'slack' as const, hint: 'example.org' };
    await createDestination(transaction, TEST_WORKSPACE, { ...destination, secret: 'v1.sealed' }, 'system');
    const digest = { period: 'week' as const, time_zone: 'UTC', filters: {}, destination_ids: [destination.id] };
    await createDigest(transaction, TEST_WORKSPACE, { name: 'weekly', ...digest }, 'system');
  });
  await annotate('grown', { given_title: 'Grown up', is_starred: true, tags: ['ä', 'b'], note: 'two\nlines' });
  await decideOnFindings();
  await addPeople();
  await addWitnesses();
  await recordWorkspaces(installation);
}

const telemetry = (identity: string, sessionId: string): TelemetryRecord => ({
  ...{ agent: 'claude-code', kind: 'request', identity, sessionId, requestId: identity, model: 'claude-opus-5' },
  ...{ purpose: null, timestampMs: Date.parse('2026-01-02T03:04:05.678Z'), inputTokens: 3, outputTokens: 5 },
  ...{ cacheReadTokens: 7, cacheWriteTokens: 11, costUsd: 0.1234567891, person: 'ada', machine: 'laptop-ä' },
});

/** Telemetry of three days, more than a page, and a bill. */
async function addWitnesses(): Promise<void> {
  const { database } = installation.database;
  const requests = Array.from({ length: 600 }, (_, index) => telemetry(`r-${index}`, 'grown'));
  await storeTelemetry(database, TEST_WORKSPACE, requests);
  await storeTelemetry(database, OTHER, [telemetry('r-0', 'other')]);
  // In UTC, because Citus refuses a SET that depends on the time zone of the session.
  await database.execute(`
    UPDATE recount.telemetry_records SET received_at = (received_at AT TIME ZONE 'UTC'
      - interval '1 day' * (length(record_key) % 2 + ascii(record_key) % 2)) AT TIME ZONE 'UTC'
    WHERE workspace_id = '${TEST_WORKSPACE}'`);
  const tokens = { inputTokens: 1, outputTokens: null, cacheReadTokens: null, cacheWriteTokens: null };
  const place = { workspaceId: TEST_WORKSPACE, vendor: 'anthropic', actor: 'system' as const };
  await installation.database.withTransaction((transaction) =>
    storeBill(transaction, place, [
      {
        ...{ identity: 'a', kind: 'cost', day: '2026-01-02', model: 'claude-opus-5', lineItem: 'tokens, ä' },
        ...{ scope: null, serviceTier: null, amountUsd: -12.3456789012, ...tokens },
      },
    ]),
  );
}

async function addPeople(): Promise<void> {
  const scope = { workspaceId: TEST_WORKSPACE, actor: 'operator:test' } as const;
  await installation.database.withTransaction(async (transaction) => {
    await createTeam(transaction, scope, { name: 'Core', costCentre: '4711' });
    const person = {
      displayName: 'Ada Ä',
      email: 'ada@example.org',
      names: ['ada'],
      team: 'Core',
      joinedOn: '2024-02-29',
    };
    const into = await createPerson(transaction, scope, { ...person, notes: 'two\nlines' });
    await changePerson(transaction, scope, into, { team: null, costCentre: '99', teamFrom: '2026-01-01' });
    const id = await createPerson(transaction, scope, { displayName: 'ada-laptop' });
    await mergePerson(transaction, scope, { id, into });
  });
}

const annotate = (sessionId: string, change: Partial<SessionAnnotation>) =>
  installation.database.withTransaction((transaction) =>
    annotateSession(transaction, { workspaceId: TEST_WORKSPACE, sessionId, actor: 'system' }, change),
  );

const decideOnFindings = () =>
  installation.database.withTransaction(async (transaction) => {
    const decision = { workspaceId: TEST_WORKSPACE, actor: 'system' } as const;
    const dismissal = { kind: 'cold-cache', subjectType: 'session', subject: 'grown', reason: 'two\nlines' } as const;
    await dismissFindings(transaction, decision, dismissal, 10);
    await addressFindings(transaction, decision, { kind: 'repeated-read', since: '2026-02-28', note: null });
  });

const listRows = (workspaceId = TEST_WORKSPACE) =>
  listTranscripts(installation.database.database, workspaceId, {}, { limit: 100 });
const findRepository = async (sessionId: string) =>
  (await findSession(installation.database.database, TEST_WORKSPACE, sessionId))?.repository;
const findStreamTotals = () =>
  findLiveSession(installation.database.database, { workspaceId: TEST_WORKSPACE, sessionId: 'codex-session' });

it('restores every row of a lost database from the raw store alone', async () => {
  await fill();
  const before = await hashTables(installation.database);
  expect(before.transcripts?.rows).toBe(10);
  expect(before.usage_ledger?.rows).toBeGreaterThan(0);
  expect(before.session_annotations?.rows).toBe(1);
  expect([before.finding_dismissals?.rows, before.addressed_findings?.rows]).toEqual([1, 1]);
  expect(before.team_memberships?.rows).toBe(2);
  const { alert_destinations, budget_crossings, budgets, digests } = before;
  const kept = [budgets, budget_crossings, alert_destinations, digests];
  expect(kept.map((table) => table?.rows)).toEqual([1, 1, 1, 1]);
  expect(before.repository_renames?.rows).toBe(2);
  expect([before.telemetry_records?.rows, before.bill_rows?.rows]).toEqual([601, 1]);
  expect(await findRepository('grown')).toBe('Birds');
  const receivedAt = (await listRows()).map(({ created_at }) => Date.parse(created_at));
  const totals = await findStreamTotals();
  await emptyDatabase(installation.database);
  // It writes an object that is nothing of anyone's, and stays.
  await installation.rawStore.check();

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

it('keeps no annotation in the raw store that is removed in the database', async () => {
  await installation.receive(toTranscript('s', 2));
  await installation.work();
  await annotate('s', { note: 'private' });
  const key = `workspaces/${TEST_WORKSPACE}/session-annotations.ndjson`;
  await recordWorkspaces(installation);
  expect(await installation.listObjectKeys()).toContain(key);
  await annotate('s', { note: null });
  await recordWorkspaces(installation);
  expect(await installation.listObjectKeys()).not.toContain(key);
});

it('keeps no telemetry and no bill in the raw store that is deleted in the database', async () => {
  const { database } = installation.database;
  const day = new Date().toISOString().slice(0, 10);
  const names = async () => (await installation.listObjectKeys()).filter((key) => /telemetry|bills/.test(key));
  const read = async () => await text(await installation.rawStore.get((await names())[0] ?? ''));
  await storeTelemetry(database, TEST_WORKSPACE, [telemetry('one', 'kept'), telemetry('two', 'secret-session')]);
  await recordWorkspaces(installation);
  expect(await names()).toHaveLength(1);
  expect((await names())[0]).toContain(`workspaces/${TEST_WORKSPACE}/telemetry/${day.slice(0, 4)}`);
  expect(await read()).toContain('secret-session');
  await deleteTelemetry(database, TEST_WORKSPACE, 'secret-session');
  // A worker that was started since knows nothing of what was written.
  await recordWorkspaces(installation);
  expect(await read()).not.toContain('secret-session');
  expect(await read()).toContain('kept');
  await deleteTelemetry(database, TEST_WORKSPACE, 'kept');
  await recordWorkspaces(installation);
  expect(await names()).toEqual([]);
});

it('restores bills and telemetry of an older version, which had fewer columns, and of a newer one, which has more', async () => {
  const { database } = installation.database;
  await addWitnesses();
  await recordWorkspaces(installation);
  // Columns that allow no NULL, as if they had been added since.
  const without = ['imported_at', 'received_at', 'cache_read', 'machine'];
  const keys = (await installation.listObjectKeys()).filter((key) => /telemetry|bills/.test(key));
  expect(keys.length).toBeGreaterThan(1);
  for (const key of keys) {
    const lines = (await text(await installation.rawStore.get(key))).trim().split('\n');
    const older = lines.map((line, index) => {
      const row = JSON.parse(line) as Record<string, unknown>;
      // Half of the rows are whole.
      if (index % 2 > 0) return line;
      return JSON.stringify({
        ...Object.fromEntries(Object.entries(row).filter(([name]) => !without.includes(name))),
        ...(!('state' in row) && { added_later: 'x' }),
      });
    });
    await installation.rawStore.put(key, Readable.from([Buffer.from(`${older.join('\n')}\n`)]));
  }
  await emptyDatabase(installation.database);
  await rebuild();
  const restored = await hashTables(installation.database);
  expect([restored.bill_rows?.rows, restored.telemetry_records?.rows]).toEqual([1, 600]);
  const { rows } = await database.execute(`
    SELECT count(*) FILTER (WHERE cache_read = 0)::int > 0 AS defaulted,
      count(*) FILTER (WHERE cache_read = 7)::int > 0 AS whole
    FROM recount.telemetry_records WHERE workspace_id = '${TEST_WORKSPACE}'`);
  expect(rows).toEqual([{ defaulted: true, whole: true }]);
});

it('does not write the telemetry of a day again that has not changed', async () => {
  const { database } = installation.database;
  await storeTelemetry(database, TEST_WORKSPACE, [telemetry('one', 'kept')]);
  await recordWorkspaces(installation);
  const put = vi.spyOn(installation.rawStore, 'put');
  onTestFinished(() => put.mockRestore());
  const putDays = () => put.mock.calls.filter(([key]) => key.includes('/telemetry/')).length;
  await recordWorkspaces(installation);
  expect(putDays()).toBe(0);
  await storeTelemetry(database, TEST_WORKSPACE, [telemetry('two', 'kept')]);
  await recordWorkspaces(installation);
  expect(putDays()).toBe(1);
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
