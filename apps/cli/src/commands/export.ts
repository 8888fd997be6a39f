import { open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DOCUMENT_FORMATS, EXPORT_DATASETS, EXPORT_FORMATS } from '@recount/contract/choices';
import { Argument, Command, Option } from 'commander';
import type { ApiOptions } from '../connection/find-api.ts';
import { withClient } from '../connection/with-client.ts';
import { addFilterOptions, type FilterOptions, toFilterQuery } from '../report/report-query.ts';
import { type CliContext, note } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { whileShowing } from '../terminal/progress-bar.ts';
import { toTimeZone } from '../terminal/time-zone.ts';
import { type LineRange, parseLineRange } from './share.ts';

interface ExportCommandOptions extends FilterOptions, ApiOptions {
  workspace: string;
  format?: (typeof EXPORT_FORMATS)[number] | (typeof DOCUMENT_FORMATS)[number];
  output?: string;
  lines?: LineRange;
  sanitize?: boolean;
  redact: boolean;
}

type ExportOptions = ExportCommandOptions & { format: (typeof EXPORT_FORMATS)[number] };

type Dataset = (typeof EXPORT_DATASETS)[number];

export function createExportCommand(context: CliContext): Command {
  return addFilterOptions(
    new Command('export')
      .description(
        'Write API responses, messages or sessions to a file, all columns of all rows; or one session to read',
      )
      .addArgument(new Argument('<dataset>', 'what to export').choices([...EXPORT_DATASETS, 'session']))
      .argument('[session]', 'with session, the id or its beginning')
      .addOption(
        new Option('--format <format>', 'format of the file (default: csv; for a session html)').choices([
          ...EXPORT_FORMATS,
          ...DOCUMENT_FORMATS,
        ]),
      )
      .option('-o, --output <file>', 'file to write; default: stdout')
      .option('--lines <range>', 'of a session, only these lines of its transcript: 10-80, 10-', parseLineRange)
      .option('--sanitize', 'of a session, only the structure, without texts, paths and names')
      .option('--no-redact', 'of a session, keep secrets'),
  )
    .addHelpText(
      'after',
      `
Rows are streamed: nothing is held in memory. A file appears only when it is complete.

Examples:
  $ recount export usage --from 2026-03-01 -o march.csv
  $ recount export messages --format parquet -o messages.parquet
  $ recount export sessions --format ndjson | jq -c 'select(.own_cost_usd > 5)'
  $ recount export session 0fae0449 -o session.html
  $ recount export session 0fae0449 --format markdown > session.md

A session as HTML is one file that needs nothing else and runs nothing. Its secrets are replaced by [REDACTED:<rule>].`,
    )
    .action((dataset: Dataset | 'session', session: string | undefined, options: ExportCommandOptions) => {
      if (dataset === 'session') return exportSession(context, session, options);
      const format = EXPORT_FORMATS.find((each) => each === (options.format ?? 'csv'));
      if (format === undefined)
        throw new UsageError(`Rows are ${EXPORT_FORMATS.join(', ')}; only a session is ${options.format}.`);
      if (session !== undefined) throw new UsageError(`Give ${dataset} without a session, or --session.`);
      return exportRows(context, dataset, { ...options, format });
    });
}

async function exportSession(
  context: CliContext,
  name: string | undefined,
  options: ExportCommandOptions,
): Promise<void> {
  if (name === undefined) throw new UsageError('Name the session, e.g. recount export session 0fae0449');
  const format = DOCUMENT_FORMATS.find((each) => each === (options.format ?? 'html'));
  if (format === undefined) throw new UsageError(`A session is ${DOCUMENT_FORMATS.join(', ')}, not ${options.format}.`);
  const { readDocument, readSession } = await import('../show/read-session.ts');
  const document = await withClient(context, options, async (client) =>
    readDocument(client, await readSession(client, name), {
      format,
      ...options.lines,
      redact: options.redact ? 'true' : 'false',
      sanitize: options.sanitize ? 'true' : 'false',
      subagents: options.subagents === false ? 'false' : 'true',
      time_zone: toTimeZone(options),
    }),
  );
  await writeOutput(context, options.output, async (output) =>
    pipeline([document], output, { end: output !== context.stdout }),
  );
}

async function exportRows(context: CliContext, dataset: Dataset, options: ExportOptions): Promise<void> {
  const { format, output } = options;
  if (output === undefined && format === 'parquet' && context.stdout.isTTY) {
    throw new UsageError('Parquet cannot be shown on a terminal. Name a file with -o.');
  }
  const signal = context.listenForInterruption();
  await writeOutput(context, output, (file) => writeRows(context, dataset, options, file, signal));
}

/** Writes to stdout, or to a file that appears only when it is complete. */
async function writeOutput(
  context: CliContext,
  output: string | undefined,
  write: (output: Writable) => Promise<void>,
): Promise<void> {
  if (output === undefined) {
    // On a terminal the rows themselves show the progress.
    return context.stdout.isTTY ? await write(context.stdout) : await showing(context, () => write(context.stdout));
  }
  const path = resolve(context.workingDirectory, output);
  const unfinished = `${path}.unfinished`;
  try {
    const file = await open(unfinished, 'w');
    const stream = file.createWriteStream();
    try {
      await showing(context, () => write(stream));
    } finally {
      stream.destroy();
      await file.close();
    }
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

const showing = (context: CliContext, run: () => Promise<void>): Promise<void> =>
  whileShowing(context.stderr, () => 'Exporting', run);

async function exportFromDatabase(
  context: CliContext,
  dataset: Dataset,
  options: ExportOptions,
  output: Writable,
  { signal, end }: { signal: AbortSignal; end: boolean },
): Promise<void> {
  const query = toFilterQuery(options, context);
  const [
    { exportQuerySchema },
    { requireMatches, resolveReportFilter },
    { writeExport },
    { findWorkspace, withDatabase },
  ] = await Promise.all([
    import('@recount/contract'),
    import('@recount/db'),
    import('@recount/db/export'),
    import('../connection/open-installation.ts'),
  ]);
  const { success, data, error } = exportQuerySchema.safeParse({ ...query, format: options.format });
  if (!success)
    throw new UsageError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'));
  const {
    format,
    time_zone: timeZone,
    git_branch: gitBranch,
    session_id: sessionId,
    cost_centre: costCentre,
    ...rest
  } = data;
  await withDatabase(context, async (database) => {
    const workspaceId = await findWorkspace(database, options.workspace);
    const { filter, unmatched } = await resolveReportFilter(database.database, workspaceId, {
      ...rest,
      costCentre,
      timeZone,
      gitBranch,
      sessionId,
    });
    requireMatches(unmatched);
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

async function writeRows(
  context: CliContext,
  dataset: Dataset,
  options: ExportOptions,
  output: Writable,
  signal: AbortSignal,
): Promise<void> {
  const query = toFilterQuery(options, context);
  // stdout stays open. The caller decides what follows.
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
  await exportFromDatabase(context, dataset, options, output, { signal, end });
}
