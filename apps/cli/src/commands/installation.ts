import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import type { DataDirectory } from '../data-directory/data-directory.ts';
import { type FolderContents, MAX_FOREIGN, type OwnedFolder } from '../data-directory/own-files.ts';
import { formatPlaces } from '../installation/format-installation.ts';
import { type CliContext, note, print, START_COMMAND } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { formatBytes } from '../terminal/format-values.ts';

interface UninstallOptions {
  yes?: boolean;
  dryRun?: boolean;
}

const STOP_TIMEOUT_MS = 90_000;
const POLL_MS = 100;

export function createStopCommand(context: CliContext): Command {
  return new Command('stop')
    .description('Stop the local installation; unfinished work continues at the next start')
    .action(async () => {
      const { toDataDirectory } = await import('../data-directory/data-directory.ts');
      const pid = await stop(toDataDirectory(context));
      note(context, pid === undefined ? 'recount is not running.' : `recount (process ${pid}) has stopped.`);
    });
}

export function createUninstallCommand(context: CliContext): Command {
  return new Command('uninstall')
    .description('Delete the local installation with all its data; lists it, and asks first')
    .option('--yes', 'delete without asking')
    .option('--dry-run', 'list every file that would be deleted, and delete nothing')
    .addHelpText(
      'after',
      `
Deletes database, raw transcripts, credentials and logs of the local installation, and what \`recount usage\`
remembers. Only files that recount made are deleted: if their folders hold anything else, nothing is. The transcripts
that agents keep themselves stay, and so does this checkout.

Examples:
  $ recount uninstall --dry-run
  $ recount uninstall`,
    )
    .action((options: UninstallOptions) => uninstall(context, options));
}

/** Returns the process that was running, undefined if there was none. Throws CliError if it does not end. */
async function stop(directory: DataDirectory): Promise<number | undefined> {
  const { findRunning } = await import('../data-directory/installation-lock.ts');
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

async function uninstall(context: CliContext, { yes = false, dryRun = false }: UninstallOptions): Promise<void> {
  const [{ toDataDirectory }, { inspectFolder, deleteOwnFiles, listFiles }, { confirm }] = await Promise.all([
    import('../data-directory/data-directory.ts'),
    import('../data-directory/own-files.ts'),
    import('../terminal/confirm.ts'),
  ]);
  const directory = toDataDirectory(context);
  const folders = await listFolders(context, directory);
  const found: (OwnedFolder & FolderContents)[] = [];
  for (const folder of folders) {
    const contents = await inspectFolder(folder);
    if (contents !== undefined) found.push({ ...folder, ...contents });
  }
  if (found.length === 0) return note(context, `There is nothing in ${directory.path}.`);
  await requireInstallation(directory);
  requireOwnFiles(found);
  if (dryRun) {
    for (const folder of found) {
      for await (const { path, bytes } of listFiles(folder)) print(context, `${formatBytes(bytes)}\t${path}`);
    }
    return note(context, 'Nothing was deleted, because this was a dry run.');
  }
  for (const line of formatPlaces(found)) print(context, line);
  if (!(await confirm(context, 'Delete all of this permanently?', yes))) return note(context, 'Nothing is deleted.');
  const pid = await stop(directory);
  if (pid !== undefined) note(context, `recount (process ${pid}) has stopped.`);
  for (const folder of found) await deleteOwnFiles(folder);
  note(context, `Deleted. Only the checkout or the package of recount is left; \`${START_COMMAND}\` starts over.`);
}

/** The folders of recount's files on this machine, whether or not they exist. */
async function listFolders(context: CliContext, { path, postgres }: DataDirectory): Promise<OwnedFolder[]> {
  const [{ readNote }, { toUsageCache }, { isDataFile, isPostgresFile, isUsageCacheFile }] = await Promise.all([
    import('@recount/local-postgres'),
    import('../usage/cache-directory.ts'),
    import('../data-directory/own-files.ts'),
  ]);
  const elsewhere = (await readNote(postgres))?.directory;
  const cache = toUsageCache(context);
  return [
    { path, what: 'data', isOwn: isDataFile },
    ...(elsewhere === undefined ? [] : [{ path: elsewhere, what: 'database', isOwn: isPostgresFile }]),
    ...(cache === undefined ? [] : [{ path: cache, what: 'what `recount usage` remembers', isOwn: isUsageCacheFile }]),
  ];
}

/** RECOUNT_DATA_DIR may name a wrong folder. Only one created by recount is deleted. */
async function requireInstallation({ path, credentials, log, postgres }: DataDirectory): Promise<void> {
  const entries = await readdir(path).catch((): string[] => []);
  const own = [credentials, dirname(log), postgres].map((each) => each.slice(path.length + 1));
  if (entries.length > 0 && !own.some((name) => entries.includes(name))) {
    throw new CliError(`${path} contains no installation of recount. Nothing was deleted.`);
  }
}

/** Throws CliError if a folder holds files that recount did not make. */
function requireOwnFiles(found: readonly (OwnedFolder & FolderContents)[]): void {
  const foreign = found.flatMap((folder) => folder.foreign);
  if (foreign.length === 0) return;
  const shown = foreign.slice(0, MAX_FOREIGN).map((path) => `  ${path}`);
  const more = foreign.length >= MAX_FOREIGN ? ['  …'] : [];
  throw new CliError(
    [
      'These files do not belong to recount. Nothing was deleted. Move them away, then try again.',
      ...shown,
      ...more,
    ].join('\n'),
  );
}
