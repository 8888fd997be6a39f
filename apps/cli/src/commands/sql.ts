import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Database } from '@recount/db';
import { Command, Option } from 'commander';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { toPrintWidth } from '../terminal/print-width.ts';

interface SqlOptions {
  write?: boolean;
  csv?: boolean;
  json?: boolean;
  workspace?: string;
  allWorkspaces?: boolean;
  figures?: boolean;
  lead?: string;
}

const DEFAULT_NAME = 'default';
const MAX_ROWS = 10_000;
const MAX_CELL_LENGTH = 80;
/** With --write, too, the views of docs/sql.md can be named without their schema. */
const WRITE_PATH = 'analytics,recount,public';
/** insufficient_privilege, and read_only_sql_transaction on a standby. */
const CANNOT_CREATE = new Set(['42501', '25006']);

const NAMELESS =
  'Names of people, machines, teams and cost centres are NULL where the workspace hides them (`recount settings show`).';
const OTHER_SCHEMA = /^permission denied for schema analytics$/;
const NAMES_HINT =
  'Of several workspaces, one is read through views without a schema: write `FROM daily_usage`, or give --all-workspaces.';
const ADMIN_SHUTDOWN = '57P01';
const ENDED_HINT =
  'recount ends a transaction that takes ten minutes, or an advisory lock; else the server was stopped.';

