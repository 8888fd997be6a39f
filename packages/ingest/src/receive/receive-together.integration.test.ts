import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureWorkspace } from '@recount/db';
import { type RawStore, RawStoreError } from '@recount/storage';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { rebuildDatabase } from '../consistency/rebuild-database.ts';
import { runDoctor } from '../consistency/run-doctor.ts';
import { deleteSession } from '../maintenance/deletions.ts';
import { recordWorkspaces } from '../maintenance/workspace-records.ts';
import { emptyDatabase, hashTables } from '../testing/table-backup.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import type { ReceiveError } from './measure-body.ts';
import { type BatchedRequest, receiveTogether } from './receive-together.ts';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

const DESCRIPTIONS = `workspaces/${TEST_WORKSPACE}/descriptions`;
const isLater = { minAgeMs: 0, nowMs: Date.now() + 3_600_000 };

const toRequest = (text: string, request: Partial<BatchedRequest> = {}): BatchedRequest => ({
  ...{ workspaceId: TEST_WORKSPACE, uploaderKeyId: null, maxBytes: 1_000_000, person: 'ada', path: '/x/y.jsonl' },
  body: (async function* () {
    yield Buffer.from(text);
  })(),
  ...request,
});

const receive = (requests: readonly BatchedRequest[], deps = installation) => receiveTogether(deps, requests);

const toIds = (outcomes: Awaited<ReturnType<typeof receive>>): string[] =>
  outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.transcript.id : String(outcome.reason)));

/** Paths of the store's files whose name or content has a text. */
async function listFilesWith(text: string): Promise<string[]> {
  const entries = await readdir(installation.storeDirectory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found: string[] = [];
  for (const path of paths) if (`${path}${await readFile(path, 'utf8')}`.includes(text)) found.push(path);
  return found.map((path) => path.slice(installation.storeDirectory.length + 1));
}

async function examine(options: { fix: boolean; checksums: boolean }): Promise<unknown[]> {
  const findings: unknown[] = [];
  for await (const finding of runDoctor(installation, { ...isLater, ...options }))
    if (finding.kind !== 'search-behind') findings.push(finding);
  return findings;
}

it('stores the bytes, a row and a job of each, and one object with all descriptions', async () => {
  const texts = ['a', 'b', 'c'].map((session) => toTranscript(session, 4));
  const outcomes = await receive(texts.map((text) => toRequest(text)));
  const jobs = await installation.listJobs();
  expect(jobs.map(({ transcriptId }) => transcriptId).sort()).toEqual(toIds(outcomes).sort());
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'rejected') throw outcome.reason;
    const { transcript, isDuplicate, rawObject } = outcome.value;
    expect([isDuplicate, rawObject, transcript.status]).toEqual([false, 'stored', 'queued']);
    const stored = await (await installation.rawStore.get(transcript.object_key)).toArray();
    expect(Buffer.concat(stored).toString()).toBe(texts[index]);
    const described = await installation.rawStore.readDescription(transcript.object_key);
    expect(described).toMatchObject({ id: transcript.id, session_id: transcript.session_id, person: 'ada' });
  }
  expect(await readdir(join(installation.storeDirectory, DESCRIPTIONS))).toHaveLength(1);
  expect(await listFilesWith('about.json')).toEqual([]);
  expect(await examine({ fix: false, checksums: true })).toEqual([]);
});

