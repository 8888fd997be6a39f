import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { rawObjectKey, workspacePrefix } from '../raw-object-key.ts';
import type { ByteRange, ListedObject, RawStore } from '../raw-store.ts';

const MIB = 1024 * 1024;

export interface RawStoreFixture {
  store: RawStore;
  /** The remains of incomplete puts, such as temporary files and open multipart uploads. */
  listUnfinishedPuts(): Promise<readonly string[]>;
  /** Releases what createStore made, after the store is closed. */
  stop(): Promise<void>;
}

/** The behaviour required of every RawStore, as a vitest suite. Each test writes to a separate workspace. */
export function describeRawStoreContract(name: string, createStore: () => Promise<RawStoreFixture>): void {
  describe(`raw store contract: ${name}`, () => {
    let fixture: RawStoreFixture;
    beforeAll(async () => {
      fixture = await createStore();
      return async () => {
        await fixture.store.close();
        await fixture.stop();
      };
    });
    const store = () => fixture.store;
    describeRoundTrips(store);
    describeRanges(store);
    describeDeleteAndList(store);
    describeDescriptions(store);
    describeBatches(store);
    describeUnfinishedPuts(() => fixture);
    describeRefusals(store);
  });
}

function describeRoundTrips(store: () => RawStore): void {
  test.each([
    ['0 bytes', 0],
    ['1 byte', 1],
    ['one less than the smallest S3 part', 5 * MIB - 1],
    ['the smallest S3 part', 5 * MIB],
    ['one more than the smallest S3 part', 5 * MIB + 1],
    ['two such parts', 10 * MIB],
    ['one more than two such parts', 10 * MIB + 1],
    ['20 MiB', 20 * MIB],
  ])('keeps %s exactly', async (_label, sizeBytes) => {
    const key = newKey();
    const bytes = randomBytes(sizeBytes);
    const before = Date.now();
    expect(await store().put(key, chunksOf(bytes))).toEqual({ sizeBytes });
    expect(await readSha256(await store().get(key))).toBe(sha256(bytes));
    const info = await store().stat(key);
    expect(info).toMatchObject({ key, sizeBytes });
    expect(Math.abs((info?.modifiedAtMs ?? 0) - before)).toBeLessThan(60_000);
  });

  test.each([1, 1_000, 1_048_573, 12 * MIB])('keeps a body in chunks of %i bytes', async (chunkBytes) => {
    const key = newKey();
    const bytes = randomBytes(chunkBytes === 1 ? 5_000 : 12 * MIB);
    await store().put(key, chunksOf(bytes, chunkBytes));
    expect(await readSha256(await store().get(key))).toBe(sha256(bytes));
  });

  test('keeps concurrent puts apart', async () => {
    const bodies = Array.from({ length: 8 }, (_, n) => ({ key: newKey(), bytes: randomBytes(n * MIB + n) }));
    await Promise.all(bodies.map(({ key, bytes }) => store().put(key, chunksOf(bytes))));
    for (const { key, bytes } of bodies) expect(await readSha256(await store().get(key))).toBe(sha256(bytes));
  });

  test('check() accepts a store that accepts puts', async () => {
    await expect(store().check()).resolves.toBeUndefined();
  });

  test('a download may be abandoned', async () => {
    const key = newKey();
    await store().put(key, chunksOf(randomBytes(4 * MIB)));
    const stream = await store().get(key);
    for await (const chunk of stream) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    expect(stream.destroyed).toBe(true);
  });
}

