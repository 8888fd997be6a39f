import { randomBytes, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  ListMultipartUploadsCommand,
} from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createRawStore } from './create-raw-store.ts';
import type { RawStore } from './raw-store.ts';
import { createS3Client } from './s3-client.ts';
import { createS3RawStore, type S3RawStoreOptions } from './s3-raw-store.ts';
import { describeRawStoreContract } from './testing/raw-store-contract.ts';
import { type Fault, type S3Proxy, s3ErrorAnswer, startS3Proxy } from './testing/s3-proxy.ts';
import { type S3TestServer, startS3TestServers } from './testing/s3-test-servers.ts';

const MIB = 1024 * 1024;
const KEY = 'workspaces/acme/transcripts/01JABCDEFGHJKMNPQRSTVWXYZ0.jsonl';

const servers = await startS3TestServers();
afterAll(() => Promise.all(servers.map((server) => server.stop())));

async function* bodyOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 65_536) yield bytes.subarray(start, start + 65_536);
}

/** A separate bucket behind a separate proxy. */
async function createBucket({ endpoint, region, credentials }: S3TestServer) {
  const bucket = `recount-test-${randomUUID()}`;
  const client = createS3Client({ endpoint, region, credentials });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const proxy = await startS3Proxy(endpoint);
  const options: S3RawStoreOptions = { bucket, region, credentials, endpoint: proxy.url };
  const stop = async () => {
    await proxy.stop();
    for (const UploadId of proxy.openUploads) {
      await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: KEY, UploadId }));
    }
    const store = createS3RawStore({ ...options, endpoint });
    for await (const { key } of store.list('')) await store.delete(key);
    await store.close();
    await client.send(new DeleteBucketCommand({ Bucket: bucket }));
    client.destroy();
  };
  return { client, proxy, options, stop };
}

for (const server of servers) {
  describeRawStoreContract(`S3 at ${server.name}`, async () => {
    const { client, proxy, options, stop } = await createBucket(server);
    return {
      store: createS3RawStore({ ...options, prefix: 'raw/v1' }),
      listUnfinishedPuts: async () => {
        if (!server.isComplete) return [...proxy.openUploads];
        const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: options.bucket }));
        return [...proxy.openUploads, ...Uploads.map(({ Key }) => Key ?? '')];
      },
      stop,
    };
  });

  describe(`S3 at ${server.name}`, () => {
    let bucket: Awaited<ReturnType<typeof createBucket>>;
    beforeAll(async () => {
      bucket = await createBucket(server);
      return bucket.stop;
    });

    test('keeps prefixes apart', async () => {
      const { bucket: name, ...options } = bucket.options;
      const inner = await createRawStore(`s3://${name}/a`, options);
      const outer = await createRawStore(`s3://${name}`, options);
      const sibling = await createRawStore(`s3://${name}/ab/`, options);
      await inner.put(KEY, bodyOf(Buffer.from('one')));
      expect(await sibling.stat(KEY)).toBeUndefined();
      expect(await inner.stat(KEY)).toMatchObject({ key: KEY, sizeBytes: 3 });
      expect(await outer.stat(`a/${KEY}`)).toMatchObject({ sizeBytes: 3 });
      await inner.delete(KEY);
      await Promise.all([inner, outer, sibling].map((store) => store.close()));
    });

    test('does not mistake a missing bucket for a missing object', async () => {
      const store = createS3RawStore({ ...bucket.options, bucket: `recount-missing-${randomUUID()}` });
      const storeMissing = { code: 'store-missing', retryable: true };
      await expect(store.check()).rejects.toMatchObject(storeMissing);
      await expect(store.put(KEY, bodyOf(Buffer.from('x')))).rejects.toMatchObject(storeMissing);
      await expect(store.get(KEY)).rejects.toMatchObject(storeMissing);
      await store.close();
    });

    test.runIf(server.isComplete)('denies wrong credentials', async () => {
      const credentials = { ...server.credentials, secretAccessKey: 'wrong' };
      const store = createS3RawStore({ ...bucket.options, credentials });
      const denied = { code: 'denied', retryable: true };
      await expect(store.check()).rejects.toMatchObject(denied);
      await expect(store.put(KEY, bodyOf(randomBytes(9 * MIB)))).rejects.toMatchObject(denied);
      await expect(store.get(KEY)).rejects.toMatchObject(denied);
      await store.close();
    });

    test.runIf(server.isComplete)('aborts stale uploads of raw objects only', async () => {
      const store = createS3RawStore({ ...bucket.options, prefix: 'raw' });
      const Bucket = bucket.options.bucket;
      for (const Key of [`raw/${KEY}`, 'raw/workspaces/other-program', `elsewhere/${KEY}`]) {
        await bucket.client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
      }
      expect(await store.abortStaleUploads(3_600_000)).toBe(0);
      expect(await store.abortStaleUploads(-60_000)).toBe(1);
      const { Uploads = [] } = await bucket.client.send(new ListMultipartUploadsCommand({ Bucket }));
      expect(Uploads.map(({ Key }) => Key).sort()).toEqual([`elsewhere/${KEY}`, 'raw/workspaces/other-program']);
      await createS3RawStore({ ...bucket.options, prefix: 'elsewhere' }).abortStaleUploads(-60_000);
      await store.close();
    });
  });
}

