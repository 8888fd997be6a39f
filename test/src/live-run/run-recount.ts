import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../../apps/cli/bin/recount.mjs', import.meta.url));
const FAKE_AGENT = fileURLToPath(new URL('fake-agent.mjs', import.meta.url));

export interface Recount {
  child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** `stderr` without the line that says where it records. */
  ended: Promise<{ exitCode: number | null; signal: string | null; stdout: string; stderr: string }>;
}

/** A folder of commands named after agents, all the same fake one. */
export async function createFakeAgents(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const name of ['claude', 'codex', 'amp', 'unknown-agent']) {
    const script = `#!/bin/sh\nexec "${process.execPath}" "${FAKE_AGENT}" "$@"\n`;
    await writeFile(join(folder, name), script, { mode: 0o755 });
  }
  return folder;
}

/** A file that pauses fake agents in the middle of their streams, until `letGo` removes it, or for a minute. */
export async function holdAgents(
  home: string,
): Promise<{ environment: Record<string, string>; letGo(): Promise<void> }> {
  const path = join(home, 'hold');
  await writeFile(path, '');
  return { environment: { FAKE_HOLD: path, FAKE_DELAY_MS: '10' }, letGo: () => rm(path) };
}

/** Starts `recount` in a separate home, with the fake agents first in PATH. `stdin` is a file, or `pipe`. */
export function startRecount(
  home: string,
  commandArguments: readonly string[],
  environment: Record<string, string> = {},
  stdin?: string,
): Recount {
  const child = spawn(process.execPath, [CLI, ...commandArguments], {
    cwd: home,
    env: { PATH: `${join(home, 'bin')}:${process.env.PATH}`, HOME: home, TZ: 'UTC', ...environment },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    // In a terminal's foreground it would rely on the terminal to send SIGINT to the agent.
    detached: true,
  });
  if (stdin !== undefined && stdin !== 'pipe' && child.stdin !== null) createReadStream(stdin).pipe(child.stdin);
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk;
    });
  }
  return {
    child,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    ended: once(child, 'close').then(([exitCode, signal]) => {
      const stderr = text.stderr.replace(/^recount: records for .*\n/, '');
      return { exitCode, signal, stdout: text.stdout, stderr };
    }),
  };
}

/** Far longer than anything takes, even on a machine under ten times its load. */
const WAIT_MS = 300_000;

export async function waitUntil(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadlineMs) throw new Error(`Waited in vain: ${what}`);
    await sleep(20);
  }
}