function describeRanges(store: () => RawStore): void {
  const bytes = randomBytes(300_000);
  const key = newKey();
  beforeAll(() => store().put(key, chunksOf(bytes)));

  test.each<[string, ByteRange]>([
    ['the first byte', { startByte: 0, endByteExclusive: 1 }],
    ['the middle', { startByte: 100_000, endByteExclusive: 250_001 }],
    ['everything', { startByte: 0 }],
    ['to the end', { startByte: 299_000 }],
    ['the last byte', { startByte: 299_999, endByteExclusive: 300_000 }],
    ['beyond the end', { startByte: 299_000, endByteExclusive: 400_000 }],
  ])('reads %s', async (_label, range) => {
    const expected = bytes.subarray(range.startByte, range.endByteExclusive);
    expect(await readSha256(await store().get(key, { range }))).toBe(sha256(expected));
  });

  test.each<[string, ByteRange]>([
    ['starts at the end', { startByte: 300_000 }],
    ['starts beyond the end', { startByte: 300_001, endByteExclusive: 300_002 }],
    ['is empty', { startByte: 5, endByteExclusive: 5 }],
    ['ends before it starts', { startByte: 5, endByteExclusive: 4 }],
    ['is negative', { startByte: -1 }],
    ['is fractional', { startByte: 0.5 }],
    ['is not a number', { startByte: Number.NaN }],
  ])('refuses a range that %s', async (_label, range) => {
    await expect(store().get(key, { range })).rejects.toMatchObject({ code: 'invalid-range', retryable: false });
  });

  test('refuses a range of an empty object', async () => {
    const emptyKey = newKey();
    await store().put(emptyKey, chunksOf(Buffer.alloc(0)));
    const range = { startByte: 0, endByteExclusive: 1 };
    await expect(store().get(emptyKey, { range })).rejects.toMatchObject({ code: 'invalid-range' });
  });
}

function describeDeleteAndList(store: () => RawStore): void {
  test('reports what is not there', async () => {
    const key = newKey();
    await expect(store().get(key)).rejects.toMatchObject({ code: 'not-found', retryable: false });
    expect(await store().stat(key)).toBeUndefined();
    expect(await listAll(store(), workspacePrefix(newWorkspaceId()))).toEqual([]);
  });

  test('deletes, and deletes again', async () => {
    const key = newKey();
    await store().put(key, chunksOf(Buffer.from('x')));
    await store().delete(key);
    await store().delete(key);
    await expect(store().get(key)).rejects.toMatchObject({ code: 'not-found' });
    expect(await store().stat(key)).toBeUndefined();
  });

  test('lists by prefix, over more than a page', async () => {
    const workspaceId = newWorkspaceId();
    const keys = Array.from({ length: 1_005 }, (_, n) => rawObjectKey({ workspaceId, transcriptId: ulidOf(n) }));
    const neighbour = newKey(`${workspaceId}0`);
    await store().put(neighbour, chunksOf(Buffer.from('of another workspace')));
    await inBatches(keys, 40, (key, n) => store().put(key, chunksOf(Buffer.alloc(n % 3))));

    const listed = await listAll(store(), workspacePrefix(workspaceId));
    expect(listed.map(({ key }) => key)).toEqual(keys);
    expect(listed.map(({ sizeBytes }) => sizeBytes)).toEqual(keys.map((_, n) => n % 3));
    expect(listed[0]).toEqual(
      await store()
        .stat(keys[0] ?? '')
        .then((info) => ({ ...info, modifiedAtMs: expect.any(Number), isDescribed: false })),
    );
    expect(await listAll(store(), `workspaces/${workspaceId}`)).toHaveLength(1_006);
    expect(await listAll(store(), keys[7] ?? '')).toHaveLength(1);
    const everything = new Set((await listAll(store(), '')).map(({ key }) => key));
    expect([neighbour, ...keys].every((key) => everything.has(key))).toBe(true);
  });

  test('a listing may be abandoned', async () => {
    const workspaceId = newWorkspaceId();
    await store().put(newKey(workspaceId), chunksOf(Buffer.from('x')));
    await store().put(newKey(workspaceId), chunksOf(Buffer.from('y')));
    for await (const { sizeBytes } of store().list(workspacePrefix(workspaceId))) {
      expect(sizeBytes).toBe(1);
      break;
    }
  });
}

