import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { CreateBucketCommand, CreateMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { generateTranscript } from '@recount/bench/generate-transcript';
import { createApiKey, createDatabasePool, ensureWorkspace } from '@recount/db';
import { createTestDatabase, type TestDatabase } from '@recount/local-postgres/testing';
import { createRawStore, type RawStore, rawObjectKey } from '@recount/storage';
import { createS3Client } from '@recount/storage/s3-client';
import { describeRawStoreContract } from '@recount/storage/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { runRecount } from './chaos/run-recount.ts';
import { type SupervisedProcess, superviseProcess } from './chaos/supervised-process.ts';
import { findFreePort } from './find-free-port.ts';
import { provideRadosgw, startRadosgw } from './radosgw.ts';

const MIB = 1024 * 1024;
const KEY = rawObjectKey({ workspaceId: 'acme', transcriptId: '01JABCDEFGHJKMNPQRSTVWXYZ0' });
const HOUR_MS = 3_600_000;

const whyNot = await provideRadosgw(process.env);
if (whyNot !== undefined) console.warn(`Skipped: no test against Ceph radosgw, as ${whyNot}`);
const radosgw = whyNot === undefined ? await startRadosgw() : undefined;
afterAll(() => radosgw?.stop());

const { endpoint = '', region = '', credentials = { accessKeyId: '', secretAccessKey: '' } } = radosgw ?? {};
const openClient = () => createS3Client({ endpoint, region, credentials });
const openStore = (bucket: string, options: Parameters<typeof createRawStore>[1] = {}): Promise<RawStore> =>
  createRawStore(`s3://${bucket}/raw`, { endpoint, region, credentials, ...options });

async function createBucket(): Promise<string> {
  const bucket = `recount-test-${randomUUID()}`;
  const client = openClient();
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  return bucket;
}

async function listUnfinished(bucket: string): Promise<string[]> {
  const client = openClient();
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  client.destroy();
  return Uploads.map(({ Key }) => Key ?? '');
}

async function* bodyOf(bytes: Uint8Array, failure?: Error): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += MIB) yield bytes.subarray(start, start + MIB);
  if (failure) throw failure;
}

if (radosgw !== undefined) {
  describeRawStoreContract('Ceph radosgw', async () => {
    const bucket = await createBucket();
    return { store: await openStore(bucket), listUnfinishedPuts: () => listUnfinished(bucket), stop: async () => {} };
  });
}

describe.skipIf(radosgw === undefined)('Ceph radosgw', () => {
  let bucket: string;
  beforeAll(async () => {
    bucket = await createBucket();
  });
  afterEach(() => vi.useRealTimers());

  it.each([
    ['a wrong secret', { ...credentials, secretAccessKey: 'wrong' }, 'SignatureDoesNotMatch'],
    ['an unknown key', { ...credentials, accessKeyId: 'NOBODY' }, 'InvalidAccessKeyId'],
  ])('denies %s, and the error says so', async (_label, wrong, name) => {
    const store = await openStore(bucket, { credentials: wrong });
    const denied = { code: 'denied', retryable: true, message: expect.stringContaining(`S3: ${name}, HTTP 403`) };
    await expect(store.check()).rejects.toMatchObject(denied);
    await expect(store.put(KEY, bodyOf(Buffer.from('x')))).rejects.toMatchObject(denied);
    await expect(store.put(KEY, bodyOf(randomBytes(11 * MIB)))).rejects.toMatchObject(denied);
    await expect(store.get(KEY)).rejects.toMatchObject(denied);
    // The answer to HEAD has no body that could name the cause.
    await expect(store.stat(KEY)).rejects.toMatchObject({ code: 'denied' });
    await store.close();
  });

  it('denies an expired signature', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - HOUR_MS });
    const store = await openStore(bucket, { maxAttempts: 1 });
    await expect(store.check()).rejects.toMatchObject({ code: 'denied', message: expect.stringContaining('Skew') });
    await store.close();
  });

  it('works for a machine whose clock is an hour off', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + HOUR_MS });
    const store = await openStore(bucket);
    const bytes = randomBytes(11 * MIB);
    await store.put(KEY, bodyOf(bytes));
    expect(bytes.equals(await buffer(await store.get(KEY)))).toBe(true);
    await store.delete(KEY);
    await store.close();
  });

  it('keeps no part of an aborted multipart upload, and aborts those that a crash left', async () => {
    const store = await openStore(bucket);
    const failure = new Error('the client went away');
    await expect(store.put(KEY, bodyOf(randomBytes(17 * MIB), failure))).rejects.toBe(failure);
    expect(await listUnfinished(bucket)).toEqual([]);
    const client = openClient();
    await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: `raw/${KEY}` }));
    client.destroy();
    expect(await store.abortStaleUploads(HOUR_MS)).toBe(0);
    expect(await store.abortStaleUploads(-60_000)).toBe(1);
    expect(await listUnfinished(bucket)).toEqual([]);
    await store.close();
  });
});

