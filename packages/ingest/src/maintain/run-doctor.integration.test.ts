import { readFile, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { deleteSession } from '@recount/db';
import { RawStoreError } from '@recount/storage';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import { type Finding, runDoctor } from './run-doctor.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

it('finds by its checksum an object whose bytes have changed, and reads none unless asked to', async () => {
  const { transcript } = await installation.receive(toTranscript('changed', 4));
  const intact = await installation.receive(toTranscript('intact', 5));
  await installation.work();
  const path = `${installation.storeDirectory}/${transcript.object_key}`;
  const bytes = await readFile(path);
  bytes[10] = (bytes[10] ?? 0) ^ 1;
  await writeFile(path, bytes);

  const read: number[] = [];
  const examine = async (checksums: boolean): Promise<Finding[]> => {
    const onRead = (sizeBytes: number) => void read.push(sizeBytes);
    const options = { fix: true, checksums, onRead, nowMs: Date.now() + 1000, minAgeMs: 0 };
    const findings: Finding[] = [];
    for await (const finding of runDoctor(installation, options)) {
      if (finding.kind !== 'search-behind') findings.push(finding);
    }
    return findings;
  };
  expect(await examine(false)).toEqual([]);
  expect(read).toEqual([]);
  expect(await examine(true)).toEqual([
    {
      kind: 'wrong-content',
      workspaceId: transcript.workspace_id,
      transcriptId: transcript.id,
      objectKey: transcript.object_key,
      fixed: false,
    },
  ]);
  expect(read).toEqual([transcript.size_bytes, intact.transcript.size_bytes]);
});

it('says nothing of transcripts that are deleted while it reads others, or these', async () => {
  for (const session of ['first', 'second', 'third']) await installation.receive(toTranscript(session, 3));
  await installation.work();
  const { rawStore } = installation;
  const remove = async (session: string): Promise<void> => {
    const keys = await installation.database.withTransaction((transaction) =>
      deleteSession(transaction, TEST_WORKSPACE, session),
    );
    for (const key of keys) await rawStore.delete(key);
  };
  const read: string[] = [];
  const get: typeof rawStore.get = async (key, options) => {
    read.push(key);
    if (read.length === 3) await remove('second');
    if (read.length === 4) await remove('third');
    return await rawStore.get(key, options);
  };
  const options = { fix: false, checksums: true, nowMs: Date.now() + 1000, minAgeMs: 0 };
  const findings: Finding[] = [];
  for await (const finding of runDoctor({ ...installation, rawStore: { ...rawStore, get } }, options)) {
    if (finding.kind !== 'search-behind') findings.push(finding);
  }
  expect(read.length).toBe(4);
  expect(findings.map(({ kind }) => kind)).toEqual(['wrong-content']);
});

it('tells of an object that cannot be read to its end, and goes on', async () => {
  const { transcript } = await installation.receive(toTranscript('unreadable', 3));
  const { transcript: next } = await installation.receive(toTranscript('next', 3));
  await installation.work();
  const { rawStore } = installation;
  const read: string[] = [];
  const get: typeof rawStore.get = async (key, options) => {
    read.push(key);
    if (key !== transcript.object_key) return await rawStore.get(key, options);
    return Readable.from(
      (async function* () {
        yield Buffer.from('{');
        throw new RawStoreError('unavailable', 'EIO');
      })(),
    );
  };
  const options = { fix: false, checksums: true, nowMs: Date.now() + 1000, minAgeMs: 0 };
  const findings: Finding[] = [];
  for await (const finding of runDoctor({ ...installation, rawStore: { ...rawStore, get } }, options)) {
    if ('transcriptId' in finding && finding.transcriptId === transcript.id) findings.push(finding);
  }
  expect(findings.map(({ kind }) => kind)).toEqual(['unreadable-object']);
  expect(read.at(-1)).toBe(next.object_key);
});