function describeDescriptions(store: () => RawStore): void {
  const description = { path: `/home/ä/${'x'.repeat(4096)}`, sizes: [1, null], 'odd key': '\n' };

  test('keeps the last description of an object', async () => {
    const key = newKey();
    expect(await store().readDescription(key)).toBeUndefined();
    await store().put(key, chunksOf(Buffer.from('x')));
    expect(await store().readDescription(key)).toBeUndefined();
    await store().describe(key, { path: 'first' });
    await store().describe(key, description);
    expect(await store().readDescription(key)).toEqual(description);
    expect(await readSha256(await store().get(key))).toBe(sha256(Buffer.from('x')));
  });

  test('lists no descriptions, and deletes them with their objects', async () => {
    const workspaceId = newWorkspaceId();
    const keys = [newKey(workspaceId), newKey(workspaceId)] as const;
    for (const key of keys) {
      await store().put(key, chunksOf(Buffer.from('x')));
      await store().describe(key, description);
    }
    const prefix = workspacePrefix(workspaceId);
    expect((await listAll(store(), prefix)).map(({ key }) => key)).toEqual([...keys].sort());
    expect(await listAll(store(), keys[0])).toHaveLength(1);
    await store().delete(keys[0]);
    expect(await store().readDescription(keys[0])).toBeUndefined();
    expect(await store().readDescription(keys[1])).toEqual(description);
  });

  test('lists which objects have a description', async () => {
    const workspaceId = newWorkspaceId();
    const keys = [0, 1, 2].map((n) => ulidOf(n)).map((transcriptId) => rawObjectKey({ workspaceId, transcriptId }));
    for (const key of keys) await store().put(key, chunksOf(Buffer.from(key)));
    await store().describe(keys[1] as string, { path: '/a' });
    const listed = await listAll(store(), workspacePrefix(workspaceId));
    expect(listed.map(({ isDescribed }) => isDescribed)).toEqual([false, true, false]);
  });

  test('treats something else in place of a description as none', async () => {
    const key = newKey();
    for (const bytes of ['', '{', '"text"', 'null']) {
      await store().put(`${key}.about.json`, chunksOf(Buffer.from(bytes)));
      expect(await store().readDescription(key)).toBeUndefined();
    }
    await store().delete(key);
  });

  test('refuses a description that is too large', async () => {
    const key = newKey();
    const tooLarge = { path: 'x'.repeat(MIB) };
    await expect(store().describe(key, tooLarge)).rejects.toMatchObject({ code: 'too-large', retryable: false });
  });
}

/** Keys of objects of a new batch. */
function newBatch(count: number, workspaceId = newWorkspaceId()): string[] {
  const batchId = ulidOf(++sequence);
  return Array.from({ length: count }, () => rawObjectKey({ workspaceId, transcriptId: ulidOf(++sequence), batchId }));
}

