import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRawStore } from './create-raw-store.ts';
import { createFolderRawStore } from './folder-raw-store.ts';
import type { RawStore } from './raw-store.ts';
import { describeRawStoreContract } from './testing/raw-store-contract.ts';

const KEY = 'workspaces/acme/transcripts/01JABCDEFGHJKMNPQRSTVWXYZ0.jsonl';

const makeDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'recount-raw-store-'));

async function* bodyOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function listKeys(store: RawStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list('')) keys.push(key);
  return keys;
}

describeRawStoreContract('folder', async () => {
  const parent = await makeDirectory();
  const directory = join(parent, 'not', 'yet', 'there');
  return {
    store: createFolderRawStore({ directory }),
    listUnfinishedPuts: () => readdir(join(directory, '.incoming')).catch(() => []),
    stop: () => rm(parent, { recursive: true }),
  };
});

describe('folder raw store', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await makeDirectory();
  });
  afterEach(() => rm(directory, { recursive: true }));

  test('answers immediately that an object is missing if something else than a file is in its place', async () => {
    const store = createFolderRawStore({ directory });
    await store.put(KEY, bodyOf('x'));
    await rm(join(directory, KEY));
    execFileSync('mkfifo', [join(directory, KEY)]);
    await expect(store.get(KEY)).rejects.toMatchObject({ name: 'RawStoreError', code: 'not-found' });
    expect(await store.stat(KEY)).toBeUndefined();
    await store.put(KEY, bodyOf('healed'));
    expect(await store.stat(KEY)).toMatchObject({ sizeBytes: 6 });
  });

  test('is private to its owner', async () => {
    const store = createFolderRawStore({ directory: join(directory, 'raw') });
    await store.put(KEY, bodyOf('x'));
    const modeOf = async (path: string) => ((await stat(join(directory, path))).mode & 0o777).toString(8);
    expect(await modeOf('raw')).toBe('700');
    expect(await modeOf('raw/.incoming')).toBe('700');
    expect(await modeOf('raw/workspaces/acme/transcripts')).toBe('700');
    expect(await modeOf(`raw/${KEY}`)).toBe('600');
  });

  test('serves the folder of a file URL', async () => {
    await (await createRawStore(pathToFileURL(directory).href)).put(KEY, bodyOf('from a URL'));
    expect(await (await createRawStore(directory)).stat(KEY)).toMatchObject({ sizeBytes: 10 });
  });

  test('lists neither temporary nor foreign files', async () => {
    const store = createFolderRawStore({ directory });
    await store.put(KEY, bodyOf('x'));
    await writeFile(join(directory, '.incoming', 'left-by-a-crash'), 'half');
    await writeFile(join(directory, '.hidden'), '');
    await writeFile(join(directory, 'workspaces', 'not a key'), '');
    expect(await listKeys(store)).toEqual([KEY]);
  });

  test('removes temporary files that have not been written to for a while', async () => {
    const store = createFolderRawStore({ directory });
    expect(await store.abortStaleUploads(0)).toBe(0);
    await store.check();
    const incoming = join(directory, '.incoming');
    await writeFile(join(incoming, 'old'), 'half');
    await writeFile(join(incoming, 'new'), 'half');
    const anHourAgo = new Date(Date.now() - 3_600_000);
    await utimes(join(incoming, 'old'), anHourAgo, anHourAgo);
    expect(await store.abortStaleUploads(60_000)).toBe(1);
    expect(await readdir(incoming)).toEqual(['new']);
  });

  test('treats a folder in place of an object as no object', async () => {
    const store = createFolderRawStore({ directory });
    await mkdir(join(directory, KEY), { recursive: true });
    await expect(store.get(KEY)).rejects.toMatchObject({ code: 'not-found' });
    expect(await store.stat(KEY)).toBeUndefined();
    await expect(store.get(`${KEY}/below`)).rejects.toMatchObject({ code: 'not-found' });
  });

  test('check() and put() fail if the location is a file', async () => {
    const file = join(directory, 'file');
    await writeFile(file, '');
    for (const location of [file, join(file, 'below')]) {
      const store = createFolderRawStore({ directory: location });
      await expect(store.check()).rejects.toMatchObject({ code: 'store-missing', retryable: true });
      await expect(store.put(KEY, bodyOf('x'))).rejects.toMatchObject({ code: 'store-missing' });
    }
  });

  test.skipIf(process.getuid?.() === 0)('check() and put() fail if the folder is not writable', async () => {
    await chmod(directory, 0o500);
    const store = createFolderRawStore({ directory });
    await expect(store.check()).rejects.toMatchObject({ code: 'denied', retryable: true });
    await expect(store.put(KEY, bodyOf('x'))).rejects.toMatchObject({ code: 'denied' });
  });

  test('check() leaves nothing behind', async () => {
    await createFolderRawStore({ directory }).check();
    expect(await readdir(join(directory, '.incoming'))).toEqual([]);
  });
});
