import { Readable } from 'node:stream';
import {
  changeWorkspaceSettings,
  createApiKey,
  createDatabasePool,
  enqueueJobs,
  ensureWorkspace,
  listAuditEntries,
  listWorkspaces,
  lockSession,
  recordRawObjectDeletions,
} from '@recount/db';
import { waitForLocks } from '@recount/local-postgres/testing';
import { type RawStore, RawStoreError } from '@recount/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runDoctor } from '../consistency/run-doctor.ts';
import { openLiveWriter } from '../live/open-live-writer.ts';
import { changePriceSettings } from '../prices/workspace-prices.ts';
import { finishDeletions } from '../raw-objects/delete-raw-objects.ts';
import { receiveAttachment } from '../receive/receive-attachment.ts';
import { dumpTables } from '../testing/dump-tables.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';
import { deleteSession, deleteTranscript, deleteWorkspace } from './deletions.ts';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

const OTHER = '01J00000000000000000000002';

/** As Postgres prints bytea. */
const toHex = (text: string): string => Buffer.from(text).toString('hex');

/** Contains the marker wherever a trace of it could remain, in text, names, paths, ids. */
const toText = (canary: string): string =>
  toLine(canary, 0, { message: { role: 'user', content: `prompt ${canary}` }, cwd: `/home/${canary}`, uuid: canary }) +
  toLine(canary, 1, { gitBranch: canary, requestId: canary }) +
  toLine(canary, 3, {
    message: {
      id: `msg-${canary}`,
      role: 'assistant',
      content: [{ type: 'tool_use', id: `toolu-${canary}`, name: 'Read', input: { file_path: canary } }],
    },
  }) +
  `${JSON.stringify({ type: 'custom-title', sessionId: canary, customTitle: canary })}\n{"broken": "${canary}\n`;

async function fill(workspaceId: string, canary: string): Promise<void> {
  const { database } = installation.database;
  await installation.receive(toText(canary), { workspaceId, path: `/x/${canary}.jsonl` });
  await installation.work();
  await installation.receive(toText(canary).slice(0, -5), { workspaceId });
  await installation.work();
  await receiveAttachment(installation, {
    ...{ workspaceId, uploaderKeyId: canary, machine: canary, person: canary, sessionId: canary, agent: 'claude-code' },
    path: `tool-results/${canary}.txt`,
    body: Readable.from([Buffer.from(`result ${canary}`)]),
    maxBytes: 1000,
  });
  await createApiKey(database, { workspaceId, name: canary, scopes: ['read'] });
  await changeWorkspaceSettings(database, workspaceId, { rowsMaxAgeDays: 3650 });
  await changePriceSettings(installation, workspaceId, {
    currencyLabel: 'EUR',
    overrides: [{ model: canary, inputUsdPerMillion: 1, outputUsdPerMillion: 1 }],
  } as never);
  const limits = { maxOpenStreams: 10, maxBytes: 1_000_000 };
  for (const [agent, streamId] of [
    ['claude-code', `01J000000000000000000000${workspaceId.slice(-1)}A`],
    ['codex', `01J000000000000000000000${workspaceId.slice(-1)}B`],
    ['claude-code', `01J000000000000000000000${workspaceId.slice(-1)}C`],
  ] as const) {
    const origin = { workspaceId, uploaderKeyId: 'key', path: canary };
    const request = { ...origin, streamId, sessionId: canary, agent, offset: 0 };
    const writer = await openLiveWriter(installation, request, limits);
    await writer.append(Buffer.from(`${JSON.stringify({ type: 'user', message: { content: canary } })}\n`));
    if (streamId.endsWith('C')) await writer.flush();
    else await writer.end({ exit: undefined });
  }
}

async function withQueuedJobs(workspaceId: string, transcriptIds: readonly string[]): Promise<void> {
  const jobs = transcriptIds.map((transcriptId) => ({ transcriptId, sizeBytes: 1, isAlone: true }));
  await enqueueJobs(installation.database.database, workspaceId, jobs);
}

async function listTranscriptIds(): Promise<string[]> {
  const { rows } = await installation.database.pool.query<{ id: string }>(
    'SELECT id FROM recount.transcripts WHERE workspace_id = $1',
    [TEST_WORKSPACE],
  );
  return rows.map(({ id }) => id);
}

/** Everything except the audit log, which names what was deleted by its id. */
async function dumpEverything(): Promise<string> {
  const rows = (await dumpTables(installation.database)).split('\n');
  const parts = rows.filter((row) => !row.startsWith('recount.audit_log '));
  for (const key of await installation.listObjectKeys()) {
    parts.push(key, Buffer.concat(await (await installation.rawStore.get(key)).toArray()).toString());
  }
  return parts.join('\n');
}