function describeBatches(store: () => RawStore): void {
  const putBatch = (keys: readonly string[]) =>
    store().putAll(keys.map((key) => ({ key, body: chunksOf(Buffer.from(key)) })));
  const describeBatch = (keys: readonly string[]) =>
    store().describeTogether(new Map(keys.map((key) => [key, { path: `/${key}`, text: '\n["a",{' }])));
  const isAnyDescribed = async (workspaceId: string, keys: readonly string[]): Promise<boolean> => {
    // Without its object, no one would find it.
    expect(await listAll(store(), workspacePrefix(workspaceId))).toEqual([]);
    const all = await Promise.all(keys.map((key) => store().readDescription(key)));
    return all.some((description) => description !== undefined);
  };

  test('puts several objects, each with its own outcome', async () => {
    const bytes = [0, 1, 300_000, 6 * MIB].map((sizeBytes) => randomBytes(sizeBytes));
    const objects = bytes.map((content) => ({ key: newKey(), body: chunksOf(content) }));
    const broken = async function* () {
      yield Buffer.from('half');
      throw new Error('the client went away');
    };
    const aborted = AbortSignal.abort(new Error('stopped'));
    const [fails, stops] = [newKey(), newKey()];
    const outcomes = await store().putAll([
      ...objects.slice(0, 2),
      { key: fails, body: broken() },
      { key: stops, body: chunksOf(Buffer.from('x')), signal: aborted },
      { key: '../outside', body: chunksOf(Buffer.from('x')) },
      ...objects.slice(2),
    ]);
    expect(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.sizeBytes : outcome.reason)),
    ).toEqual([
      ...[0, 1, new Error('the client went away'), new Error('stopped')],
      ...[expect.objectContaining({ code: 'invalid-key' }), 300_000, 6 * MIB],
    ]);
    for (const [index, { key }] of objects.entries()) {
      expect(await readSha256(await store().get(key))).toBe(sha256(bytes[index] ?? Buffer.alloc(0)));
    }
    for (const key of [fails, stops]) expect(await store().stat(key)).toBeUndefined();
    expect(await store().putAll([])).toEqual([]);
  });

  test('keeps more objects than it stores at a time', async () => {
    const keys = newBatch(150);
    expect((await putBatch(keys)).every(({ status }) => status === 'fulfilled')).toBe(true);
    for (const key of keys) expect(await readSha256(await store().get(key))).toBe(sha256(Buffer.from(key)));
  });

  test('describes the objects of a batch, and replaces the description of one', async () => {
    const workspaceId = newWorkspaceId();
    const keys = newBatch(3, workspaceId);
    const [first = '', second = '', third = ''] = keys;
    await putBatch(keys);
    await describeBatch([first, second]);
    await store().describe(second, { path: 'new' });
    expect(await store().readDescription(first)).toEqual({ path: `/${first}`, text: '\n["a",{' });
    expect(await store().readDescription(second)).toEqual({ path: 'new' });
    expect(await store().readDescription(third)).toBeUndefined();
    const listed = await listAll(store(), workspacePrefix(workspaceId));
    expect(listed.map(({ key }) => key)).toEqual([...keys].sort());
    expect(listed.every(({ isDescribed }) => isDescribed)).toBe(true);
    expect(await listAll(store(), first)).toMatchObject([{ key: first, isDescribed: true }]);
    expect((await putBatch(newBatch(1, workspaceId)))[0]?.status).toBe('fulfilled');
    const last = (await listAll(store(), workspacePrefix(workspaceId))).filter(({ key }) => !keys.includes(key));
    expect(last).toMatchObject([{ isDescribed: false }]);
  });

  test('describes a batch whose descriptions are too long together', async () => {
    const keys = newBatch(5);
    await putBatch(keys);
    const long = (key: string) => ({ path: key.padEnd(300_000, 'x') });
    await store().describeTogether(new Map(keys.map((key) => [key, long(key)])));
    for (const key of keys) expect(await store().readDescription(key)).toEqual(long(key));
  });

  test('refuses to describe objects of no batch, or of two', async () => {
    for (const keys of [[], [newKey()], [...newBatch(1), ...newBatch(1)]]) {
      await expect(describeBatch(keys)).rejects.toMatchObject({ code: 'invalid-key', retryable: false });
    }
  });

  test('leaves nothing of a deleted object in what its batch shares', async () => {
    const workspaceId = newWorkspaceId();
    const keys = newBatch(4, workspaceId);
    const [first = '', second = '', third = '', fourth = ''] = keys;
    await putBatch(keys);
    await describeBatch([first, second, third]);
    await store().describe(third, { path: 'new' });
    // A copy of the same bytes, which has no description.
    await store().delete(fourth);
    expect(await store().readDescription(fourth)).toBeUndefined();
    await store().delete(first);
    await store().delete(first);
    expect(await store().readDescription(first)).toBeUndefined();
    expect(await store().readDescription(second)).toEqual({ path: `/${second}`, text: '\n["a",{' });
    expect(await store().readDescription(third)).toEqual({ path: 'new' });
    const listed = await listAll(store(), workspacePrefix(workspaceId));
    expect(listed).toMatchObject([{ isDescribed: true }, { isDescribed: true }]);
    for (const key of [second, third]) await store().delete(key);
    expect(await isAnyDescribed(workspaceId, keys)).toBe(false);
  });

  test('leaves no description when all objects of a batch are deleted concurrently', async () => {
    const workspaceId = newWorkspaceId();
    const keys = newBatch(20, workspaceId);
    await putBatch(keys);
    await describeBatch(keys);
    await Promise.all(keys.slice(0, -1).map((key) => store().delete(key)));
    const [rest = ''] = keys.slice(-1);
    expect(await store().readDescription(rest)).toEqual({ path: `/${rest}`, text: '\n["a",{' });
    await store().delete(rest);
    expect(await isAnyDescribed(workspaceId, keys)).toBe(false);
  });

  test('deletes everything of a workspace', async () => {
    const workspaceId = newWorkspaceId();
    const neighbour = newKey(`${workspaceId}0`);
    const keys = [...newBatch(3, workspaceId), newKey(workspaceId)];
    await putBatch([...keys, neighbour]);
    await describeBatch(keys.slice(0, 3));
    await store().describe(keys[3] ?? '', { path: '/a' });
    await store().deleteAll(workspacePrefix(workspaceId));
    expect(await isAnyDescribed(workspaceId, keys)).toBe(false);
    expect(await store().stat(neighbour)).toBeDefined();
  });
}

