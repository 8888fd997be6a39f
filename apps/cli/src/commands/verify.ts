import { Command } from 'commander';
import { type CliContext, note, print } from '../cli-context.ts';
import { formatCountOf } from '../terminal/format-values.ts';
import { whileShowing } from '../terminal/progress-bar.ts';

interface VerifyOptions {
  json?: boolean;
  rebuild?: boolean;
  workspace: string;
}

export function createVerifyCommand(context: CliContext): Command {
  return new Command('verify')
    .description('Recompute all derived rows from their sources and compare each')
    .option('--rebuild', 'rebuild sessions, ledger and roll-ups first')
    .option('--json', 'print JSON')
    .option('--workspace <name>', 'workspace', 'default')
    .addHelpText(
      'after',
      `
Checks the figures of transcripts and sessions, which copies of a response and of a tool call count, the usage ledger,
the roll-ups and the findings. Works on DATABASE_URL, else on the local installation, which must be running; ingestion
may continue. Exits with 1 if a row differs.

Examples:
  $ recount verify
  $ recount verify --rebuild`,
    )
    .action((options: VerifyOptions) => verify(context, options));
}

async function verify(context: CliContext, options: VerifyOptions): Promise<void> {
  const { findWorkspace, withDatabase } = await import('../connection/open-installation.ts');
  const { verifyUsage } = await import('@recount/db');
  const checks = await withDatabase(context, async (database) => {
    const workspaceId = await findWorkspace(database, options.workspace);
    if (options.rebuild) {
      const { toOperator } = await import('../connection/operator.ts');
      const { rebuildUsage } = await import('@recount/ingest');
      let count = 0;
      await whileShowing(
        context.stderr,
        () => `${formatCountOf(count, 'session')} rebuilt`,
        async () => {
          for await (const _sessionId of rebuildUsage({ database }, workspaceId, toOperator())) count += 1;
        },
      );
      note(context, `${formatCountOf(count, 'session')} rebuilt.`);
    }
    return await whileShowing(
      context.stderr,
      () => 'Counting everything again',
      () => database.withSnapshot((snapshot) => verifyUsage(snapshot, workspaceId)),
    );
  });
  if (checks.some(({ missing, surplus }) => missing + surplus > 0)) context.exitCode = 1;
  if (options.json) return print(context, JSON.stringify(checks, null, 2));
  const width = Math.max(...checks.map(({ table }) => table.length));
  for (const { table, rows, missing, surplus } of checks) {
    const finding = missing + surplus === 0 ? 'equal to a full recount' : `${missing} missing, ${surplus} surplus`;
    print(context, `${table.padEnd(width)} ${String(rows).padStart(9)} rows  ${finding}`);
  }
}
