import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Installation } from './installation.ts';
import { runRecount } from './run-recount.ts';

/** Like a second container on the same volume. The process ends with `unshare`. */
const NAMESPACES = ['unshare', '--pid', '--ipc', '--fork', '--mount-proc', '--kill-child'];
const UNSEEN = /is not visible from here/;
/** A rejected rival ends by itself. */
const TIMEOUT_MS = 120_000;
/** Process, folder, start, port; later lines change while the server recovers. */
const LASTING_LINES = 4;

export function canStartRival(): boolean {
  const [command = '', ...parameters] = NAMESPACES;
  const isAllowed = process.getuid?.() === 0 && spawnSync(command, [...parameters, 'true']).status === 0;
  if (!isAllowed) console.log('left out: a rival in another PID namespace, for which it takes root and unshare');
  return isAllowed;
}

/** Runs `recount up` on the same cluster without seeing its server; returns what it could do but should not. */
export async function startRival({ directory, postgres }: Installation): Promise<string[]> {
  const { directory: ofPostgres } = postgres;
  if (ofPostgres === undefined) throw new Error('A cluster has no server to rival');
  const readPostmaster = async (): Promise<string> =>
    (await readFile(join(ofPostgres, 'cluster/data/postmaster.pid'), 'utf8'))
      .split('\n')
      .slice(0, LASTING_LINES)
      .join(' ');
  await postgres.ensureRunning();
  const before = await readPostmaster();
  let timer: NodeJS.Timeout | undefined;
  const { exitCode, stderr } = await runRecount(
    ['up', '--port', '0'],
    { HOME: directory, RECOUNT_DATA_DIR: directory },
    (pid) => {
      timer = setTimeout(() => pid !== undefined && process.kill(pid, 'SIGKILL'), TIMEOUT_MS);
    },
    NAMESPACES,
  );
  clearTimeout(timer);
  const after = await readPostmaster().catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
  const failures: string[] = [];
  if (exitCode !== 1 || !UNSEEN.test(stderr)) {
    failures.push(`a rival on the cluster was not refused, but ended with ${exitCode}: ${stderr.slice(-1000)}`);
  }
  if (after !== before) failures.push(`a rival changed postmaster.pid from "${before}" to "${after}"`);
  return failures;
}
