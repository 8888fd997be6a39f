import { Command } from 'commander';
import { type CliContext, note } from '../terminal/cli-context.ts';
import { formatCountOf } from '../terminal/format-values.ts';
import { whileShowing } from '../terminal/progress-bar.ts';

interface RepriceOptions {
  workspace: string;
  prices?: string;
}

export function createRepriceCommand(context: CliContext): Command {
  return new Command('reprice')
    .description('Recompute all costs after rates or overrides changed, without parsing')
    .option('--workspace <name>', 'workspace', 'default')
    .option('--prices <file>', 'path or https:// URL of a newer price list; default RECOUNT_PRICE_FILE')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL, else on the local installation, which must be running. Transcripts that have the current rates
are skipped, so an interrupted run can be repeated. The price file should be the one that API and workers have in
RECOUNT_PRICE_FILE: what is ingested next has their prices.

Examples:
  $ recount prices set prices.json && recount reprice
  $ RECOUNT_PRICE_FILE=model_prices_and_context_window.json recount reprice`,
    )
    .action((options: RepriceOptions) => reprice(context, options));
}

export async function reprice(context: CliContext, { workspace, prices: priceFile }: RepriceOptions): Promise<void> {
  const { readPriceFile } = await import('../prices/price-file.ts');
  const { findWorkspace, withDatabase } = await import('../connection/open-installation.ts');
  const { toOperator } = await import('../connection/operator.ts');
  const { readWorkspacePrices, repriceWorkspace } = await import('@recount/ingest');
  await withDatabase(context, async (database) => {
    const workspaceId = await findWorkspace(database, workspace);
    const signal = context.listenForInterruption();
    const prices = await readWorkspacePrices(database.database, workspaceId, await readPriceFile(context, priceFile));
    let count = 0;
    await whileShowing(
      context.stderr,
      () => `${formatCountOf(count, 'transcript')} priced`,
      async () => {
        for await (const _done of repriceWorkspace({ database }, workspaceId, prices, signal, toOperator())) count += 1;
      },
    );
    note(context, `${formatCountOf(count, 'transcript')} priced at ${prices.version}.`);
  });
}