describe('deleteWorkspace', () => {
  it('leaves nothing in any table or object, and everything of the others', async () => {
    await ensureWorkspace(installation.database.database, OTHER, 'other');
    await fill(OTHER, 'canary-other');
    await installation.work();
    const before = await dumpEverything();
    await fill(TEST_WORKSPACE, 'canary-home');
    const ids = await listTranscriptIds();
    await withQueuedJobs(TEST_WORKSPACE, ids);
    const filled = await dumpEverything();
    const traces = [TEST_WORKSPACE, 'canary-home', toHex('canary-home'), ...ids];
    for (const trace of traces) expect(filled).toContain(trace);
    await deleteWorkspace(installation, TEST_WORKSPACE, 'operator:ada');
    const after = await dumpEverything();
    for (const trace of traces) expect(after).not.toContain(trace);
    const others = (dump: string) =>
      dump.split('\n').filter((line) => line.includes('canary-other') || line.includes(OTHER));
    expect(others(after)).toEqual(others(before));
    expect(await listWorkspaces(installation.database.database)).toEqual([{ id: OTHER, name: 'other' }]);
    expect(await listAuditEntries(installation.database.database, TEST_WORKSPACE, {}, { limit: 10 })).toEqual([]);
    expect(await listAuditEntries(installation.database.database, '', {}, { limit: 10 })).toMatchObject([
      { actor: 'operator:ada', action: 'workspace.delete', subjects: [TEST_WORKSPACE], details: {} },
    ]);
  });

  it('waits for transcripts being ingested, which leave no trace afterwards', async () => {
    await installation.receive(toText('canary-home'));
    const connectionString = installation.database.pool.options.connectionString ?? '';
    const blocker = createDatabasePool({ connectionString });
    const order: string[] = [];
    let working: Promise<unknown> | undefined;
    let deleting: Promise<unknown> | undefined;
    await blocker.withTransaction(async (transaction) => {
      await lockSession(transaction, TEST_WORKSPACE, 'canary-home');
      working = installation.work().then(() => order.push('ingested'));
      await waitForLocks(installation, 1);
      deleting = deleteWorkspace(installation, TEST_WORKSPACE).then(() => order.push('deleted'));
      await waitForLocks(installation, 2);
    });
    await Promise.all([working, deleting]);
    await blocker.close();
    expect(order).toEqual(['ingested', 'deleted']);
    expect(await dumpEverything()).not.toMatch(new RegExp(`canary-home|${TEST_WORKSPACE}`));
  });

  it('ends running uploads, which leave nothing', async () => {
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(toText('canary-home'));
      await deleteWorkspace(installation, TEST_WORKSPACE);
    }
    await expect(installation.receive('', { body: body() })).rejects.toThrow();
    expect(await dumpEverything()).not.toMatch(new RegExp(`canary-home|${TEST_WORKSPACE}`));
    expect(await installation.listObjectKeys()).toEqual([]);
  });
});

/** Fails like a connection that breaks before the commit. */
const failAtCommit = (): TestInstallation['database'] => ({
  ...installation.database,
  withTransaction: (work, options) =>
    installation.database.withTransaction(async (transaction, client) => {
      await work(transaction, client);
      throw new Error('The connection broke');
    }, options),
});

const isAway: RawStore['delete'] = async () => {
  throw new RawStoreError('unavailable', 'The store is away');
};

async function runFixes(): Promise<void> {
  for await (const _finding of runDoctor(installation, { fix: true, nowMs: Date.now() + 1000, minAgeMs: 0 }));
}

