import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { acquireLock, findRunning, type InstallationLock } from './installation-lock.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-lock-'));
  path = join(directory, 'running.json');
});
afterEach(() => rm(directory, { recursive: true }));

const place = { url: 'http://127.0.0.1:7878', databaseUrl: 'postgres://…', rawStore: '/raw' };

/** A program that another test starts holds every descriptor for the moment between fork and exec, and thus a lock. */
const acquire = (): Promise<InstallationLock> =>
  vi.waitFor(async () => {
    const lock = await acquireLock(path);
    if (lock === undefined) throw new Error('held');
    return lock;
  });

describe('the lock of a data directory', () => {
  it('belongs to one process, which says where the installation is', async () => {
    const lock = await acquire();
    expect(await findRunning(path)).toEqual({ pid: process.pid });
    expect(await acquireLock(path)).toBeUndefined();
    await lock.publish(place);
    expect(await findRunning(path)).toEqual({ pid: process.pid, ...place });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await lock.withdraw();
    expect((await findRunning(path))?.url).toBeUndefined();
    await lock.release();
    await expect.poll(() => findRunning(path)).toBeUndefined();
    expect(await readdir(directory)).toEqual(['running.json.lock']);
    await (await acquire()).release();
  });

  it('goes to one of many, whatever a killed process left behind', async () => {
    await writeFile(path, JSON.stringify({ pid: process.pid, ...place }));
    await writeFile(`${path}.lock`, '{"pid":');
    expect(await findRunning(path)).toBeUndefined();
    const locks = await Promise.all(Array.from({ length: 20 }, () => acquireLock(path)));
    expect(locks.filter((lock) => lock !== undefined)).toHaveLength(1);
    expect(await findRunning(path)).toEqual({ pid: process.pid });
  });

  it('is not held by processes that only ask for it', async () => {
    const asking = Array.from({ length: 20 }, () => findRunning(path));
    const lock = await acquire();
    // Those that look afterwards see its holder, which is this process.
    for (const found of await Promise.all(asking)) expect([undefined, process.pid]).toContain(found?.pid);
    await lock.release();
  });

  it('says where to look for a holder that is not visible from here', async () => {
    const lock = await acquire();
    const other = { pid: 7, hostName: 'elsewhere', bootId: 'another', pidNamespace: 'pid:[1]' };
    await writeFile(`${path}.lock`, JSON.stringify(other));
    await expect(findRunning(path, 50)).rejects.toThrow(
      /is run by process 7 on host elsewhere \(boot another, PID namespace pid:\[1\]\), which is not visible.*stop recount there.*RECOUNT_DATA_DIR/,
    );
    await lock.release();
  });
});
