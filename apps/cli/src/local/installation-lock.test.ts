import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireLock, findRunning, type InstallationLock } from './installation-lock.ts';
import { readProcessIdentity } from './process-identity.ts';

let directory: string;
let path: string;
let other: ChildProcess;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-lock-'));
  path = join(directory, 'running.json');
  other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  await once(other, 'spawn');
});
afterEach(async () => {
  other.kill('SIGKILL');
  await rm(directory, { recursive: true });
});

async function acquire(): Promise<InstallationLock> {
  const lock = await acquireLock(path);
  if (!('release' in lock)) throw new Error('held');
  return lock;
}
const otherPid = (): number => other.pid ?? 0;
const isHeld = async (): Promise<boolean> => !('release' in (await acquireLock(path)));

describe('the lock of a data directory', () => {
  it('is held by one, who says where the installation is', async () => {
    const lock = await acquire();
    expect(await findRunning(path)).toMatchObject({ pid: process.pid });
    expect(await isHeld()).toBe(true);
    await lock.publish({ url: 'http://127.0.0.1:7878', databaseUrl: 'postgres://…', rawStore: '/raw' });
    expect(await findRunning(path)).toMatchObject({ url: 'http://127.0.0.1:7878', rawStore: '/raw' });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await lock.withdraw();
    expect((await findRunning(path))?.url).toBeUndefined();
    await lock.release();
    expect(await findRunning(path)).toBeUndefined();
    expect(await readdir(directory)).toEqual([]);
    await (await acquire()).release();
  });

  it('is taken by one of many', async () => {
    const locks = await Promise.all(Array.from({ length: 20 }, () => acquireLock(path)));
    expect(locks.filter((lock) => 'release' in lock)).toHaveLength(1);
    expect(await readdir(directory)).toEqual(['running.json']);
  });

  it.each([
    ['of a process that is gone', async () => ({ pid: await deadPid(), processIdentity: 'x' })],
    ['of a number that another program has now', async () => ({ pid: otherPid(), processIdentity: 'another/1' })],
    ['cut short by a crash', async () => '{"pid":'],
    ['that is empty', async () => ''],
    ['that is no object', async () => 'null'],
  ])('%s is taken over, by one of many', async (_name, toContent) => {
    const content = await toContent();
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    expect(await findRunning(path)).toBeUndefined();
    const locks = await Promise.all(Array.from({ length: 20 }, () => acquireLock(path)));
    expect(locks.filter((lock) => 'release' in lock)).toHaveLength(1);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ pid: process.pid });
    expect(await readdir(directory)).toEqual(['running.json']);
  });

  it('of another living process is left alone', async () => {
    const processIdentity = await readProcessIdentity(otherPid());
    await writeFile(path, JSON.stringify({ pid: otherPid(), processIdentity }));
    expect(await isHeld()).toBe(true);
    other.kill('SIGKILL');
    await once(other, 'exit');
    expect(await isHeld()).toBe(false);
  });
});

describe('readProcessIdentity', () => {
  it('tells processes apart, and is undefined for none', async () => {
    const self = await readProcessIdentity(process.pid);
    expect(self).toBeTruthy();
    expect(await readProcessIdentity(process.pid)).toBe(self);
    expect(await readProcessIdentity(otherPid())).not.toBe(self);
    expect(await readProcessIdentity(await deadPid())).toBeUndefined();
  });
});

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  return child.pid ?? 0;
}
