import type { FileHandle } from 'node:fs/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

/** File system calls, in order. */
const calls = vi.hoisted((): { call: string; path: string }[] => []);

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  const record = (call: string, path: unknown): void => void calls.push({ call, path: String(path) });
  const watch = (handle: FileHandle, path: unknown): FileHandle => {
    const { sync, writeFile } = handle;
    handle.writeFile = async (...options) => {
      await writeFile.apply(handle, options);
      record('write', path);
    };
    handle.sync = async () => {
      await sync.call(handle);
      record('sync', path);
    };
    return handle;
  };
  return {
    ...original,
    open: async (...options: Parameters<typeof original.open>) => watch(await original.open(...options), options[0]),
    rename: async (from: string, to: string) => {
      await original.rename(from, to);
      record('rename', to);
    },
    unlink: async (path: string) => {
      await original.unlink(path);
      record('unlink', path);
    },
  };
});

const { createFolderRawStore } = await import('./folder-raw-store.ts');

const FOLDER = 'workspaces/acme/transcripts';
const KEY = `${FOLDER}/01JABCDEFGHJKMNPQRSTVWXYZ0.jsonl`;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-syncs-'));
  calls.length = 0;
});
afterEach(() => rm(directory, { recursive: true }));

/** By role, in place of their random names. */
function takeCalls(): string[] {
  return calls.splice(0).map(({ call, path }) => {
    const name = relative(directory, path);
    return `${call} ${name.startsWith('.incoming/') ? 'temporary' : name || 'root'}`;
  });
}

async function* bodyOf(...sizes: number[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) yield Buffer.alloc(size, 'x');
}

describe('a put survives a power cut', () => {
  test.each([
    ['in one piece', [100], ['write temporary', 'sync temporary']],
    ['in several', [600_000, 600_000, 1], ['write temporary', 'write temporary', 'sync temporary']],
  ])('%s syncs the file before the rename, and the folder afterwards', async (_label, sizes, written) => {
    const store = createFolderRawStore({ directory });
    await store.put(KEY, bodyOf(1));
    takeCalls();
    await store.put(KEY, bodyOf(...sizes));
    expect(takeCalls()).toEqual([...written, `rename ${KEY}`, `sync ${FOLDER}`]);
  });

  test('several objects are written first, then each is synced once, then their folder', async () => {
    const store = createFolderRawStore({ directory });
    await store.put(KEY, bodyOf(1));
    takeCalls();
    const keys = ['1', '2', '3'].map((end) => KEY.replace('0.jsonl', `${end}.jsonl`));
    await store.putAll(keys.map((key) => ({ key, body: bodyOf(100) })));
    const order = takeCalls();
    expect(order.slice(0, 3)).toEqual(Array(3).fill('write temporary'));
    expect(order.filter((call) => call === 'sync temporary')).toHaveLength(3);
    expect(order.filter((call) => call.startsWith('rename ')).sort()).toEqual(keys.map((key) => `rename ${key}`));
    expect(order.slice(9)).toEqual([`sync ${FOLDER}`]);
  });

  test('the parent folders’ entries are synced before the folder’s own', async () => {
    const store = createFolderRawStore({ directory });
    await store.put(KEY, bodyOf(1));
    const order = takeCalls();
    const renamed = order.indexOf(`rename ${KEY}`);
    for (const folder of ['root', 'workspaces', 'workspaces/acme']) {
      const synced = order.lastIndexOf(`sync ${folder}`, renamed);
      expect([folder, synced >= 0]).toEqual([folder, true]);
    }
    expect(order.slice(renamed)).toEqual([`rename ${KEY}`, `sync ${FOLDER}`]);
  });

  test('syncs the folder of a deleted object', async () => {
    const store = createFolderRawStore({ directory });
    await store.put(KEY, bodyOf(1));
    takeCalls();
    await store.delete(KEY);
    expect(takeCalls()).toEqual([`unlink ${KEY}`, `sync ${FOLDER}`]);
  });
});
