import { open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Argument, Command, Option } from 'commander';
import { type CliContext, note } from '../cli-context.ts';
import { CliError, UsageError } from '../cli-error.ts';
import type { ApiOptions } from '../connection/find-api.ts';
import { addFilterOptions, type FilterOptions, toFilterQuery } from '../report/report-query.ts';

const DATASETS = ['usage', 'messages', 'sessions'] as const;
const FORMATS = ['csv', 'ndjson', 'parquet'] as const;

interface ExportOptions extends FilterOptions, ApiOptions {
  workspace: string;
  format: (typeof FORMATS)[number];
  output?: string;
}

type Dataset = (typeof DATASETS)[number];

export function createExportCommand(context: CliContext): Command {
  return addFilterOptions(
    new Command('export')
      .description('Write API responses, messages or sessions to a file, all columns of all rows')
      .addArgument(new Argument('<dataset>', 'what to export').choices(DATASETS))
      .addOption(new Option('--format <format>', 'what the file is to be').choices(FORMATS).default('csv'))
      .option('-o, --output <file>', 'file to write; default: stdout'),
  )
    .addHelpText(
      'after',
      `
Rows are streamed: nothing is held in memory. A file is there only when it is complete.

Examples:
  $ recount export usage --from 2026-03-01 -o march.csv
  $ recount export messages --format parquet -o messages.parquet
  $ recount export sessions --format ndjson | jq -c 'select(.own_cost_usd > 5)'`,
    )
    .action((dataset: Dataset, options: ExportOptions) => exportRows(context, dataset, options));
}

async function exportRows(context: CliContext, dataset: Dataset, options: ExportOptions): Promise<void> {
  const { format, output } = options;
  if (output === undefined && format === 'parquet' && context.stdout.isTTY) {
    throw new UsageError('Parquet is not for a terminal: give a file with -o.');
  }
  const signal = context.listenForInterruption();
  if (output === undefined) return await writeRows(context, dataset, options, context.stdout, signal);
  const path = resolve(context.workingDirectory, output);
  const unfinished = `${path}.unfinished`;
  try {
    const file = await open(unfinished, 'w');
    await writeRows(context, dataset, options, file.createWriteStream(), signal);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR' || code === 'ENOSPC') {
      throw new CliError(`Cannot write ${output}: ${code}`);
    }
    throw error;
  }
  note(context, `${output} is written.`);
}

async function writeRows(
  context: CliContext,
  dataset: Dataset,
  options: ExportOptions,
  output: Writable,
  signal: AbortSignal,
): Promise<void> {
  const query = toFilterQuery(options, context);
  // What comes after the rows on stdout is not ours to decide: it stays open.
  const end = output !== context.stdout;
  const { findApi } = await import('../connection/find-api.ts');
  const place = await findApi(context, options);
  if (place !== undefined) {
    const { download } = await import('../connection/download.ts');
    const response = await download(place, `/v1/export/${dataset}`, {
      query: { ...query, format: options.format },
      signal,
    });
    return await pipeline(response, output, { signal, end });
  }
  const [{ exportQuerySchema }, { resolveReportFilter }, { writeExport }, { findWorkspace, withDatabase }] =
    await Promise.all([
      import('@recount/contract'),
      import('@recount/db'),
      import('@recount/db/export'),
      import('../connection/open-installation.ts'),
    ]);
  const { success, data, error } = exportQuerySchema.safeParse({ ...query, format: options.format });
  if (!success)
    throw new UsageError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'));
  const { format, time_zone: timeZone, git_branch: gitBranch, session_id: sessionId, ...rest } = data;
  await withDatabase(context, async (database) => {
    const workspaceId = await findWorkspace(database, options.workspace);
    const { filter } = await resolveReportFilter(database.database, workspaceId, {
      ...rest,
      timeZone,
      gitBranch,
      sessionId,
    });
    const rows = new PassThrough();
    const closed = new AbortController();
    rows.once('close', () => closed.abort());
    await Promise.all([
      writeExport({ database }, { dataset, format, filter }, rows, { signal: closed.signal }).catch((cause) => {
        rows.destroy(cause);
        throw cause;
      }),
      pipeline(rows, output, { signal, end }),
    ]);
  });
}
