import { newTestStreamId, sendLive } from '@recount/api/testing/live-client';
import { toStreamLines } from '@recount/api/testing/stream-lines';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { tendLiveStreams } from '@recount/ingest';
import { createRawStore, type RawStore } from '@recount/storage';
import { type Fault, type S3Proxy, s3ErrorAnswer, startS3Proxy } from '@recount/storage/testing/s3-proxy';
import { startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const BUCKET = 'transcripts';
const COMPLETE = { 'recount-complete': '?1', 'recount-exit-code': '0' };
/** Ends a request that is never answered. Under load it may end others, which are then failures of the same kind. */
const REQUEST_TIMEOUT_MS = 1000;

let server: Awaited<ReturnType<typeof startFauxqs>>;
let proxy: S3Proxy;
let rawStore: RawStore;
let api: TestApi;

beforeAll(async () => {
  server = await startFauxqs({ port: 0, logger: false });
  server.createBucket(BUCKET);
  proxy = await startS3Proxy(server.address);
  rawStore = await createRawStore(`s3://${BUCKET}/raw`, {
    endpoint: proxy.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  });
  api = await createTestApi({}, () => ({ rawStore }));
});
afterAll(async () => {
  await api?.close();
  await rawStore?.close();
  await proxy?.stop();
  await server?.stop();
});

const FAULTS: Readonly<Record<string, Fault>> = {
  'is answered 503': s3ErrorAnswer(503, 'SlowDown'),
  'is answered 403': s3ErrorAnswer(403, 'AccessDenied'),
  'is never answered': { kind: 'ignore' },
  'is broken off': { kind: 'reset' },
  'is carried out, and its answer lost': { kind: 'lose-answer' },
};

/** Keys of raw objects, without those that describe them. */
async function listObjects(): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of rawStore.list('')) keys.push(key);
  return keys.filter((key) => !key.endsWith('.about.json'));
}

/** Completes a stream while the store's request at this position fails, and returns how many requests there were. */
async function complete(sessionId: string, failing: number, fault: Fault | undefined) {
  let count = 0;
  proxy.onRequest(() => (count++ === failing ? fault : undefined));
  const headers = { 'recount-stream': newTestStreamId(), ...COMPLETE };
  const text = toStreamLines(sessionId).join('');
  const answer = await sendLive({ url: api.url, key: api.keys.ingest }, sessionId, text, headers);
  proxy.onRequest(() => undefined);
  return { ...answer, text, count };
}

async function readStored(sessionId: string): Promise<{ id: string; raw: string }[]> {
  const response = await api.fetch(`/v1/transcripts?session_id=${sessionId}`);
  const { transcripts } = (await response.json()) as { transcripts: { id: string }[] };
  return await Promise.all(
    transcripts.map(async ({ id }) => ({ id, raw: await (await api.fetch(`/v1/transcripts/${id}/raw`)).text() })),
  );
}

describe('a live stream that is completed while a request to the S3 store fails', () => {
  it.each(Object.entries(FAULTS))('answers what is true, and is stored later by itself: it %s', async (name, fault) => {
    // The last round has no request left that could fail.
    for (let failing = 0; ; failing++) {
      const sessionId = `completed-${Object.keys(FAULTS).indexOf(name)}-${failing}`;
      const before = await listObjects();
      const { status, headers, body, text, count } = await complete(sessionId, failing, fault);
      if (status === 200) expect(await readStored(sessionId)).toEqual([{ id: body.transcript_id, raw: text }]);
      else expect([status, headers['retry-after']]).toEqual([503, expect.any(String)]);
      await tendLiveStreams(
        { database: api.database, rawStore },
        {
          idleTimeoutMs: 1e9,
          eventRetentionMs: 1e9,
          closingTimeoutMs: 0,
          onFailure: (_, error) => {
            throw error;
          },
        },
      );
      expect(await readStored(sessionId)).toEqual([{ id: expect.any(String), raw: text }]);
      expect(await listObjects()).toHaveLength(before.length + 1);
      if (count <= failing) break;
    }
  });
});
