import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import type { MessageList, UploadReceipt } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toLine, toTranscript } from '../testing/transcript-lines.ts';

const UNKNOWN_ID = '01JCZ8Q4M2V7T3N5R9W0XYABCD';
const text = `${toTranscript('raw', 50)}last line, broken and without an end: ü`;
const bytes = Buffer.from(text);
const entityTag = `"${createHash('sha256').update(bytes).digest('hex')}"`;

let api: TestApi;
let path: string;
const downloads: Readable[] = [];

beforeAll(async () => {
  api = await createTestApi({}, ({ rawStore }) => ({
    rawStore: {
      ...rawStore,
      async get(...call) {
        const stream = await rawStore.get(...call);
        downloads.push(stream);
        return stream;
      },
    },
  }));
  const { transcript_id } = (await (await api.upload(text)).json()) as UploadReceipt;
  path = `/v1/transcripts/${transcript_id}`;
});
afterAll(() => api.close());

const getRaw = (headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  api.fetch(`${path}/raw`, { method, headers });

const readBytes = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

describe('GET /v1/transcripts/{id}/raw', () => {
  it('returns the original bytes, as a download that no browser executes', async () => {
    const response = await getRaw();
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/x-ndjson',
      'content-length': String(bytes.length),
      'content-disposition': 'attachment; filename="raw.jsonl"',
      'accept-ranges': 'bytes',
      etag: entityTag,
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    expect(await readBytes(response)).toEqual(bytes);
  });

  it.each([
    ['bytes=0-9', 0, 10],
    ['bytes=100-', 100, bytes.length],
    ['bytes=-20', bytes.length - 20, bytes.length],
    [`bytes=${bytes.length - 1}-`, bytes.length - 1, bytes.length],
    ['bytes=5-99999999', 5, bytes.length],
  ])('returns the range %s', async (range, start, end) => {
    const response = await getRaw({ range });
    expect(response.status).toBe(206);
    expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${bytes.length}`);
    expect(response.headers.get('content-length')).toBe(String(end - start));
    expect(await readBytes(response)).toEqual(bytes.subarray(start, end));
  });

  it('refuses an unsatisfiable range', async () => {
    const response = await getRaw({ range: `bytes=${bytes.length}-` });
    expect(response.headers.get('content-range')).toBe(`bytes */${bytes.length}`);
    await expectProblem(response, 416, 'range-not-satisfiable');
  });

  it.each(['bytes=0-1,3-4', 'lines=0-1', 'bytes=9-1'])('returns everything for %s', async (range) => {
    const response = await getRaw({ range });
    expect(response.status).toBe(200);
    expect(await readBytes(response)).toEqual(bytes);
  });

  it('returns a range only if the client has the beginning of the same bytes', async () => {
    expect((await getRaw({ range: 'bytes=0-1', 'if-range': entityTag })).status).toBe(206);
    expect((await getRaw({ range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200);
    expect((await getRaw({ range: 'bytes=0-1', 'if-range': 'Sat, 21 Nov 2026 00:00:00 GMT' })).status).toBe(200);
  });

  it('sends no body if the client has the bytes already', async () => {
    const response = await getRaw({ 'if-none-match': `"x", W/${entityTag}` });
    expect(response.status).toBe(304);
    expect(response.headers.get('etag')).toBe(entityTag);
    expect(await response.text()).toBe('');
    expect((await getRaw({ 'if-none-match': '"x"' })).status).toBe(200);
  });

  it('answers HEAD with the headers alone', async () => {
    const response = await getRaw({ range: 'bytes=0-9' }, 'HEAD');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe(String(bytes.length));
    expect(response.headers.get('etag')).toBe(entityTag);
    expect(await response.text()).toBe('');
    expect((await getRaw({ 'if-none-match': entityTag }, 'HEAD')).status).toBe(304);
  });

  it('returns an empty transcript', async () => {
    const { transcript_id } = (await (
      await api.upload('', { session_id: 'empty', agent: 'claude-code' })
    ).json()) as UploadReceipt;
    const response = await api.fetch(`/v1/transcripts/${transcript_id}/raw`);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
    const range = await api.fetch(`/v1/transcripts/${transcript_id}/raw`, { headers: { range: 'bytes=0-' } });
    await expectProblem(range, 416, 'range-not-satisfiable');
  });

  it('answers 404 for any other id', async () => {
    await expectProblem(await api.fetch(`/v1/transcripts/${UNKNOWN_ID}/raw`), 404, 'not-found');
    const head = await api.fetch(`/v1/transcripts/${UNKNOWN_ID}/raw`, { method: 'HEAD' });
    expect(head.status).toBe(404);
  });

  it('closes the file when the client disconnects', async () => {
    // More than sockets buffer, most of it one line, so that there is little to ingest.
    const large = `${toTranscript('large', 2)}${'x'.repeat(48 * 1024 * 1024)}\n`;
    const { transcript_id } = (await (await api.upload(large)).json()) as UploadReceipt;
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    const logged = api.logLines.length;
    socket.write(
      `GET /v1/transcripts/${transcript_id}/raw HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${api.keys.read}\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await vi.waitFor(() => expect(api.logLines.slice(logged).join('')).toContain('"status":499'));
    await vi.waitFor(() => expect(downloads.at(-1)?.destroyed).toBe(true));
    expect(downloads.at(-1)?.readableEnded).toBe(false);
  });

  it('says how to restore the bytes if the object is lost', async () => {
    const { transcript_id } = (await (await api.upload(toTranscript('lost', 3))).json()) as UploadReceipt;
    await api.work();
    const key = (await api.listStore()).find((name) => name.includes(transcript_id)) ?? '';
    await rm(`${api.storeDirectory}/${key}`);
    for (const part of ['raw', 'lines/0']) {
      await expectProblem(await api.fetch(`/v1/transcripts/${transcript_id}/${part}`), 410, 'raw-object-lost');
    }
    expect(api.logLines.join('')).toContain('No raw object at');
  });
});

describe('GET /v1/transcripts/{id}/lines/{byte_offset}', () => {
  it('returns each whole line by its start', async () => {
    let start = 0;
    for (const line of text.split('\n')) {
      const response = await api.fetch(`${path}/lines/${start}`);
      expect(await response.text()).toBe(line);
      start += Buffer.byteLength(line) + 1;
    }
  });

  it.each([1, 10, bytes.length, bytes.length + 100, Number.MAX_SAFE_INTEGER])('finds no line at %d', async (offset) => {
    await expectProblem(await api.fetch(`${path}/lines/${offset}`), 404, 'not-found');
  });

  it('returns the whole line if a row holds only the beginning', async () => {
    const long = 'x'.repeat(600_000);
    const line = toLine('cut', 0, { message: { role: 'user', content: long } });
    await api.upload(toTranscript('cut', 2).replace(/^.*\n/, line));
    await api.work();
    const page = (await (await api.fetch('/v1/sessions/cut/messages?limit=1')).json()) as MessageList;
    const block = page.messages[0]?.content_blocks[0];
    expect(block).toMatchObject({ metadata: { truncated: true, original_byte_length: long.length }, byte_offset: 0 });
    expect(block?.content_text?.length).toBeLessThan(long.length);
    const response = await api.fetch(`/v1/transcripts/${page.transcript_id}/lines/${block?.byte_offset}`);
    expect(`${await response.text()}\n`).toBe(line);
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="cut_0.json"');
  });
});
