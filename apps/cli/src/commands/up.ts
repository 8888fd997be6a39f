import { Command, Option } from 'commander';
import type { CliContext } from '../terminal/cli-context.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { TIME_ZONE_HELP, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';

interface UpOptions extends TimeZoneOptions {
  host: string;
  port?: number;
  exit?: boolean;
  import?: boolean;
  demo?: boolean;
}

const DEFAULT_PORT = 7878;
const LOOPBACK = '127.0.0.1';

export function createUpCommand(context: CliContext): Command {
  return new Command('up')
    .description('Start everything on this machine: PostgreSQL, raw store, API and worker; ingest the paths')
    .argument('[path...]', 'files and folders to ingest, as in `recount backfill`')
    .addOption(
      new Option('--port <port>', `port of the API (default: ${DEFAULT_PORT}, or the next free one)`)
        .env('RECOUNT_PORT')
        .argParser(wholeNumber(0, 65_535)),
    )
    .option('--host <address>', 'address to listen on; anything but loopback is reachable from the network', LOOPBACK)
    .option('--import', 'import the sessions of this machine’s agents without asking')
    .option('--no-import', 'do not ask on the first start whether to import them')
    .option('--demo', 'make a workspace with invented data beside yours, and print a link to it')
    .option('--exit', 'end when everything is ingested, instead of serving')
    .option('--tz <zone>', TIME_ZONE_HELP)
    .option('--utc', 'the same as --tz UTC')
    .addHelpText(
      'after',
      `
Data are in RECOUNT_DATA_DIR, by default ~/.recount. DATABASE_URL and RECOUNT_RAW_STORE replace the local database and
raw store by others. On its first start it lists the sessions of this machine’s agents, and asks whether to import them.
It reads nothing but the given paths and what you agree to, and without a terminal it does not ask. If it is running
already, that one ingests the paths.

Examples:
  $ recount up
  $ recount up --import
  $ recount up --demo
  $ recount up ~/.claude/projects
  $ recount up --exit backup.tar.gz`,
    )
    .action((paths: string[], options: UpOptions) => up(context, paths, options));
}

async function up(context: CliContext, paths: string[], options: UpOptions): Promise<void> {
  const { createDataDirectory, toDataDirectory } = await import('../data-directory/data-directory.ts');
  const { acquireLock } = await import('../data-directory/installation-lock.ts');
  const timeZone = toTimeZone(options);
  // From here on, an interruption must leave no lock behind.
  context.listenForInterruption();
  const directory = toDataDirectory(context);
  await createDataDirectory(directory);
  const request = { paths, isImportWanted: options.import, isDemo: options.demo ?? false, timeZone };
  let lock = await acquireLock(directory.lock);
  while (lock === undefined) {
    const { joinRunning } = await import('../installation/join-running.ts');
    if (await joinRunning(context, directory, request)) return;
    lock = await acquireLock(directory.lock);
  }
  try {
    const { runInstallation } = await import('../installation/run-installation.ts');
    const { host, port = DEFAULT_PORT } = options;
    const isPortFixed = options.port !== undefined;
    const isOnce = options.exit ?? false;
    await runInstallation(context, directory, lock, { ...request, host, port, isPortFixed, isOnce });
  } finally {
    await lock.release();
  }
}
