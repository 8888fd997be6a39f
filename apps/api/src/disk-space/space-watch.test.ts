import type { StoreSpace } from '@recount/storage';
import { describe, expect, it } from 'vitest';
import { createSpaceWatch } from './space-watch.ts';

const LIMITS = { lowBytes: 1000, minFreeBytes: 100, databaseDirectory: undefined };
const DATABASE_FULL = new Error('Failed query', { cause: Object.assign(new Error('why'), { code: '53100' }) });

const createWatch = (freeBytes: number | undefined, nowMs = () => 0) => {
  const space: StoreSpace | undefined = freeBytes === undefined ? undefined : { freeBytes, totalBytes: 10_000 };
  return createSpaceWatch({ rawStore: { readSpace: async () => space }, nowMs }, LIMITS);
};

describe('createSpaceWatch', () => {
  it.each([
    [1000, 'ok'],
    [999, 'low'],
    [100, 'low'],
    [99, 'full'],
    [undefined, 'unknown'],
  ] as const)('rates %s free bytes as %s', async (freeBytes, rating) => {
    const watch = createWatch(freeBytes);
    expect(watch.rate(await watch.read())).toEqual({ raw_store: rating, database: 'unknown' });
  });

  it('refuses uploads that would leave too little space, and none if the space is unknown', async () => {
    await expect(createWatch(99).assertRoom()).rejects.toMatchObject({ slug: 'store-full', statusCode: 507 });
    await expect(createWatch(300).assertRoom(201)).rejects.toMatchObject({ slug: 'store-full' });
    await createWatch(300).assertRoom(200);
    await createWatch(undefined).assertRoom(1e12);
  });

  it('refuses uploads for lack of space in the database, if its directory is configured', async () => {
    const config = { lowBytes: 2 ** 60, minFreeBytes: 2 ** 60, databaseDirectory: import.meta.dirname };
    const watch = createSpaceWatch({ rawStore: { readSpace: async () => undefined } }, config);
    await expect(watch.assertRoom()).rejects.toMatchObject({ slug: 'database-full', headers: { 'retry-after': '30' } });
    expect(watch.rate(await watch.read())).toMatchObject({ database: 'full' });
  });

  it('refuses uploads for a moment after the database ran out of space', async () => {
    let nowMs = 0;
    const watch = createWatch(5000, () => nowMs);
    watch.noteFailure(new Error('any other'));
    await watch.assertRoom();
    watch.noteFailure(DATABASE_FULL);
    await expect(watch.assertRoom()).rejects.toMatchObject({ slug: 'database-full', statusCode: 503 });
    nowMs = 5000;
    await watch.assertRoom();
  });

  it('treats an unreadable file system as unknown', async () => {
    const readSpace = () => Promise.reject(new Error('EIO'));
    const watch = createSpaceWatch({ rawStore: { readSpace } }, LIMITS);
    expect(watch.rate(await watch.read())).toEqual({ raw_store: 'unknown', database: 'unknown' });
  });
});