describe.skipIf(radosgw === undefined)('recount on Ceph radosgw', () => {
  let directory: string;
  let postgres: TestDatabase;
  let environment: Record<string, string>;
  let key: string;
  const programs: SupervisedProcess[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'recount-radosgw-e2e-'));
    postgres = await createTestDatabase();
    const pool = createDatabasePool({ connectionString: postgres.connectionString });
    const { id: workspaceId } = await ensureWorkspace(pool.database, '01J0000000000000000000000A', 'default');
    ({ key } = await createApiKey(pool.database, { workspaceId, name: 'test', scopes: ['admin'] }));
    await pool.close();
    environment = {
      HOME: directory,
      DATABASE_URL: postgres.connectionString,
      RECOUNT_RAW_STORE: `s3://${await createBucket()}/raw`,
      S3_ENDPOINT: endpoint,
      S3_REGION: region,
      S3_ACCESS_KEY_ID: credentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    };
  });
  afterAll(async () => {
    for (const program of programs) await program.stop();
    await postgres?.drop();
    await rm(directory, { recursive: true, force: true });
  });

  async function start(command: 'api' | 'worker', extra: Record<string, string> = {}): Promise<void> {
    const program = superviseProcess({
      name: command,
      commandArguments: [command],
      environment: { ...environment, ...extra },
      readyPattern: /"msg":"(api|worker) ready"/,
      logPath: join(directory, `${command}.log`),
    });
    programs.push(program);
    await program.waitUntilReady();
  }

  const call = (port: number, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: { authorization: `Bearer ${key}` } });

  it('ingests an upload into rows, and returns the bytes', async () => {
    const port = await findFreePort();
    await start('api', { RECOUNT_PORT: String(port) });
    await start('worker');
    expect((await call(port, '/readyz')).status).toBe(200);
    const bytes = Buffer.concat([...generateTranscript({ seed: 5, targetBytes: 14_000_000 })]);
    const upload = await call(port, '/v1/transcripts', { method: 'POST', body: bytes });
    expect(upload.status).toBe(202);
    const { transcript_id: id } = (await upload.json()) as { transcript_id: string };
    const read = async () => (await (await call(port, `/v1/transcripts/${id}`)).json()) as Record<string, unknown>;
    await vi.waitFor(async () => expect(await read()).toMatchObject({ status: 'ingested' }));
    expect(await read()).toMatchObject({ size_bytes: bytes.length, total_messages: expect.any(Number) });
    const raw = await call(port, `/v1/transcripts/${id}/raw`);
    expect(bytes.equals(Buffer.from(await raw.arrayBuffer()))).toBe(true);
    const doctor = await runRecount(['doctor', '--min-age', '0m', '--json'], environment);
    expect(JSON.parse(doctor.stdout).findings.filter(({ kind }: { kind: string }) => kind !== 'search-behind')).toEqual(
      [],
    );
  });

  it('reports what is wrong with the secret', async () => {
    const port = await findFreePort();
    const wrong = { S3_SECRET_ACCESS_KEY: 'wrong' };
    await start('api', { ...wrong, RECOUNT_PORT: String(port) });
    expect((await call(port, '/readyz')).status).toBe(503);
    const upload = await call(port, '/v1/transcripts?session_id=s', { method: 'POST', body: '{"type":"user"}\n' });
    expect(upload.status).toBe(503);
    expect(await upload.json()).toMatchObject({ type: 'urn:recount:problem:store-unavailable' });
    const doctor = await runRecount(['doctor'], { ...environment, ...wrong });
    expect(doctor.exitCode).toBe(1);
    expect(doctor.stderr).toContain('S3: SignatureDoesNotMatch, HTTP 403');
  });
});