export function createSqlCommand(context: CliContext): Command {
  return new Command('sql')
    .description('Run a query on the analytics views, or open psql; as a role that can only read')
    .argument('[query]', 'SQL; without it, psql is opened')
    .option('--write', 'allow writes, with the role of DATABASE_URL; recount may overwrite your changes')
    .option('--workspace <name>', 'workspace to read, if there are several; default: "default"')
    .option('--all-workspaces', 'read all workspaces')
    .addOption(
      new Option(
        '--figures',
        'views without their columns of text, and without names where the workspace hides them',
      ).conflicts('write'),
    )
    .addOption(
      new Option('--lead <person>', 'what a team lead sees: figures, with names of this person’s teams only').conflicts(
        ['write', 'allWorkspaces'],
      ),
    )
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL, else on the local installation, which must be running. docs/sql.md describes the views, which are named
without a schema. Keys, tables and the queue cannot be read but with --write. The role is made for the call and deleted after it,
with what it still runs, also after Ctrl-C; if recount is killed, the next call or a worker deletes it two minutes later.

Examples:
  $ recount sql "SELECT repository, round(sum(cost_usd), 2) AS usd FROM daily_usage GROUP BY 1 ORDER BY 2 DESC NULLS LAST"
  $ recount sql --figures "SELECT person, sum(cost_usd) FROM daily_usage GROUP BY 1"
  $ recount sql --lead ada@example.com "SELECT person, sum(cost_usd) FROM daily_usage GROUP BY 1"
  $ recount sql`,
    )
    .action(async (query: string | undefined, options: SqlOptions) => {
      // Ctrl-C is for psql, which uses it to cancel a query; the role is deleted after psql has ended.
      const signal = query === undefined ? context.listenForTermination() : context.listenForInterruption();
      const found = await withUser(context, options, async (user) => {
        signal.throwIfAborted();
        if (query !== undefined) return await runQuery(user, query, signal);
        await openPsql(context, user, options, signal);
        return undefined;
      });
      // Now that the role is deleted, because a reader who closes the pipe ends the program.
      if (found !== undefined) await printRows(context, found, options);
    });
}

/** The reader, with the address to connect to, and settings in addition to the role's. */
interface DatabaseUser {
  url: string;
  settings: string;
  isNameless: boolean;
}

interface FoundRows {
  rows: Record<string, unknown>[];
  /** Columns in order. */
  names: string[];
  isNameless: boolean;
}

/** Runs something with the address of a temporary reader, or with the database's own for --write. */
async function withUser<Result>(
  context: CliContext,
  { write, workspace, allWorkspaces, figures = false, lead }: SqlOptions,
  run: (user: DatabaseUser) => Promise<Result>,
): Promise<Result> {
  const [{ findDatabaseUrl, withDatabase }, { createDatabaseReader, listVisible, listWorkspaces, readLeadNames }] =
    await Promise.all([import('../connection/open-installation.ts'), import('@recount/db')]);
  const readNames = async (database: Database, workspaceId: string | undefined, person: string) => {
    const visible = workspaceId === undefined ? undefined : await readLeadNames(database, workspaceId, person);
    return visible === undefined ? { person: [], machine: [] } : listVisible(visible);
  };
  const url = await findDatabaseUrl(context);
  if (write) return await run({ url, settings: `-c search_path=${WRITE_PATH}`, isNameless: false });
  // Read once, so that the location of the installation is printed once.
  const pinned = { ...context, environment: { ...context.environment, DATABASE_URL: url } };
  return await withDatabase(pinned, async (database) => {
    const workspaceId = allWorkspaces ? undefined : chooseWorkspace(await listWorkspaces(database.database), workspace);
    const names = lead === undefined ? undefined : await readNames(database.database, workspaceId, lead);
    const view = { workspaceId, hasTexts: !figures && lead === undefined, names };
    const reader = await createDatabaseReader(database, view).catch((error: unknown) => {
      const { code, message } = ((error as Error).cause ?? error) as Error & { code?: string };
      if (!CANNOT_CREATE.has(code ?? '')) throw error;
      throw new CliError(
        `The role of DATABASE_URL cannot make one that only reads (${message}). Let it have CREATEROLE, name a reader of ` +
          'your own in DATABASE_URL and give --write, or see docs/sql.md.',
      );
    });
    try {
      return await run({ url: toReaderUrl(url, reader), settings: '', isNameless: reader.isNameless });
    } finally {
      await reader.drop();
    }
  });
}

/**
 * The named workspace, the only one, or the one called `default`; undefined if there is none yet. Throws UsageError.
 */
function chooseWorkspace(
  workspaces: readonly { id: string; name: string }[],
  given: string | undefined,
): string | undefined {
  if (given === undefined && workspaces.length < 2) return workspaces[0]?.id;
  const found = workspaces.find(({ name }) => name === (given ?? DEFAULT_NAME));
  if (found !== undefined) return found.id;
  const names = workspaces.map(({ name }) => name).join(', ');
  if (given !== undefined) throw new UsageError(`There is no workspace ${given}; there are ${names}.`);
  throw new UsageError(`Name a workspace with --workspace (${names}), or give --all-workspaces.`);
}

function toReaderUrl(databaseUrl: string, { user, password }: { user: string; password: string }): string {
  const url = new URL(databaseUrl);
  if (url.hostname === '') {
    // A socket, whose folder is in the query. An address without a host cannot have a user.
    url.searchParams.set('user', user);
    url.searchParams.set('password', password);
    return url.href;
  }
  url.username = user;
  url.password = password;
  return url.href;
}

async function runQuery(
  { url, settings, isNameless }: DatabaseUser,
  query: string,
  signal: AbortSignal,
): Promise<FoundRows> {
  const { createDatabasePool } = await import('@recount/db');
  const { pool, close } = createDatabasePool({ connectionString: url, maxConnections: 2 });
  const client = await pool.connect();
  // A connection that breaks also rejects the running query; the event alone would crash the process.
  client.on('error', () => {});
  // The statement then fails, or has ended already.
  const cancel = (): void => void pool.query('SELECT pg_cancel_backend($1)', [pid]).catch(() => undefined);
  let pid: number | undefined;
  try {
    if (settings !== '') await client.query(`SET search_path = ${WRITE_PATH}`);
    ({ pid } = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0] ?? {});
    signal.addEventListener('abort', cancel, { once: true });
    signal.throwIfAborted();
    // As arrays, because two columns may have the same name.
    const result = await client
      .query<unknown[]>({ text: query, rowMode: 'array' })
      .catch((error: Error & { code?: string }) => {
        signal.throwIfAborted();
        const hint = OTHER_SCHEMA.test(error.message) ? NAMES_HINT : error.code === ADMIN_SHUTDOWN ? ENDED_HINT : '';
        throw new CliError(`Postgres: ${error.message}${hint && `. ${hint}`}`);
      });
    // Of several statements, the last one that returned rows.
    const shown = [result].flat().findLast(({ fields }) => fields?.length > 0);
    const names = toUniqueNames(shown?.fields.map(({ name }) => name) ?? []);
    const rows = shown?.rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]]))) ?? [];
    return { rows, names, isNameless };
  } finally {
    signal.removeEventListener('abort', cancel);
    client.release(true);
    await close();
  }
}

/** The second column with the same name gets `_2`, because JSON and CSV are read by name. */
function toUniqueNames(names: readonly string[]): string[] {
  const used = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let number = 2; used.has(unique); number += 1) unique = `${name}_${number}`;
    used.add(unique);
    return unique;
  });
}

async function printRows(
  context: CliContext,
  { rows, names, isNameless }: FoundRows,
  { csv, json }: SqlOptions,
): Promise<void> {
  if (isNameless) note(context, NAMELESS);
  if (json) return printJson(context, rows);
  if (csv) {
    const { toReportCsv } = await import('../report/report-csv.ts');
    context.stdout.write(toReportCsv([...rows]));
    return;
  }
  const [{ formatTable }, { toSingleLine }] = await Promise.all([
    import('../terminal/table.ts'),
    import('../terminal/text-width.ts'),
  ]);
  const toCell = (value: unknown): string => {
    if (value === null || value === undefined) return '';
    const text =
      value instanceof Date
        ? value.toISOString().replace('T', ' ')
        : typeof value === 'object'
          ? JSON.stringify(value)
          : String(value);
    return toSingleLine(text).slice(0, MAX_CELL_LENGTH);
  };
  const shown = rows.slice(0, MAX_ROWS);
  const isNumeric = (name: string): boolean =>
    shown.some((row) => row[name] !== null) &&
    shown.every((row) => row[name] === null || /^-?\d+(\.\d+)?$/.test(String(row[name])));
  const columns = names.map(
    (name) =>
      ({ header: name, align: isNumeric(name) ? 'right' : 'left', minWidth: Math.max(8, name.length) }) as const,
  );
  const lines = formatTable(
    columns,
    shown.map((row) => names.map((name) => toCell(row[name]))),
    toPrintWidth(context),
  );
  for (const line of lines) print(context, line);
  print(
    context,
    `(${rows.length} ${rows.length === 1 ? 'row' : 'rows'}${rows.length > MAX_ROWS ? `, the first ${MAX_ROWS} shown` : ''})`,
  );
}

async function openPsql(
  context: CliContext,
  { url: address, settings, isNameless }: DatabaseUser,
  { csv, json }: SqlOptions,
  signal: AbortSignal,
): Promise<void> {
  if (csv || json) throw new UsageError('--csv and --json need a query.');
  if (isNameless) note(context, NAMELESS);
  const url = new URL(address);
  const of = (part: string, name: string): string | undefined =>
    decodeURIComponent(part) || url.searchParams.get(name) || undefined;
  // Through the environment, because other users of the machine can see arguments.
  const env = {
    ...context.environment,
    PGHOST: of(url.hostname.replace(/^\[|\]$/g, ''), 'host'),
    PGPORT: of(url.port, 'port'),
    PGUSER: of(url.username, 'user'),
    PGPASSWORD: of(url.password, 'password'),
    PGDATABASE: of(url.pathname.slice(1), 'dbname'),
    PGSSLMODE: url.searchParams.get('sslmode') ?? undefined,
    PGOPTIONS: settings,
  };
  const psql = spawn('psql', [], { stdio: 'inherit', env });
  signal.addEventListener('abort', () => psql.kill(), { once: true });
  const failed = once(psql, 'error').then(([error]) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new CliError('psql is not found on PATH. Pass a query: recount sql "SELECT …"');
    throw error;
  });
  const [exitCode] = await Promise.race([once(psql, 'close'), failed]);
  signal.throwIfAborted();
  context.exitCode = exitCode ?? 1;
}
