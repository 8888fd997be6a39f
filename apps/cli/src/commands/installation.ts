import { readdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { type CliContext, note, print, START_COMMAND } from '../cli-context.ts';
import { CliError } from '../cli-error.ts';
import type { DataDirectory } from '../local/data-directory.ts';
import { formatPlaces } from '../local/format-installation.ts';
import { measureFolder } from '../local/measure-folder.ts';

const STOP_TIMEOUT_MS = 90_000;
const POLL_MS = 100;

export function createStopCommand(context: CliContext): Command {
  return new Command('stop')
    .description('Stop the local installation; unfinished work continues at the next start')
    .action(async () => {
      const { toDataDirectory } = await import('../local/data-directory.ts');
      const pid = await stop(toDataDirectory(context));
      note(context, pid === undefined ? 'recount is not running.' : `recount (process ${pid}) has stopped.`);
    });
}

export function createUninstallCommand(context: CliContext): Command {
  return new Command('uninstall')
    .description('Delete the local installation with all its data; lists it, and asks first')
    .option('--yes', 'delete without asking')
    .addHelpText(
      'after',
      `
Deletes database, raw transcripts, credentials and logs of the local installation, and what \`recount usage\`
remembers. The
transcripts that agents keep themselves stay, and so does this checkout.`,
    )
    .action((options: { yes?: boolean }) => uninstall(context, options.yes ?? false));
}

/** Returns the process that was running, undefined if there was none. Throws CliError if it does not end. */
async function stop(directory: DataDirectory): Promise<number | undefined> {
  const { findRunning } = await import('../local/installation-lock.ts');
  const running = await findRunning(directory.lock);
  if (running === undefined) return undefined;
  try {
    process.kill(running.pid, 'SIGTERM');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'ESRCH') throw new CliError(`Process ${running.pid} cannot be stopped (${code}).`, { cause });
  }
  const deadlineMs = performance.now() + STOP_TIMEOUT_MS;
  while ((await findRunning(directory.lock))?.pid === running.pid) {
    if (performance.now() > deadlineMs) throw new CliError(`Process ${running.pid} does not stop.`);
    await sleep(POLL_MS);
  }
  return running.pid;
}

async function uninstall(context: CliContext, isAgreed: boolean): Promise<void> {
  const [{ toDataDirectory }, { readNote }, { toUsageCache }, { confirm }] = await Promise.all([
    import('../local/data-directory.ts'),
    import('@recount/local-postgres'),
    import('../usage/cache-directory.ts'),
    import('../terminal/confirm.ts'),
  ]);
  const directory = toDataDirectory(context);
  const elsewhere = (await readNote(directory.postgres))?.directory;
  const cache = toUsageCache(context);
  const places = [
    { path: directory.path, what: 'data' },
    ...(elsewhere === undefined ? [] : [{ path: elsewhere, what: 'database' }]),
    ...(cache === undefined ? [] : [{ path: cache, what: 'what `recount usage` remembers' }]),
  ];
  const found: { path: string; what: string; bytes: number }[] = [];
  for (const place of places) {
    const isThere = await stat(place.path).then(
      () => true,
      () => false,
    );
    if (isThere) found.push({ ...place, bytes: await measureFolder(place.path) });
  }
  if (found.length === 0) return note(context, `There is nothing in ${directory.path}.`);
  await requireInstallation(directory);
  for (const line of formatPlaces(found)) print(context, line);
  if (!(await confirm(context, 'Delete all of this for good?', isAgreed))) return note(context, 'Nothing is deleted.');
  const pid = await stop(directory);
  if (pid !== undefined) note(context, `recount (process ${pid}) has stopped.`);
  for (const { path } of found) await rm(path, { recursive: true, force: true });
  note(context, `Deleted. Only the checkout or the package of recount is left; \`${START_COMMAND}\` starts over.`);
}

/** RECOUNT_DATA_DIR may name a wrong folder: only one created by recount is deleted. */
async function requireInstallation({ path, credentials, log, postgres }: DataDirectory): Promise<void> {
  const entries = await readdir(path).catch((): string[] => []);
  const own = [credentials, dirname(log), postgres].map((each) => each.slice(path.length + 1));
  if (entries.length > 0 && !own.some((name) => entries.includes(name))) {
    throw new CliError(`${path} contains no installation of recount: nothing was deleted.`);
  }
}
