import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { type CliContext, note, print } from '../cli-context.ts';
import { CliError } from '../cli-error.ts';
import type { DataDirectory } from '../local/data-directory.ts';
import { formatBytes, formatCount, formatTimestamp } from '../terminal/format-values.ts';
import { toSingleLine } from '../terminal/text-width.ts';

const STOP_TIMEOUT_MS = 90_000;
const POLL_MS = 100;
const MAX_FAILURES = 5;

export function createStatusCommand(context: CliContext): Command {
  return new Command('status')
    .description('What runs, what waits, how far search is, the disk that it takes, and the last failures')
    .option('--json', 'print JSON')
    .option('--utc', 'show times in UTC')
    .addHelpText(
      'after',
      `
Of the local installation, or of the database of DATABASE_URL. \`recount issues\` lists all that failed or is faulty.

Examples:
  $ recount status
  $ recount status --json | jq .disk`,
    )
    .action((options: { json?: boolean; utc?: boolean }) => showStatus(context, options));
}

export function createStopCommand(context: CliContext): Command {
  return new Command('stop')
    .description('Stop the local installation; what is under way is finished at the next start')
    .action(async () => {
      const { toDataDirectory } = await import('../local/data-directory.ts');
      const pid = await stop(toDataDirectory(context));
      note(context, pid === undefined ? 'recount does not run.' : `recount (process ${pid}) has stopped.`);
    });
}

export function createUninstallCommand(context: CliContext): Command {
  return new Command('uninstall')
    .description('Delete the local installation with all its data; says what lies where, and asks')
    .option('--yes', 'delete without asking')
    .addHelpText(
      'after',
      `
Deletes database, raw transcripts, credentials and logs of the local installation, and what \`recount usage\` remembers. The
transcripts that agents keep themselves stay, and so does this checkout.`,
    )
    .action((options: { yes?: boolean }) => uninstall(context, options.yes ?? false));
}

interface Status {
  running: { pid: number; url: string | null } | null;
  data_directory: string | null;
  transcripts: Record<string, number>;
  search: { waiting_sessions: number; failing_sessions: number };
  disk: { database_bytes: number; search_bytes: number; raw_bytes: number | null; spool_bytes: number | null };
  last_failures: { transcript_id: string; path: string | null; reason: string | null; created_at: string }[];
}

async function showStatus(
  context: CliContext,
  { json, utc = false }: { json?: boolean; utc?: boolean },
): Promise<void> {
  const status = await readStatus(context);
  if (json) return print(context, JSON.stringify(status, null, 2));
  const { running, transcripts, search, disk, data_directory: directory } = status;
  const { queued = 0, processing = 0, ingested = 0, superseded = 0, failed = 0 } = transcripts;
  const waiting = search.waiting_sessions;
  const line = (name: string, text: string): void => print(context, `${name.padEnd(12)}${text}`);
  line(
    'Running',
    running === null
      ? 'no'
      : `process ${running.pid}${running.url === null ? ', not ready yet' : ` at ${running.url}`}`,
  );
  if (directory !== null) line('Data', directory);
  line('Queue', `${formatCount(queued)} waiting, ${formatCount(processing)} under way`);
  line(
    'Transcripts',
    `${formatCount(ingested)} ingested, ${formatCount(superseded)} part of longer ones, ${formatCount(failed)} failed`,
  );
  line(
    'Search',
    waiting === 0
      ? 'complete'
      : `${formatCount(waiting)} sessions not yet indexed, ${formatCount(search.failing_sessions)} of them failing`,
  );
  const places = [
    `${formatBytes(disk.database_bytes)} database (${formatBytes(disk.search_bytes)} of it search)`,
    disk.raw_bytes === null ? '' : `${formatBytes(disk.raw_bytes)} raw transcripts`,
    disk.spool_bytes === null ? '' : `${formatBytes(disk.spool_bytes)} spool`,
  ].filter((place) => place !== '');
  line('Disk', places.join(', '));
  for (const failure of status.last_failures) {
    const path = toSingleLine(failure.path ?? failure.transcript_id);
    line(
      'Failed',
      `${formatTimestamp(failure.created_at, utc)}  ${path}: ${toSingleLine(failure.reason ?? 'unknown')}`,
    );
  }
  if (failed > MAX_FAILURES) line('', '`recount issues` lists all.');
}

