import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  describeHolder,
  describeSelf,
  isProcessLockHeld,
  isVisible,
  type ProcessLock,
  ProcessLockError,
  readLockHolder,
  takeProcessLock,
} from './process-lock.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-process-lock-'));
  path = join(directory, 'some.lock');
});
afterEach(() => rm(directory, { recursive: true }));

/** A program that another test starts holds every descriptor for the moment between fork and exec, and thus a lock. */
const take = (): Promise<ProcessLock> =>
  vi.waitFor(() => {
    const lock = takeProcessLock(path);
    if (lock === undefined) throw new Error('held');
    return lock;
  });

describe('a process lock', () => {
  test('is held once, with a note of its holder, until it is released', async () => {
    expect(isProcessLockHeld(path)).toBe(false);
    await writeFile(path, 'x'.repeat(1000));
    const lock = await take();
    expect(takeProcessLock(path)).toBeUndefined();
    expect(isProcessLockHeld(path)).toBe(true);
    expect(readLockHolder(path)).toEqual({ ...describeSelf(), pid: process.pid });
    lock.release();
    lock.release();
    await expect.poll(() => isProcessLockHeld(path)).toBe(false);
    (await take()).remove();
    expect(await readdir(directory)).toEqual([]);
  });

  test('lasts as long as a child that inherited it, and ends with a SIGKILL', async () => {
    const lock = await take();
    const child = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', lock.fd] });
    await once(child, 'spawn');
    lock.release();
    expect(takeProcessLock(path)).toBeUndefined();
    child.kill('SIGKILL');
    await once(child, 'exit');
    (await take()).release();
  });

  test('is not taken on a file that its holder has deleted', async () => {
    const lock = await take();
    await rm(path);
    const other = await take();
    lock.release();
    expect(takeProcessLock(path)).toBeUndefined();
    expect(await readFile(path, 'utf8')).toContain(`"pid":${process.pid}`);
    other.release();
  });

  test.each(['ENOLCK', 'ENOTSUP'])('is refused if the file system answers %s', (code) => {
    const tryLock = () => {
      throw Object.assign(new Error('no'), { code });
    };
    expect(() => takeProcessLock(path, { tryLock })).toThrow(ProcessLockError);
    expect(() => takeProcessLock(path, { tryLock })).toThrow(
      `The file system of ${path} has no file locks (${code}), without which two servers could write the same data. Put RECOUNT_DATA_DIR on a local disk.`,
    );
  });
});

describe('a holder', () => {
  const self = { pid: 1, hostName: 'ada', bootId: 'a', pidNamespace: 'pid:[1]' };

  test.each([
    ['in the same PID namespace', self, true],
    ['on a host that was renamed', { ...self, hostName: 'bob' }, true],
    ['in another PID namespace', { ...self, pidNamespace: 'pid:[2]' }, false],
    ['of another boot, or on another machine', { ...self, bootId: 'b' }, false],
    ['on a machine without boot ids', { pid: 1, hostName: 'ada' }, false],
  ])('%s has the visibility %j', (_name, holder, expected) => {
    expect(isVisible(holder, self)).toBe(expected);
  });

  test('is identified by its host name if there are no boot ids', () => {
    expect(isVisible({ pid: 1, hostName: 'ada' }, { pid: 2, hostName: 'ada' })).toBe(true);
    expect(isVisible({ pid: 1, hostName: 'bob' }, { pid: 2, hostName: 'ada' })).toBe(false);
  });

  test('is described with all its known facts', () => {
    expect(describeHolder(self)).toBe('process 1 on host ada (boot a, PID namespace pid:[1])');
    expect(describeHolder({ pid: 1, hostName: 'ada' })).toBe('process 1 on host ada');
  });

  test.each(['', '{"pid":', 'null', '[]', '{"pid":"1","hostName":"ada"}'])(
    'is unknown if the note is %j',
    async (note) => {
      await writeFile(path, note);
      expect(readLockHolder(path)).toBeUndefined();
    },
  );
});
