import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { zstdDecompressSync } from 'node:zlib';
import { DeliveryError } from '@recount/collect/delivery-error';
import { describe, expect, it } from 'vitest';
import type { ApiClient, ApiRequest } from './api-client.ts';
import { createHttpTarget } from './http-target.ts';

const toId = (number: number): string => `01J0000000000000000000${String(number).padStart(4, '0')}`;
const toTranscript = (number: number, status: string) => ({
  id: toId(number),
  session_id: `session-${number}`,
  status,
  failure_reason: status === 'failed' ? 'too many rows' : null,
});

/** Answers from a list of transcripts, and records the requests. */
function createFakeClient(transcripts: ReturnType<typeof toTranscript>[], url = 'http://127.0.0.1:1') {
  const asked: { path: string; request: ApiRequest }[] = [];
  const client: ApiClient = {
    place: { url, key: 'k' },
    async request<Answer>(path: string, request: ApiRequest = {}) {
      asked.push({ path, request });
      if (path !== '/v1/transcripts') return transcripts.find(({ id }) => path.endsWith(id)) as Answer | undefined;
      const limit = Number(request.query?.limit);
      const found = transcripts.filter(({ status }) => status === 'queued' || status === 'processing');
      return { transcripts: found.slice(0, limit), next_cursor: found.length > limit ? 'more' : null } as Answer;
    },
  };
  return { client, asked };
}

describe('the state of transcripts', () => {
  it('takes one request for all that are waiting, and one for each of the others', async () => {
    const transcripts = ['queued', 'processing', 'ingested', 'superseded', 'failed'].map((status, number) =>
      toTranscript(number, status),
    );
    const { client, asked } = createFakeClient(transcripts);
    const found = await createHttpTarget(client).readStatuses([0, 1, 2, 3, 4, 9].map(toId), undefined);
    expect(found).toEqual(
      transcripts.map(({ id, session_id, status, failure_reason }) => ({
        transcriptId: id,
        sessionId: session_id,
        status,
        failureReason: failure_reason,
      })),
    );
    expect(asked).toHaveLength(5);
  });

  it('treats those beyond a full page as waiting, without asking', async () => {
    const transcripts = Array.from({ length: 300 }, (_, number) =>
      toTranscript(number, number < 50 ? 'ingested' : 'queued'),
    );
    const { client, asked } = createFakeClient(transcripts);
    const found = await createHttpTarget(client).readStatuses([10, 60, 250, 299].map(toId), undefined);
    expect(found.map(({ status }) => status)).toEqual(['ingested', 'queued', 'queued', 'queued']);
    expect(asked).toHaveLength(2);
  });
});

describe('an upload', () => {
  const delivery = {
    path: `${'x'.repeat(5000)}/s.jsonl`,
    sizeBytes: 5,
    sha256: createHash('sha256').update('hello').digest('hex') as string | undefined,
    async *open() {
      yield Buffer.from('hello');
    },
  };
  const receipt = { transcript_id: toId(1), session_id: 's', status: 'queued', duplicate: true };

  it.each([
    ['http://127.0.0.1:7878', false],
    ['http://localhost:7878', false],
    ['http://[::1]:7878', false],
    ['https://recount.example.com', true],
  ])('is compressed for %s: %s', async (url, isCompressed) => {
    const { client, asked } = createFakeClient([], url);
    let sent = Buffer.alloc(0);
    const request = client.request;
    client.request = async <Answer>(path: string, options: ApiRequest = {}) => {
      await request(path, options);
      sent = await buffer(options.body ?? Readable.from([]));
      return receipt as Answer;
    };
    expect(await createHttpTarget(client).send(delivery, undefined)).toEqual({
      transcript: { transcriptId: toId(1), sessionId: 's', status: 'queued', failureReason: null },
      isDuplicate: true,
      isHealed: false,
      sentFromByte: 0,
    });
    const digest = `sha-256=:${createHash('sha256').update('hello').digest('base64')}:`;
    expect(asked[0]?.request.headers).toMatchObject({
      [isCompressed ? 'unencoded-digest' : 'content-digest']: digest,
    });
    expect(asked[0]?.request.headers?.['content-encoding']).toBe(isCompressed ? 'zstd' : undefined);
    expect(asked[0]?.request.query?.path).toMatch(/^x{4088}\/s\.jsonl$/);
    expect((isCompressed ? zstdDecompressSync(sent) : sent).toString()).toBe('hello');
  });

  it.each([
    ['http://127.0.0.1:7878', 'content-digest'],
    ['https://recount.example.com', 'unencoded-digest'],
  ])('has its digest as a trailer for %s if it is not known before', async (url, field) => {
    const { client } = createFakeClient([], url);
    let trailers: Record<string, string> | undefined;
    client.request = async <Answer>(_path: string, request: ApiRequest = {}) => {
      expect(request.headers?.trailer).toBe(field);
      await buffer(request.body ?? Readable.from([]));
      trailers = request.trailers?.();
      return { ...receipt, raw_object: 'healed' } as Answer;
    };
    const received = await createHttpTarget(client).send({ ...delivery, sha256: undefined }, undefined);
    expect(received.isHealed).toBe(true);
    expect(trailers).toEqual({ [field]: `sha-256=:${createHash('sha256').update('hello').digest('base64')}:` });
  });

  it('replaces what the server has damaged', async () => {
    const { client } = createFakeClient([]);
    const found = { ...toTranscript(1, 'ingested'), raw_damaged_at: null as string | null };
    client.request = async <Answer>() => ({ transcripts: [found], next_cursor: null }) as Answer;
    const find = () => createHttpTarget(client).find({ sessionId: 's', sha256: 'x' }, undefined);
    expect(await find()).toMatchObject({ transcriptId: toId(1) });
    found.raw_damaged_at = '2026-01-01T00:00:00.000Z';
    expect(await find()).toBeUndefined();
  });

  it('is not sent as a shorter one if it cannot be read', async () => {
    const { client } = createFakeClient([], 'https://recount.example.com');
    client.request = async (_path, { body } = {}) => {
      await buffer(body ?? Readable.from([]));
      throw new Error('the end was reached');
    };
    async function* open(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('hel');
      throw new Error('the disk is broken');
    }
    await expect(createHttpTarget(client).send({ ...delivery, open }, undefined)).rejects.toThrow('the disk is broken');
  });
});

it('waits for no search index that its key may not search', async () => {
  const { client } = createFakeClient([]);
  const refuse = async () => {
    throw new DeliveryError('denied', 'The API key lacks a scope');
  };
  expect(await createHttpTarget({ ...client, request: refuse }).countUnindexed(undefined)).toBe(0);
});