function describeUnfinishedPuts(fixture: () => RawStoreFixture): void {
  async function expectNothingAt(key: string): Promise<void> {
    const { store, listUnfinishedPuts } = fixture();
    expect(await store.stat(key)).toBeUndefined();
    expect(await listAll(store, key)).toEqual([]);
    expect(await listUnfinishedPuts()).toEqual([]);
  }

  test.each([0, 1, 9 * MIB, 17 * MIB])('a body that throws after %i bytes leaves nothing', async (sizeBytes) => {
    const key = newKey();
    const bodyError = new Error('the client went away');
    const body = async function* () {
      yield* chunksOf(randomBytes(sizeBytes));
      throw bodyError;
    };
    await expect(fixture().store.put(key, body())).rejects.toBe(bodyError);
    await expectNothingAt(key);
  });

  test('nothing is left of what a put had begun when its body threw', async () => {
    const body = async function* () {
      yield Buffer.from('x');
      throw new Error('the client went away');
    };
    for (let n = 0; n < 400; n += 1) await expect(fixture().store.put(newKey(), body())).rejects.toThrow('went away');
    await delay(50);
    expect(await fixture().listUnfinishedPuts()).toEqual([]);
  });

  test.each([0, 1, 9 * MIB, 17 * MIB])(
    'an abort after %i bytes of a stalled body leaves nothing',
    async (sizeBytes) => {
      const key = newKey();
      const abort = new AbortController();
      const reason = new Error('shutting down');
      const body = async function* () {
        yield* chunksOf(randomBytes(sizeBytes));
        setTimeout(() => abort.abort(reason), 20);
        await new Promise(() => {});
      };
      await expect(fixture().store.put(key, body(), { signal: abort.signal })).rejects.toBe(reason);
      await expectNothingAt(key);
    },
  );

  test('an abort at the end of the body leaves nothing', async () => {
    for (const sizeBytes of [1, 9 * MIB]) {
      const key = newKey();
      const abort = new AbortController();
      const reason = new Error('shutting down');
      const body = async function* () {
        yield* chunksOf(randomBytes(sizeBytes));
        queueMicrotask(() => abort.abort(reason));
      };
      await expect(fixture().store.put(key, body(), { signal: abort.signal })).rejects.toBe(reason);
      await expectNothingAt(key);
    }
  });

  test('an aborted signal starts nothing', async () => {
    const key = newKey();
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(fixture().store.put(key, chunksOf(randomBytes(1)), { signal })).rejects.toBe(signal.reason);
    await expect(fixture().store.get(key, { signal })).rejects.toBe(signal.reason);
    await expectNothingAt(key);
  });

  test('an abort ends a download', async () => {
    const key = newKey();
    const abort = new AbortController();
    await fixture().store.put(key, chunksOf(randomBytes(8 * MIB)));
    const stream = await fixture().store.get(key, { signal: abort.signal });
    const read = async () => {
      for await (const _chunk of stream) abort.abort();
    };
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' });
  });

  test.each([1, 20 * MIB])('a put of %i bytes is not visible before it is complete', async (sizeBytes) => {
    const key = newKey();
    const { store } = fixture();
    const atEnd = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const body = async function* () {
      yield* chunksOf(randomBytes(sizeBytes));
      atEnd.resolve();
      await mayEnd.promise;
    };
    const put = store.put(key, body());
    await atEnd.promise;
    await delay(100);
    expect(await store.stat(key)).toBeUndefined();
    expect(await listAll(store, key)).toEqual([]);
    await expect(store.get(key)).rejects.toMatchObject({ code: 'not-found' });
    mayEnd.resolve();
    await put;
    expect(await store.stat(key)).toMatchObject({ sizeBytes });
  });
}