describe('a deletion that fails', () => {
  it('leaves rows and objects if its transaction does not commit', async () => {
    const { transcript } = await installation.receive(toText('canary-home'));
    await installation.work();
    const deps = { ...installation, database: failAtCommit() };
    await expect(deleteSession(deps, TEST_WORKSPACE, 'canary-home')).rejects.toThrow('broke');
    await expect(deleteWorkspace(deps, TEST_WORKSPACE)).rejects.toThrow('broke');
    expect(await installation.listObjectKeys()).toEqual([transcript.object_key]);
    expect(await installation.find(transcript.id)).toMatchObject({ status: 'ingested' });
  });

  it.each([1, 2])('is finished by the doctor if a workspace’s store became unavailable in step %i', async (step) => {
    await fill(TEST_WORKSPACE, 'canary-home');
    let count = 0;
    const deleteAll: RawStore['deleteAll'] = async () => {
      count += 1;
      if (count === step) throw new RawStoreError('unavailable', 'The store is away');
    };
    const deps = { ...installation, rawStore: { ...installation.rawStore, deleteAll } };
    await expect(deleteWorkspace(deps, TEST_WORKSPACE)).rejects.toThrow('away');
    expect((await installation.listObjectKeys()).length).toBeGreaterThan(0);
    await runFixes();
    expect(await installation.listObjectKeys()).toEqual([]);
    expect(await dumpEverything()).not.toContain('canary-home');
  });

  it('leaves streams that were being stored to the doctor, if the process storing them was killed', async () => {
    const request = { workspaceId: TEST_WORKSPACE, streamId: '01J0000000000000000000001D', sessionId: 'canary-home' };
    const stopped = Promise.withResolvers<void>();
    const put: RawStore['put'] = async (...object) => {
      await installation.rawStore.put(...object);
      await deleteSession(installation, TEST_WORKSPACE, 'canary-home');
      // As after SIGKILL: nothing follows.
      stopped.resolve();
      return await new Promise(() => undefined);
    };
    const deps = { ...installation, rawStore: { ...installation.rawStore, put } };
    const limits = { maxOpenStreams: 10, maxBytes: 1_000_000 };
    const writer = await openLiveWriter(deps, { ...request, agent: 'codex', offset: 0, uploaderKeyId: 'key' }, limits);
    await writer.append(Buffer.from(`${JSON.stringify({ type: 'thread.started', thread_id: 'canary-home' })}\n`));
    void writer.end({ exit: undefined });
    await stopped.promise;
    expect(await installation.listObjectKeys()).toHaveLength(1);
    await runFixes();
    expect(await installation.listObjectKeys()).toEqual([]);
    expect(await dumpEverything()).not.toContain('canary-home');
  });
});

it.each([
  ['exists', 'queued', 1],
  ['is deleted', 'superseded', 0],
])(
  'deleting a transcript has its shorter version ingested again unless the object is gone (it %s)',
  async (state, status, jobs) => {
    const { transcript: shorter } = await installation.receive(toTranscript('grown', 2));
    await installation.work();
    const { transcript: longer } = await installation.receive(toTranscript('grown', 4));
    await installation.work();
    expect(await installation.find(shorter.id)).toMatchObject({ status: 'superseded' });
    const { pool } = installation.database;
    if (state === 'is deleted')
      await pool.query('UPDATE recount.transcripts SET raw_deleted_at = now() WHERE id = $1', [shorter.id]);
    await deleteTranscript(installation, TEST_WORKSPACE, longer.id);
    expect(await installation.find(shorter.id)).toMatchObject({ status });
    expect(await installation.listJobs()).toHaveLength(jobs);
  },
);

it('finishing deletions keeps every object that a row names again, and then forgets its record', async () => {
  await fill(TEST_WORKSPACE, 'canary-home');
  await installation.work();
  const keys = await installation.listObjectKeys();
  for (const kind of ['transcripts', 'attachments']) expect(keys).toContainEqual(expect.stringContaining(`/${kind}/`));
  const workspace = `workspaces/${TEST_WORKSPACE}/`;
  const unnamed = `${workspace}transcripts/01J0000000000000000000009Z.jsonl`;
  await installation.rawStore.put(unnamed, Readable.from([Buffer.from('x')]));
  await recordRawObjectDeletions(installation.database.database, TEST_WORKSPACE, [...keys, unnamed, workspace]);
  const recordedBefore = new Date(Date.now() + 1000).toISOString();
  for await (const _deletion of finishDeletions(installation, recordedBefore));
  expect(await installation.listObjectKeys()).toEqual(keys);
  expect((await installation.database.pool.query('SELECT FROM recount.raw_object_deletions')).rowCount).toBe(0);
});

describe('deleteSession', () => {
  it('succeeds while the store is unavailable; the objects follow', async () => {
    await fill(TEST_WORKSPACE, 'canary-home');
    await installation.work();
    const deps = { ...installation, rawStore: { ...installation.rawStore, delete: isAway } };
    expect(await deleteSession(deps, TEST_WORKSPACE, 'canary-home')).toBe(true);
    expect((await installation.listObjectKeys()).length).toBeGreaterThan(0);
    const recordedBefore = new Date(Date.now() + 1000).toISOString();
    for await (const _deletion of finishDeletions(installation, recordedBefore));
    expect(await installation.listObjectKeys()).toEqual([]);
  });

  it('leaves nothing in any table or object', async () => {
    await fill(TEST_WORKSPACE, 'canary-home');
    await installation.work();
    const ids = await listTranscriptIds();
    await withQueuedJobs(TEST_WORKSPACE, ids);
    await installation.database.pool.query(`DELETE FROM recount.price_overrides; DELETE FROM recount.api_keys`);
    await deleteSession(installation, TEST_WORKSPACE, 'canary-home');
    const after = await dumpEverything();
    for (const trace of ['canary-home', toHex('canary-home'), ...ids]) expect(after).not.toContain(trace);
    expect(await installation.listObjectKeys()).toEqual([]);
  });
});
