import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runProgram, toBaseEnvironment } from './run-program.ts';

const start = (script: string, timeoutMs = 60_000, kill?: AbortSignal) =>
  runProgram({
    command: [process.execPath, '-e', script],
    arguments: ['argument'],
    cwd: import.meta.dirname,
    environment: toBaseEnvironment('/nowhere'),
    timeoutMs,
    kill,
  });
const FOREVER = 'setInterval(() => undefined, 1_000)';

it('returns what a program printed, and how it ended', async () => {
  const run = await start('console.log(process.env.HOME, process.argv[1]); console.error("no"); process.exit(3)');
  expect(run).toEqual({ exitCode: 3, stdout: '/nowhere argument\n', stderr: 'no\n', isLate: false });
});

it('ends a program at its deadline, and one that must be killed', async () => {
  expect(await start(FOREVER, 50)).toMatchObject({ exitCode: null, isLate: true });
  const killed = new AbortController();
  setTimeout(() => killed.abort(), 50);
  expect(await start(FOREVER, 60_000, killed.signal)).toMatchObject({ exitCode: null, isLate: false });
});

it.runIf(process.platform === 'linux')('ends what a program leaves running in a separate session', async () => {
  const daemon = `const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(FOREVER)}], { detached: true, stdio: 'ignore' });
    child.unref();
    console.log(child.pid);`;
  const { stdout } = await start(daemon);
  const isRunning = () => /\) [^Z]/.test(readStat(Number(stdout)));
  await expect.poll(isRunning).toBe(false);
});

/** Empty once the process is gone. */
function readStat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}

it('lets programs reach nothing but loopback', () => {
  const { PATH: _, ...environment } = toBaseEnvironment('/nowhere');
  expect(environment).toMatchObject({ HOME: '/nowhere', https_proxy: 'http://127.0.0.1:9' });
  expect(environment.NO_PROXY).toBe('127.0.0.1,localhost,::1');
  expect(Object.keys(environment).some((name) => /KEY|TOKEN|SECRET/.test(name))).toBe(false);
});
