import { Command } from 'commander';
import { type CliContext, note } from '../cli-context.ts';
import { formatCountOf } from '../terminal/format-values.ts';
import { whileShowing } from '../terminal/progress-bar.ts';

interface RepriceOptions {
  workspace: string;
}

export function createRepriceCommand(context: CliContext): Command {
  return new Command('reprice')
    .description('Recompute all costs after rates or overrides changed, without parsing')
    .option('--workspace <name>', 'workspace', 'default')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL, else on the local installation, which must be running. Transcripts that have the current rates
are skipped, so an interrupted run can be repeated.

Examples:
  $ recount prices set prices.json && recount reprice`,
    )
    .action((options: RepriceOptions) => reprice(context, options));
}

export async function reprice(context: CliContext, { workspace }: RepriceOptions): Promise<void> {
  const { findWorkspace, withDatabase } = await import('../connection/open-installation.ts');
  const { toOperator } = await import('../connection/operator.ts');
  const { readWorkspacePrices, repriceWorkspace } = await import('@recount/ingest');
  await withDatabase(context, async (database) => {
    const workspaceId = await findWorkspace(database, workspace);
    const signal = context.listenForInterruption();
    const prices = await readWorkspacePrices(database.database, workspaceId);
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
