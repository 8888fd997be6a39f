import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type AttachmentRow, changeWorkspaceSettings, listAttachments } from '@recount/db';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { deleteTranscript } from '../maintenance/deletions.ts';
import { retainWorkspace } from '../maintenance/retention.ts';
import { receiveAttachment } from '../receive/receive-attachment.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import { rebuildDatabase } from './rebuild-database.ts';
import { type Finding, runDoctor } from './run-doctor.ts';

const DAY_MS = 86_400_000;
/** Long after everything in these tests. */
const LATER_MS = Date.now() + 10 * DAY_MS;

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

const receive = (text: string, changes: { path?: string; modifiedAtMs?: number } = {}) =>
  receiveAttachment(installation, {
    ...{ workspaceId: TEST_WORKSPACE, uploaderKeyId: 'key', machine: 'laptop', sessionId: 'session' },
    ...{ agent: 'claude-code', path: 'tool-results/a.txt', maxBytes: 1000, ...changes },
    body: Readable.from([Buffer.from(text)]),
  });

const list = (): Promise<AttachmentRow[]> =>
  listAttachments(installation.database.database, TEST_WORKSPACE, 'session', { limit: 100 });

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function examine(fix: boolean, checksums = false): Promise<Finding[]> {
  return await collect(runDoctor(installation, { fix, checksums, nowMs: LATER_MS }));
}

const deleteRows = () => installation.database.pool.query('DELETE FROM recount.attachments');

it('have the same rows again after the database was lost', async () => {
  await receive('a result');
  await receive('{}', { path: 'subagents/agent-a1.meta.json', modifiedAtMs: Date.UTC(2026, 0, 1) });
  const before = await list();
  const keys = await installation.listObjectKeys();
  await deleteRows();
  await installation.database.pool.query('DELETE FROM recount.workspaces');
  const rebuilding = rebuildDatabase(installation, { nowMs: LATER_MS, minAgeMs: 0 });
  expect((await collect(rebuilding)).map(({ kind }) => kind)).not.toContain('unknown-objects');
  expect(await examine(true)).toMatchObject([
    { kind: 'orphan-attachment', fixed: true },
    { kind: 'orphan-attachment', fixed: true },
  ]);
  expect(await list()).toEqual(before);
  expect(await installation.listObjectKeys()).toEqual(keys);
  expect(await examine(false, true)).toEqual([]);
});

it('are detected if they are missing or damaged', async () => {
  const { attachment: lost } = await receive('lost');
  const { attachment: damaged } = await receive('damaged', { path: 'tool-results/b.txt' });
  await rm(join(installation.storeDirectory, lost.object_key));
  await writeFile(join(installation.storeDirectory, damaged.object_key), 'DAMAGED');
  expect(await examine(false, true)).toMatchObject([
    { kind: 'damaged-attachment', state: 'missing', attachmentId: lost.id },
    { kind: 'damaged-attachment', state: 'wrong-content', attachmentId: damaged.id },
  ]);
  expect((await receive('damaged', { path: 'tool-results/b.txt' })).outcome).toBe('healed');
  expect(await examine(false, true)).toHaveLength(1);
});

it.each(['off', 'rows-and-raw'] as const)(
  'are not attributed to another uploader if an object changes and loses its row, with redaction %s',
  async (redaction) => {
    await changeWorkspaceSettings(installation.database.database, TEST_WORKSPACE, { redaction });
    const { attachment } = await receive(`a result with ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`);
    expect(attachment.stored_sha256 !== null).toBe(redaction === 'rows-and-raw');
    await deleteRows();
    await writeFile(join(installation.storeDirectory, attachment.object_key), 'a forgery');
    expect(await examine(true)).toMatchObject([{ kind: 'orphan-attachment', fixed: false }]);
    expect(await list()).toEqual([]);
  },
);

it('are deleted with raw transcripts that are too old', async () => {
  await receive('old', { modifiedAtMs: Date.now() - 40 * DAY_MS });
  await receive('new', { path: 'tool-results/b.txt' });
  const options = {
    workspaceId: TEST_WORKSPACE,
    settings: { rawMaxAgeDays: 30, rowsMaxAgeDays: null },
    nowMs: Date.now(),
  };
  expect(await retainWorkspace(installation, { ...options, dryRun: true })).toMatchObject({
    rawObjects: 1,
    rawBytes: 3,
  });
  expect(await retainWorkspace(installation, options)).toMatchObject({ rawObjects: 1, rawBytes: 3 });
  expect((await list()).map(({ path }) => path)).toEqual(['tool-results/b.txt']);
  expect(await installation.listObjectKeys()).toEqual((await list()).map(({ object_key }) => object_key));
});

it('are deleted with the last transcript of their session', async () => {
  const { transcript } = await installation.receive(toTranscript('session', 4));
  const { transcript: other } = await installation.receive(toTranscript('session', 2).replace('prompt 0', 'another'));
  await installation.work();
  await receive('a result');
  await deleteTranscript(installation, TEST_WORKSPACE, other.id);
  expect(await list()).toHaveLength(1);
  await deleteTranscript(installation, TEST_WORKSPACE, transcript.id);
  expect(await list()).toEqual([]);
  expect(await installation.listObjectKeys()).toEqual([]);
});

it('leave no object behind when several states of one file arrive together', async () => {
  const texts = Array.from({ length: 8 }, (_, index) => `state ${index}`);
  await Promise.all(texts.map((text, index) => receive(text, { modifiedAtMs: Date.UTC(2026, 0, 1 + index) })));
  const rows = await list();
  expect(rows).toMatchObject([{ modified_at: '2026-01-08T00:00:00.000Z' }]);
  expect(await installation.listObjectKeys()).toEqual(rows.map(({ object_key }) => object_key));
});
