import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../../apps/cli/bin/recount.mjs', import.meta.url));
const TIMEOUT_MS = 180_000;

/** Runs `recount` to its end; throws if it fails. */
export async function runRecount(
  words: readonly string[],
  environment: Record<string, string>,
  stdin = '',
): Promise<string> {
  const child = spawn(process.execPath, [CLI, ...words], {
    env: { PATH: process.env.PATH ?? '', TZ: 'UTC', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  child.stdin.on('error', () => undefined).end(stdin);
  const [stdout, stderr, [exitCode, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (exitCode !== 0) throw new Error(`recount ${words.join(' ')}: ${signal ?? exitCode}: ${stderr.slice(-1_000)}`);
  return stdout;
}