async function readStatus(context: CliContext): Promise<Status> {
  const [{ toDataDirectory }, { findRunning }, { withDatabase }, db] = await Promise.all([
    import('../local/data-directory.ts'),
    import('../local/installation-lock.ts'),
    import('../connection/open-installation.ts'),
    import('@recount/db'),
  ]);
  const isLocal = !context.environment.DATABASE_URL;
  const directory = isLocal ? toDataDirectory(context) : undefined;
  const running = directory && (await findRunning(directory.lock));
  if (directory !== undefined && running === undefined) {
    throw new CliError(`recount does not run; its data are in ${directory.path}. Start it with \`npm start\`.`);
  }
  return await withDatabase({ ...context, stderr: context.stderr }, async ({ database }) => {
    const backlog = await db.readSearchBacklog(database);
    const sizes = await database.execute<{ total: number; search: number }>(db.sql`
      SELECT pg_database_size(current_database())::float8 AS total,
        coalesce(pg_total_relation_size(to_regclass('recount.search_documents')), 0)::float8 AS search`);
    const failures = await database.execute<Status['last_failures'][number] & Record<string, unknown>>(db.sql`
      SELECT id AS transcript_id, path, failure_reason AS reason,
        to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
      FROM recount.transcripts WHERE status = 'failed' ORDER BY id DESC LIMIT ${MAX_FAILURES}`);
    return {
      running: running === undefined ? null : { pid: running.pid, url: running.url ?? null },
      data_directory: directory?.path ?? null,
      transcripts: await db.countTranscriptsByStatus(database),
      search: { waiting_sessions: backlog.waitingSessions, failing_sessions: backlog.failingSessions },
      disk: {
        database_bytes: sizes.rows[0]?.total ?? 0,
        search_bytes: sizes.rows[0]?.search ?? 0,
        raw_bytes: directory === undefined ? null : await measureFolder(directory.rawStore),
        spool_bytes: directory === undefined ? null : await measureFolder(join(directory.path, 'live-spool')),
      },
      last_failures: failures.rows,
    };
  });
}

/** Bytes of all files below a folder; 0 if it is not there. */
async function measureFolder(path: string): Promise<number> {
  let size = 0;
  try {
    for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
      // Files of a running database come and go.
      if (entry.isFile())
        size += await stat(join(entry.parentPath, entry.name)).then(
          (file) => file.size,
          () => 0,
        );
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return size;
}

/** Returns the process that ran, undefined if none did. Throws CliError if it does not end. */
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
    if (performance.now() > deadlineMs) throw new CliError(`Process ${running.pid} does not end.`);
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
  for (const { path, what, bytes } of found) print(context, `${formatBytes(bytes).padStart(8)}  ${path}  (${what})`);
  if (!(await confirm(context, 'Delete all of this for good?', isAgreed))) return note(context, 'Nothing is deleted.');
  const pid = await stop(directory);
  if (pid !== undefined) note(context, `recount (process ${pid}) has stopped.`);
  for (const { path } of found) await rm(path, { recursive: true, force: true });
  note(context, `Deleted. What is left of recount is the checkout or the package; \`npm start\` begins again.`);
}

/** RECOUNT_DATA_DIR may name any folder by mistake: only one that recount made is deleted. */
async function requireInstallation({ path, credentials, log, postgres }: DataDirectory): Promise<void> {
  const entries = await readdir(path).catch((): string[] => []);
  const own = [credentials, dirname(log), postgres].map((each) => each.slice(path.length + 1));
  if (entries.length > 0 && !own.some((name) => entries.includes(name))) {
    throw new CliError(`${path} holds no installation of recount: nothing is deleted.`);
  }
}