function describeRefusals(store: () => RawStore): void {
  const refused = { code: 'invalid-key', retryable: false };

  test.each([
    ['an empty key', ''],
    ['a parent segment', '../outside'],
    ['a parent segment within', 'workspaces/../../outside'],
    ['an absolute path', '/etc/passwd'],
    ['an empty segment', 'workspaces//x'],
    ['a slash at the end', 'workspaces/'],
    ['a hidden segment', '.incoming/x'],
    ['a backslash', 'workspaces\\x'],
    ['a NUL', 'workspaces/x\0'],
    ['a line break', 'workspaces/x\n'],
    ['a space', 'workspaces/a b'],
    ['a letter beyond ASCII', 'workspaces/é'],
    ['a percent sign', 'workspaces/%2e%2e'],
    ['a segment too long', `workspaces/${'x'.repeat(200)}`],
    ['a key too long', `${'x/'.repeat(400)}x`],
  ])('refuses %s', async (_label, key) => {
    await expect(store().put(key, chunksOf(Buffer.from('x')))).rejects.toMatchObject(refused);
    await expect(store().get(key)).rejects.toMatchObject(refused);
    await expect(store().stat(key)).rejects.toMatchObject(refused);
    await expect(store().delete(key)).rejects.toMatchObject(refused);
  });

  test.each(['..', '/', '.incoming/', 'workspaces/../'])('refuses to list %j', async (prefix) => {
    await expect(listAll(store(), prefix)).rejects.toMatchObject(refused);
  });
}

let sequence = Date.now();

/** A ULID of decimal digits that sorts by number. */
const ulidOf = (number: number): string => String(number).padStart(26, '0');
const newWorkspaceId = (): string => `contract-${++sequence}`;
const newKey = (workspaceId = newWorkspaceId()): string =>
  rawObjectKey({ workspaceId, transcriptId: ulidOf(++sequence) });

async function* chunksOf(bytes: Uint8Array, chunkBytes = 65_536): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes);
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function readSha256(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of stream) hash.update(chunk);
  return hash.digest('hex');
}

async function listAll(store: RawStore, prefix: string): Promise<ListedObject[]> {
  const objects: ListedObject[] = [];
  for await (const object of store.list(prefix)) objects.push(object);
  return objects.sort((a, b) => (a.key < b.key ? -1 : 1));
}

async function inBatches<T>(
  items: T[],
  size: number,
  run: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  for (let start = 0; start < items.length; start += size) {
    await Promise.all(items.slice(start, start + size).map((item, n) => run(item, start + n)));
  }
}
