import { readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { verifyUsage } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runDoctor } from '../consistency/run-doctor.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import { handleJob } from './handle-job.ts';

let installation: TestInstallation;
let sessionNumber = 0;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

/** Ingests a longer version; returns the path of its object. */
async function ingestLonger() {
  const session = `damaged-${++sessionNumber}`;
  const text = toTranscript(session, 8);
  const { transcript } = await installation.receive(text);
  await installation.work();
  return { session, text, id: transcript.id, path: `${installation.storeDirectory}/${transcript.object_key}` };
}

async function receiveShorter(session: string): Promise<string> {
  return (await installation.receive(toTranscript(session, 4))).transcript.id;
}

async function expectSuperseded(shorterId: string, longerId: string): Promise<void> {
  await installation.work();
  expect(await installation.find(longerId)).toMatchObject({
    ...{ status: 'ingested', is_diverged: false, total_messages: 8, raw_damaged_at: null },
  });
  expect(await installation.find(shorterId)).toMatchObject({ status: 'superseded', superseded_by: longerId });
  const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
  for (const check of checks) expect(check).toMatchObject({ missing: 0, surplus: 0 });
}

async function flipByte(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[10] = (bytes[10] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

const DAMAGES: [string, (path: string) => Promise<void>][] = [
  ['has another byte', flipByte],
  ['is cut short', (path) => truncate(path, 100)],
  ['is empty', (path) => truncate(path, 0)],
  ['is lost', (path) => rm(path)],
];

it.each(DAMAGES)(
  'supersedes a shorter version that arrived while the object of the longer one %s',
  async (_name, damage) => {
    const { session, text, id, path } = await ingestLonger();
    await damage(path);
    const shorterId = await receiveShorter(session);
    await installation.work();
    expect(await installation.find(shorterId)).toMatchObject({ status: 'ingested', is_diverged: true });
    expect(await installation.receive(text)).toMatchObject({ rawObject: 'healed' });
    await expectSuperseded(shorterId, id);
    expect(await installation.receive(text)).toMatchObject({ rawObject: 'duplicate' });
    expect(await installation.listJobs()).toEqual([]);
  },
);

it('supersedes one that is being ingested while the longer one is repaired', async () => {
  const { session, text, id, path } = await ingestLonger();
  await flipByte(path);
  const { transcript: shorter } = await installation.receive(toTranscript(session, 4));
  const [job] = await installation.listJobs();
  if (job === undefined) throw new Error('No job');
  const { rawStore } = installation;
  // The shorter one is read after it has been compared.
  const get: typeof rawStore.get = async (key, options) => {
    if (key === shorter.object_key) expect((await installation.receive(text)).rawObject).toBe('healed');
    return await rawStore.get(key, options);
  };
  const deps = { ...installation, rawStore: { ...rawStore, get }, onReport: () => undefined };
  expect(await handleJob(deps, job, { maxLineBytes: 1024 * 1024 })).toEqual({ status: 'done' });
  expect(await installation.find(shorter.id)).toMatchObject({ status: 'ingested' });
  await expectSuperseded(shorter.id, id);
});

it('supersedes one when the object is restored without an upload', async () => {
  const { session, id, path } = await ingestLonger();
  await rename(path, `${path}-away`);
  const shorterId = await receiveShorter(session);
  await installation.work();
  expect(await installation.find(id)).toMatchObject({ raw_damaged_at: expect.any(String) });
  await rename(`${path}-away`, path);
  for await (const finding of runDoctor(installation, { fix: true, checksums: true, nowMs: Date.now() })) {
    throw new Error(`Found ${finding.kind}`);
  }
  await expectSuperseded(shorterId, id);
});

it('leaves a session of one version unchanged', async () => {
  const { text, id, path } = await ingestLonger();
  await flipByte(path);
  expect(await installation.receive(text)).toMatchObject({ rawObject: 'healed', transcript: { status: 'ingested' } });
  expect(await installation.listJobs()).toEqual([]);
  expect(await installation.find(id)).toMatchObject({ status: 'ingested' });
});
