import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { measureInput, readSources, type SourceItem, type TranscriptSource } from './index.ts';
import { summarize } from './testing/summarize.ts';
import { createTar } from './testing/tar-writer.ts';
import { createZip } from './testing/zip-writer.ts';

const LARGE = Buffer.from(Array.from({ length: 150_000 }, (_, i) => `{"line":${i * 7919}}\n`).join(''));

let server: FauxqsServer;
let client: S3Client;
/** `GetObject` requests, by key. */
const gets: { key: string; range: string | undefined }[] = [];
/** The server's answers to them. */
const bodies: Readable[] = [];

async function put(bucket: string, objects: Record<string, string | Buffer>): Promise<void> {
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  for (const [Key, Body] of Object.entries(objects))
    await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
}

async function collect(path: string): Promise<SourceItem[]> {
  const items: SourceItem[] = [];
  for await (const item of readSources([path], { s3: client })) items.push(item);
  return items;
}

beforeAll(async () => {
  server = await startFauxqs({ port: 0, logger: false, host: '127.0.0.1' });
  client = new S3Client({
    endpoint: `http://127.0.0.1:${server.port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (call) => {
        const { Key = '', Range } = call.input as { Key?: string; Range?: string };
        const result = await next(call);
        const { Body } = result.output as { Body?: unknown };
        if (commandName === 'GetObjectCommand') gets.push({ key: Key, range: Range });
        if (Body instanceof Readable) bodies.push(Body);
        return result;
      },
    { step: 'initialize' },
  );
});

test('a prefix and its archives yield the wanted files, as they are stored', async () => {
  const packed = gzipSync('packed');
  await put('wanted', {
    'team/s.jsonl': 'a transcript',
    'team/s/results/1.txt': 'one',
    'team/s/results/2.gz': packed,
    'team/old.zip': createZip([{ name: 'old/results/3.txt', content: 'three' }]),
  });
  const contents: [string, Buffer][] = [];
  const wants = (path: string): boolean => path.includes('/results/');
  gets.length = 0;
  for await (const item of readSources(['s3://wanted/team'], { s3: client, wants })) {
    if (item.kind === 'transcript') contents.push([item.location, await buffer(await item.open())]);
  }
  expect(contents).toEqual([
    ['s3://wanted/team/old.zip!old/results/3.txt', Buffer.from('three')],
    ['s3://wanted/team/s/results/1.txt', Buffer.from('one')],
    ['s3://wanted/team/s/results/2.gz', packed],
  ]);
  expect(gets.map(({ key }) => key)).not.toContain('team/s.jsonl');
});

afterAll(async () => {
  client.destroy();
  await server.stop();
});

describe('S3', () => {
  test('all kinds of objects below a prefix are read, in key order', async () => {
    await put('kinds', {
      'team/s.jsonl': 'main',
      'team/s/subagents/agent-1.jsonl': 'sub',
      'team/notes.txt': 'no',
      'team/z.jsonl.gz': gzipSync('gzip'),
      'team/y.jsonl.zst': zstdCompressSync('zstd'),
      'team/x.tar.gz': gzipSync(await createTar([{ name: 'a.jsonl', content: 'tar' }])),
      'team/w.zip': createZip([{ name: 'b.jsonl', content: 'zip' }]),
      'team/folder/': '',
      'team-secret/s.jsonl': 'outside',
    });
    const lines = [
      'skipped notes.txt not-a-transcript',
      's.jsonl = main',
      's/subagents/agent-1.jsonl = sub',
      'w.zip!b.jsonl = zip',
      'x.tar.gz!a.jsonl = tar',
      'y.jsonl.zst = zstd',
      'z.jsonl.gz = gzip',
    ];
    expect(await summarize(['s3://kinds/team/'], { s3: client })).toEqual(lines);
    expect(await summarize(['s3://kinds/team'], { s3: () => client })).toEqual(lines);
    expect(await summarize(['s3://kinds/team/notes.txt'], { s3: client })).toEqual([' = no']);
    expect(await summarize(['s3://kinds'], { s3: client })).toContain('team-secret/s.jsonl = outside');
    expect(await measureInput(['s3://kinds/team'], { s3: client })).toMatchObject({ transcriptFiles: 4, archives: 2 });
  });

  test('a transcript has its key as path, and costs one request, when it is opened', async () => {
    await put('paths', { 'team/p/s.jsonl.gz': gzipSync('one') });
    gets.length = 0;
    const items = await collect('s3://paths/team');
    expect(gets).toEqual([]);
    expect(items).toEqual([
      expect.objectContaining({
        kind: 'transcript',
        location: 's3://paths/team/p/s.jsonl.gz',
        path: 'team/p/s.jsonl',
        modifiedAtMs: expect.any(Number),
        reopenable: true,
      }),
    ]);
    expect(await text(await (items[0] as TranscriptSource).open())).toBe('one');
    expect(gets).toHaveLength(1);
    expect(await summarize(['s3://paths'], { s3: client, sinceMs: Date.now() + 3_600_000 })).toEqual([
      'skipped team/p/s.jsonl.gz older-than-since',
    ]);
  });

  test('a listing of several pages is complete', async () => {
    const names = Array.from({ length: 1100 }, (_, index) => `${String(index).padStart(4, '0')}.jsonl`);
    await put('pages', Object.fromEntries(names.map((name) => [name, '{}'])));
    const items = await collect('s3://pages');
    expect(items.map((item) => item.location)).toEqual(names.map((name) => `s3://pages/${name}`));
  });

  test('a zip is read by ranges, many small members with one request', async () => {
    const small = Array.from({ length: 200 }, (_, index) => ({ name: `${index}.jsonl`, content: `{"n":${index}}` }));
    const large = { name: 'large.jsonl', content: LARGE, method: 'stored' as const };
    await put('zips', { 'a.zip': createZip([...small, large]) });
    gets.length = 0;
    const lines = await summarize(['s3://zips'], { s3: client });
    expect(lines).toEqual([...small, large].map(({ name, content }) => `a.zip!${name} = ${content}`));
    expect(gets.every(({ range }) => range !== undefined)).toBe(true);
    expect(gets.length).toBeLessThan(10);
  });

  test('missing buckets, prefixes and clients fail clearly', async () => {
    await put('empty', {});
    expect(await summarize(['s3://gone/x'], { s3: client })).toEqual(['failed  not-found']);
    expect(await summarize(['s3://empty/x'], { s3: client })).toEqual(['failed  not-found']);
    expect(await summarize(['s3:///x'], { s3: client })).toEqual(['failed  invalid-location']);
    expect(await summarize(['s3://empty/x'])).toEqual(['failed  unsupported']);
  });

  test('a server that does not answer fails', async () => {
    const lost = new S3Client({
      endpoint: 'http://127.0.0.1:1',
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      maxAttempts: 1,
    });
    expect(await summarize(['s3://bucket/x'], { s3: lost })).toEqual(['failed  read-failed']);
    lost.destroy();
  });

  test('an object replaced after it was listed is not mixed with the new one', async () => {
    await put('replaced', { 'a.jsonl': 'old' });
    for await (const item of readSources(['s3://replaced'], { s3: client })) {
      await put('replaced', { 'a.jsonl': 'new' });
      await expect((item as TranscriptSource).open()).rejects.toMatchObject({ code: 'changed', retryable: true });
    }
  });

  test('leaving and aborting end all responses of the server', async () => {
    await put('early', {
      'a.jsonl': LARGE,
      'b.tar': await createTar([{ name: 'b.jsonl', content: LARGE }]),
      'c.zip': createZip([{ name: 'c.jsonl', content: LARGE, method: 'stored' }]),
    });
    for (const item of ['a.jsonl', 'b.tar!b.jsonl', 'c.zip!c.jsonl']) {
      for (const isAborted of [false, true]) {
        bodies.length = 0;
        const controller = new AbortController();
        let reading: Promise<unknown> | undefined;
        const read = async () => {
          for await (const source of readSources(['s3://early'], { s3: client, signal: controller.signal })) {
            const stream = await (source as TranscriptSource).open();
            await once(stream, 'readable');
            if (source.location !== `s3://early/${item}`) continue;
            expect(bodies.some((body) => !body.closed)).toBe(true);
            reading = buffer(stream).catch((error) => error.name);
            if (!isAborted) break;
            controller.abort(new Error('enough'));
          }
        };
        if (isAborted) await expect(read()).rejects.toThrow('enough');
        else await read();
        expect(await reading).toMatch(isAborted ? /^AbortError$/ : /^(AbortError|SourceError)$/);
        await expect.poll(() => bodies.every((body) => body.closed)).toBe(true);
      }
    }
  });
});