describe('S3 over a bad network', () => {
  let bucket: Awaited<ReturnType<typeof createBucket>>;
  let proxy: S3Proxy;
  let store: RawStore;
  /** Has a short timeout, for tests where the server stays silent. */
  let impatient: RawStore;
  beforeAll(async () => {
    const [emulator] = servers;
    if (!emulator) throw new Error('The emulator always runs');
    bucket = await createBucket(emulator);
    proxy = bucket.proxy;
    store = createS3RawStore({ ...bucket.options, maxAttempts: 2 });
    impatient = createS3RawStore({ ...bucket.options, maxAttempts: 2, requestTimeoutMs: 500 });
    return async () => {
      await Promise.all([store.close(), impatient.close()]);
      await bucket.stop();
    };
  });
  afterEach(() => proxy.onRequest(() => undefined));

  test('recovers from one failed attempt of each request', async () => {
    const failed = new Set<string>();
    proxy.onRequest((request) => {
      if (failed.has(request)) return undefined;
      failed.add(request);
      return s3ErrorAnswer(503, 'SlowDown');
    });
    const bytes = randomBytes(9 * MIB);
    await store.put(KEY, bodyOf(bytes));
    expect(bytes.equals(await buffer(await store.get(KEY)))).toBe(true);
    expect(failed.size).toBeGreaterThan(4);
  });

  test('a put whose parts fail aborts its upload and reads no further', async () => {
    const openBefore = [...proxy.openUploads];
    proxy.onRequest((request) => (request.includes('partNumber=') ? s3ErrorAnswer(403, 'AccessDenied') : undefined));
    let readBytes = 0;
    let isClosed = false;
    const endless = async function* () {
      try {
        for (;;) {
          yield Buffer.alloc(MIB);
          readBytes += MIB;
        }
      } finally {
        isClosed = true;
      }
    };
    await expect(store.put(KEY, endless())).rejects.toMatchObject({ code: 'denied' });
    expect([...proxy.openUploads]).toEqual(openBefore);
    expect(readBytes).toBeLessThan(100 * MIB);
    expect(isClosed).toBe(true);
  });

  test.each([
    ['503', s3ErrorAnswer(503, 'SlowDown'), 'unavailable'],
    ['an unknown code', s3ErrorAnswer(400, 'Whatever'), 'unavailable'],
    ['no space', s3ErrorAnswer(507, 'XMinioStorageFull'), 'out-of-space'],
    ['an expired token', s3ErrorAnswer(400, 'ExpiredToken'), 'denied'],
    ['no XML', { kind: 'answer', status: 200, body: 'hello' } as const, 'unavailable'],
    ['silence', { kind: 'ignore' } as const, 'unavailable'],
    ['a lost answer', { kind: 'lose-answer' } as const, 'unavailable'],
  ])('%s is a retryable error', async (_label, fault, code) => {
    proxy.onRequest(() => fault);
    await expect((fault.kind === 'ignore' ? impatient : store).check()).rejects.toMatchObject({
      name: 'RawStoreError',
      code,
      retryable: true,
    });
  });

  test.each(['reset', 'lose-answer'] as const)(
    'a put whose machine dies at any request shows nothing or everything, and leaves only what can be removed: %s',
    async (lastFault) => {
      const old = Buffer.from('the object of before');
      const bytes = randomBytes(11 * MIB);
      const outcomes = new Set<string>();
      const healthy = createS3RawStore(bucket.options);
      for (let deadFrom = 1; !outcomes.has('acknowledged'); deadFrom += 1) {
        proxy.onRequest(() => undefined);
        await healthy.put(KEY, bodyOf(old));
        let count = 0;
        proxy.onRequest(() => {
          count += 1;
          if (count < deadFrom) return undefined;
          return { kind: count === deadFrom ? lastFault : 'reset' };
        });
        const dying = createS3RawStore({ ...bucket.options, maxAttempts: 1, requestTimeoutMs: 20_000 });
        const isAcknowledged = await dying.put(KEY, bodyOf(bytes)).then(
          () => true,
          () => false,
        );
        await dying.close();
        proxy.onRequest(() => undefined);
        const found = await buffer(await healthy.get(KEY));
        expect(found.equals(bytes) || (!isAcknowledged && found.equals(old))).toBe(true);
        outcomes.add(isAcknowledged ? 'acknowledged' : found.equals(bytes) ? 'whole' : 'nothing');
        expect(deadFrom).toBeLessThan(20);
      }
      expect(outcomes).toContain('nothing');
      await healthy.delete(KEY);
      await healthy.close();
    },
  );

  test('a refused connection is a retryable error', async () => {
    const lonely = createS3RawStore({ ...bucket.options, endpoint: 'http://127.0.0.1:1', maxAttempts: 1 });
    await expect(lonely.put(KEY, bodyOf(Buffer.from('x')))).rejects.toMatchObject({
      code: 'unavailable',
      retryable: true,
    });
    await lonely.close();
  });

  test('a completed upload whose answer was lost counts as stored', async () => {
    const isLost = { done: false };
    proxy.onRequest((request) => {
      const isComplete = request.startsWith('POST') && request.includes('uploadId=');
      if (!isComplete || isLost.done) return undefined;
      isLost.done = true;
      return { kind: 'lose-answer' };
    });
    const bytes = randomBytes(17 * MIB);
    expect(await store.put(KEY, bodyOf(bytes))).toEqual({ sizeBytes: bytes.length });
    expect(isLost.done).toBe(true);
    expect(bytes.equals(await buffer(await store.get(KEY)))).toBe(true);
  });

  test('an older object at the key is not mistaken for an upload that went missing', async () => {
    const older = randomBytes(9 * MIB);
    await store.put(KEY, bodyOf(older));
    proxy.onRequest((request) => {
      const isComplete = request.startsWith('POST') && request.includes('uploadId=');
      return isComplete ? s3ErrorAnswer(404, 'NoSuchUpload') : undefined;
    });
    await expect(store.put(KEY, bodyOf(randomBytes(10 * MIB)))).rejects.toMatchObject({ code: 'unavailable' });
    proxy.onRequest(() => undefined);
    expect(older.equals(await buffer(await store.get(KEY)))).toBe(true);
  });

  test.each([
    ['PutObject', MIB, (request: string) => request.startsWith('PUT')],
    [
      'CompleteMultipartUpload',
      9 * MIB,
      (request: string) => request.includes('uploadId=') && request.startsWith('POST'),
    ],
  ])('an abort during %s leaves nothing', async (_label, sizeBytes, isLastRequest) => {
    await store.delete(KEY);
    const openBefore = [...proxy.openUploads];
    const abort = new AbortController();
    const reason = new Error('shutting down');
    proxy.onRequest((request) => {
      if (isLastRequest(request)) abort.abort(reason);
      return undefined;
    });
    await expect(store.put(KEY, bodyOf(randomBytes(sizeBytes)), { signal: abort.signal })).rejects.toBe(reason);
    expect(await store.stat(KEY)).toBeUndefined();
    expect([...proxy.openUploads]).toEqual(openBefore);
  });

  test.each(['cut-body', 'stall-body'] as const)('a download with %s fails on the stream', async (kind) => {
    await store.put(KEY, bodyOf(randomBytes(3 * MIB)));
    proxy.onRequest(() => ({ kind }));
    const stream = await impatient.get(KEY);
    await expect(buffer(stream)).rejects.toMatchObject({ name: 'RawStoreError', code: 'unavailable', retryable: true });
  });

  test('a server that ignores ranges is detected', async () => {
    proxy.onRequest(() => ({ kind: 'answer', status: 200, body: 'the whole object' }));
    await expect(store.get(KEY, { range: { startByte: 4 } })).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('aborts stale uploads of raw objects only, on every page of the listing', async () => {
    const aborted: string[] = [];
    const now = new Date().toISOString();
    const longAgo = '2020-01-01T00:00:00.000Z';
    const firstPage = [
      { id: 'u1', key: KEY, initiated: longAgo },
      { id: 'u2', key: 'workspaces/other-program', initiated: longAgo },
      { id: 'u3', key: KEY, initiated: longAgo },
    ];
    const secondPage = [
      { id: 'u4', key: KEY, initiated: now },
      { id: 'u5', key: KEY, initiated: longAgo },
    ];
    proxy.onRequest((request) => {
      if (!request.startsWith('DELETE')) {
        return request.includes('upload-id-marker=u3') ? uploadListing(secondPage) : uploadListing(firstPage, 'u3');
      }
      aborted.push(new URL(request.slice('DELETE '.length), 'http://proxy').searchParams.get('uploadId') ?? '');
      return aborted.length === 2 ? s3ErrorAnswer(404, 'NoSuchUpload') : { kind: 'answer', status: 204, body: '' };
    });
    expect(await store.abortStaleUploads(60_000)).toBe(2);
    expect(aborted).toEqual(['u1', 'u3', 'u5']);
  });
});

function uploadListing(uploads: { id: string; key: string; initiated: string }[], nextMarker?: string): Fault {
  const entries = uploads.map(
    ({ id, key, initiated }) =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated}</Initiated></Upload>`,
  );
  const next = `<NextKeyMarker>${KEY}</NextKeyMarker><NextUploadIdMarker>${nextMarker}</NextUploadIdMarker>`;
  const paging = nextMarker ? `<IsTruncated>true</IsTruncated>${next}` : '<IsTruncated>false</IsTruncated>';
  const body = `<ListMultipartUploadsResult>${paging}${entries.join('')}</ListMultipartUploadsResult>`;
  return { kind: 'answer', status: 200, body };
}
