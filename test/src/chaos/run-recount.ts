import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../../apps/cli/bin/recount.mjs', import.meta.url));

export interface RecountResult {
  /** Null where a signal ended it. */
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `recount …` to its end. `launcher` is a command that runs it. */
export async function runRecount(
  commandArguments: readonly string[],
  environment: Record<string, string>,
  onStart: (pid: number | undefined) => void = () => {},
  launcher: readonly string[] = [],
): Promise<RecountResult> {
  const [command = process.execPath, ...parameters] = [...launcher, process.execPath, CLI, ...commandArguments];
  const child = spawn(command, parameters, {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onStart(child.pid);
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { exitCode, stdout, stderr };
}
