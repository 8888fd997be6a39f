import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { signalOnce, toSignalPipe } from './windows-signals.ts';

test('names the pipe as PostgreSQL does', () => {
  expect(toSignalPipe(324)).toBe(String.raw`\\.\pipe\pgsignal_324`);
});

test('writes the number of a signal, and reports if nothing listens', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'recount-signals-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const pipe = join(directory, 'pgsignal_324');
  expect(signalOnce(324, 'SIGINT', pipe)).toBe(false);
  for (const [signal, byte] of [['SIGINT', 2] as const, ['SIGQUIT', 3] as const, ['nothing', 0] as const]) {
    await writeFile(pipe, '');
    expect(signalOnce(324, signal, pipe)).toBe(true);
    expect([...(await readFile(pipe))]).toEqual([byte]);
  }
  // Writing to a folder fails, so unknown errors do not count as an answer.
  expect(() => signalOnce(324, 'SIGINT', directory)).toThrow('EISDIR');
});
