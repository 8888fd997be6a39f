import { setTimeout as sleep } from 'node:timers/promises';
import type { Reprice, RepriceRun } from '@recount/contract';
import { Command } from 'commander';
import type { ApiOptions } from '../connection/find-api.ts';
import { type CliContext, note } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { formatCount, formatCountOf, formatUsd } from '../terminal/format-values.ts';
import { whileShowing } from '../terminal/progress-bar.ts';

interface RepriceOptions extends ApiOptions {
  workspace: string;
  prices?: string;
  model?: string[];
}

type Sums = NonNullable<RepriceRun['before']>;

const POLL_MS = 1000;
const PATH = '/v1/prices/reprice';

export function createRepriceCommand(context: CliContext): Command {
  return new Command('reprice')
    .description('Recompute costs after rates or overrides changed, without parsing')
    .option('--model <name...>', 'only transcripts that use these models; a name may end in *')
    .option('--workspace <name>', 'workspace, with a database', 'default')
    .option('--prices <file>', 'path or https:// URL of a newer price list; default RECOUNT_PRICE_FILE')
    .option('--server <url>', 'server whose workers do it; default RECOUNT_SERVER, or none')
    .option('--key <key>', 'API key of the server, with the scope admin; better in RECOUNT_API_KEY')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL, else on the local installation, which must be running, and does the work itself. With a server,
a worker there does it, with the server’s price file, and this command waits; Ctrl-C leaves the worker at work.
Transcripts that have the current rates are skipped, so an interrupted run can be repeated. One run of a workspace at a
time, whether from here or from Admin → Prices, which shows its progress. The price file should be the one that API and
workers have in RECOUNT_PRICE_FILE: what is ingested next has their prices.

Examples:
  $ recount prices set prices.json && recount reprice
  $ recount reprice --model glm-5.2 'house-model*'
  $ recount reprice --server https://recount.example.com
  $ RECOUNT_PRICE_FILE=model_prices_and_context_window.json recount reprice`,
    )
    .action((options: RepriceOptions) => reprice(context, options));
}

/** Prices stored usage again, through the server if one is named, else in this process. */
export async function reprice(context: CliContext, options: RepriceOptions): Promise<void> {
  const isRemote = options.server !== undefined || Boolean(context.environment.RECOUNT_SERVER);
  if (isRemote) await repriceOnServer(context, options);
  else await repriceHere(context, options);
}

async function repriceHere(context: CliContext, options: RepriceOptions): Promise<void> {
  const { workspace, prices: priceFile, model: models = [] } = options;
  const { readPriceFile } = await import('../prices/price-file.ts');
  const { findWorkspace, withDatabase } = await import('../connection/open-installation.ts');
  const { toOperator } = await import('../connection/operator.ts');
  const { followReprice } = await import('@recount/ingest');
  const { readReprice, startReprice } = await import('@recount/db');
  await withDatabase(context, async (database) => {
    const workspaceId = await findWorkspace(database, workspace);
    const signal = context.listenForInterruption();
    const file = await readPriceFile(context, priceFile);
    const task = { workspaceId, models, actor: toOperator() };
    const runId = await database.withTransaction((transaction) =>
      startReprice(transaction, { ...task, runner: 'process' }),
    );
    if (runId === undefined) {
      const { actor, done = 0, total } = (await readReprice(database.database, workspaceId)) ?? {};
      const progress = total == null ? '' : `, ${formatCount(done)} of ${formatCount(total)} transcripts`;
      throw new CliError(`Repricing is already under way (started by ${actor}${progress}). Wait until it has ended.`);
    }
    let progress = 'Waiting for running ingestions';
    const result = await whileShowing(
      context.stderr,
      () => progress,
      () =>
        followReprice(
          {
            database,
            priceSource: { file },
            onFailure: (reason) => note(context, `Progress is not recorded: ${reason}`),
          },
          { ...task, kind: 'reprice', runId, done: 0, before: undefined },
          {
            signal,
            onProgress(done, total) {
              progress = `${formatCount(done)} of ${formatCountOf(total, 'transcript')} priced`;
            },
          },
        ),
    );
    if (result === undefined) throw new CliError('Repricing was cancelled. What it has priced keeps its new costs.');
    note(context, `${formatCountOf(result.transcripts, 'transcript')} priced at ${result.priceVersion}.`);
    note(context, describeSums(result.before, result.after));
  });
}

async function repriceOnServer(context: CliContext, options: RepriceOptions): Promise<void> {
  const { findApi } = await import('../connection/find-api.ts');
  const { createApiClient } = await import('../connection/api-client.ts');
  if (options.prices !== undefined) throw new CliError('The server uses its own RECOUNT_PRICE_FILE; omit --prices.');
  const place = await findApi(context, options);
  if (place === undefined) throw new CliError('No server is named.');
  const client = createApiClient(place);
  const signal = context.listenForInterruption();
  const models = options.model ?? [];
  let run = (await client.request<Reprice>(PATH, { method: 'POST', json: { models } }))?.run;
  const toProgress = (): string =>
    run?.total == null
      ? 'Waiting for a worker'
      : `${formatCount(run.done)} of ${formatCountOf(run.total, 'transcript')} priced`;
  await whileShowing(context.stderr, toProgress, async () => {
    while (run?.state === 'queued' || run?.state === 'running') {
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted)
        throw new CliError('The server continues. Admin → Prices shows its progress, and cancels it.');
      run = (await client.request<Reprice>(PATH))?.run;
    }
  });
  if (run?.state !== 'done' || run.before === null || run.after === null) {
    throw new CliError(`Repricing ended: ${run?.failure_reason ?? run?.state ?? 'unknown'}.`);
  }
  note(context, `${formatCountOf(run.done, 'transcript')} priced.`);
  note(context, describeSums(run.before, run.after));
}

const describeSums = (before: Sums, after: Sums): string =>
  `All costs: ${formatUsd(before.cost_usd)} → ${formatUsd(after.cost_usd)}; unpriced responses: ${formatCount(before.unpriced_responses)} → ${formatCount(after.unpriced_responses)}.`;
