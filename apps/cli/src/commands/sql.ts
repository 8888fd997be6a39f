import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Command, Option } from 'commander';
import { type CliContext, print } from '../cli-context.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { toPrintWidth } from '../terminal/print-width.ts';

interface SqlOptions {
  write?: boolean;
  csv?: boolean;
  json?: boolean;
}

const MAX_ROWS = 10_000;
const MAX_CELL_LENGTH = 80;
/** The views of docs/sql.md can be named without their schema. */
const SEARCH_PATH = 'analytics,recount,public';

export function createSqlCommand(context: CliContext): Command {
  return new Command('sql')
    .description('Run a query on the database, or open psql; read-only unless --write')
    .argument('[query]', 'SQL; without it, psql is opened')
    .option('--write', 'allow changes: rows that are not written by recount may not be kept')
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL, else on the local installation, which must be running. docs/sql.md describes the views; all workspaces are
in them.

Examples:
  $ recount sql "SELECT project, sum(cost_usd) FROM daily_usage GROUP BY project ORDER BY 2 DESC NULLS LAST"
  $ recount sql`,
    )
    .action((query: string | undefined, options: SqlOptions) =>
      query === undefined ? openPsql(context, options) : runQuery(context, query, options),
    );
}

async function runQuery(context: CliContext, query: string, options: SqlOptions): Promise<void> {
  const { withDatabase } = await import('../connection/open-installation.ts');
  const { sql } = await import('@recount/db');
  await withDatabase(context, async ({ withTransaction }) => {
    const result = await withTransaction(async (transaction) => {
      await transaction.execute(sql.raw(`SET LOCAL search_path TO ${SEARCH_PATH}`));
      if (!options.write) await transaction.execute(sql.raw('SET TRANSACTION READ ONLY'));
      try {
        return await transaction.execute<Record<string, unknown>>(sql.raw(query));
      } catch (error) {
        const { message } = ((error as Error).cause ?? error) as Error;
        throw new CliError(`Postgres: ${message}`);
      }
    });
    await printRows(context, result.rows, result.fields?.map(({ name }) => name) ?? [], options);
  });
}

async function printRows(
  context: CliContext,
  rows: readonly Record<string, unknown>[],
  names: readonly string[],
  { csv, json }: SqlOptions,
): Promise<void> {
  if (json) return print(context, JSON.stringify(rows, null, 2));
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
      value instanceof Date ? value.toISOString() : typeof value === 'object' ? JSON.stringify(value) : String(value);
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
    toPrintWidth(context.stdout),
  );
  for (const line of lines) print(context, line);
  print(
    context,
    `(${rows.length} ${rows.length === 1 ? 'row' : 'rows'}${rows.length > MAX_ROWS ? `, the first ${MAX_ROWS} shown` : ''})`,
  );
}

async function openPsql(context: CliContext, { write, csv, json }: SqlOptions): Promise<void> {
  if (csv || json) throw new UsageError('--csv and --json need a query.');
  const { findDatabaseUrl } = await import('../connection/open-installation.ts');
  const url = new URL(await findDatabaseUrl(context));
  // By the environment: arguments can be seen by other users of the machine.
  const env = {
    ...context.environment,
    PGHOST: decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '') || url.searchParams.get('host') || undefined,
    PGPORT: url.port || undefined,
    PGUSER: decodeURIComponent(url.username) || undefined,
    PGPASSWORD: decodeURIComponent(url.password) || undefined,
    PGDATABASE: decodeURIComponent(url.pathname.slice(1)) || undefined,
    PGSSLMODE: url.searchParams.get('sslmode') ?? undefined,
    PGOPTIONS: `-c search_path=${SEARCH_PATH}${write ? '' : ' -c default_transaction_read_only=on'}`,
  };
  const psql = spawn('psql', [], { stdio: 'inherit', env });
  const failed = once(psql, 'error').then(([error]) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new CliError('psql is not found on PATH. Give a query: recount sql "SELECT …"');
    throw error;
  });
  const [exitCode] = await Promise.race([once(psql, 'close'), failed]);
  context.exitCode = exitCode ?? 1;
}