it('describes nothing in a batch that is not stored, and refuses each upload for its own reason', async () => {
  const tooLong = toRequest(toTranscript('b', 40), { maxBytes: 1000 });
  const outcomes = await receive([
    toRequest(toTranscript('a', 4)),
    tooLong,
    toRequest(toTranscript('c', 4), { agent: 'unheard-of' }),
    toRequest('{"no":"transcript"}\n', { sessionId: 'named', path: undefined }),
    toRequest(toTranscript('d', 4)),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual([
    ...['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'],
  ]);
  const codes = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [(outcome.reason as ReceiveError).code] : [],
  );
  expect(codes).toEqual(['too-large', 'unsupported-format', 'unsupported-format']);
  expect(await installation.listObjectKeys()).toHaveLength(2);
  expect(await listFilesWith('named')).toEqual([]);
});

it('keeps one copy of the same bytes in a batch, and describes no copy', async () => {
  const text = toTranscript('a', 4);
  await installation.receive(text, { path: '/first.jsonl' });
  const again = [toRequest(text, { path: '/second.jsonl' }), toRequest(toTranscript('b', 4))];
  const outcomes = await receive([...again, toRequest(toTranscript('b', 4), { path: '/third.jsonl' })]);
  const results = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  expect(results.map(({ isDuplicate }) => isDuplicate)).toEqual([true, false, true]);
  expect(new Set(toIds(outcomes).slice(1)).size).toBe(1);
  expect(await installation.listObjectKeys()).toHaveLength(2);
  expect([...(await listFilesWith('/second.jsonl')), ...(await listFilesWith('/third.jsonl'))]).toEqual([]);
});

it('replaces a lost object by one of a batch, which then has its own description', async () => {
  const text = toTranscript('a', 4);
  const { transcript } = await installation.receive(text, { path: '/first.jsonl' });
  await installation.rawStore.delete(transcript.object_key);
  const outcomes = await receive([toRequest(text), toRequest(toTranscript('b', 4))]);
  expect(outcomes[0]).toMatchObject({ value: { rawObject: 'healed', transcript: { id: transcript.id } } });
  const now = await installation.find(transcript.id);
  expect(await installation.rawStore.readDescription(now?.object_key ?? '')).toMatchObject({ path: '/first.jsonl' });
  expect(await examine({ fix: false, checksums: true })).toEqual([]);
});

it('acknowledges nothing before its descriptions are stored', async () => {
  const { rawStore } = installation;
  const describeTogether: RawStore['describeTogether'] = async (descriptions) => {
    // Another connection sees no row before the commit.
    expect(await installation.listJobs()).toEqual([]);
    await rawStore.describeTogether(descriptions);
  };
  const deps = { ...installation, rawStore: { ...rawStore, describeTogether } };
  expect((await receive([toRequest(toTranscript('a', 4)), toRequest(toTranscript('b', 4))], deps)).length).toBe(2);
  expect(await installation.listJobs()).toHaveLength(2);
});

it('gives each its own description if the shared ones cannot be stored', async () => {
  const { rawStore } = installation;
  const describeTogether = async () => Promise.reject(new RawStoreError('unavailable', 'The store is away'));
  const deps = { ...installation, rawStore: { ...rawStore, describeTogether } };
  const outcomes = await receive([toRequest(toTranscript('a', 4)), toRequest(toTranscript('b', 4))], deps);
  expect(outcomes.every(({ status }) => status === 'fulfilled')).toBe(true);
  expect(await installation.listJobs()).toHaveLength(2);
  expect(await examine({ fix: false, checksums: true })).toEqual([]);
});

it('leaves nothing behind if there is no room for any description', async () => {
  const full = async () => Promise.reject(new RawStoreError('out-of-space', 'The disk is full'));
  const rawStore = { ...installation.rawStore, describeTogether: full, describe: full };
  const requests = [toRequest(toTranscript('a', 4)), toRequest(toTranscript('b', 4))];
  const outcomes = await receive(requests, { ...installation, rawStore });
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await installation.listObjectKeys()).toEqual([]);
  expect(await installation.listJobs()).toEqual([]);
});

it('leaves nothing of a batch whose workspace is gone', async () => {
  await ensureWorkspace(installation.database.database, 'other', 'other');
  const requests = ['a', 'b'].map((session) => toRequest(toTranscript(session, 4), { workspaceId: 'gone' }));
  expect((await receive(requests)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await listFilesWith('gone')).toEqual([]);
});

it('deletes what the batch says of a deleted session, and keeps what it says of others', async () => {
  const sessions = ['canary-a', 'other-b', 'other-c'];
  const requests = sessions.map((session) => toRequest(toTranscript(session, 4), { path: `/${session}.jsonl` }));
  const [, second = '', third = ''] = toIds(await receive(requests));
  await installation.work();
  await deleteSession(installation, TEST_WORKSPACE, 'canary-a');
  expect(await listFilesWith('canary-a')).toEqual([]);
  for (const id of [second, third]) {
    const row = await installation.find(id);
    expect(await installation.rawStore.readDescription(row?.object_key ?? '')).toMatchObject({ path: row?.path });
  }
  expect(await examine({ fix: false, checksums: true })).toEqual([]);
});

it('is rebuilt from the store exactly', async () => {
  const requests = ['a', 'b', 'c'].map((session) => toRequest(toTranscript(session, 6), { path: `/${session}.jsonl` }));
  await receive(requests);
  await installation.work();
  await recordWorkspaces(installation);
  const before = await hashTables(installation.database);
  await emptyDatabase(installation.database);
  for await (const finding of rebuildDatabase(installation, isLater)) expect(finding.kind).not.toBe('guessed-objects');
  await installation.work();
  expect(await hashTables(installation.database)).toEqual(before);
});
