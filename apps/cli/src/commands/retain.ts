import { Command } from 'commander';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { formatBytes, formatCountOf } from '../terminal/format-values.ts';

interface RetainOptions {
  workspace?: string;
  dryRun?: boolean;
  json?: boolean;
}

export function createRetainCommand(context: CliContext): Command {
  return new Command('retain')
    .description('Delete what exceeds the ages in `recount settings`; workers do so every hour')
    .option('--workspace <name>', 'only this workspace; default: all with an age set')
    .option('--dry-run', 'only count what would be deleted')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL and RECOUNT_RAW_STORE, else on the local installation, which must be running.

Examples:
  $ recount retain --dry-run
  $ recount retain --workspace research`,
    )
    .action((options: RetainOptions) => retain(context, options));
}

async function retain(context: CliContext, { workspace, dryRun = false, json }: RetainOptions): Promise<void> {
  const { findWorkspace, withInstallation } = await import('../connection/open-installation.ts');
  const { listRetainingWorkspaces } = await import('@recount/db');
  const { toOperator } = await import('../connection/operator.ts');
  const { retainWorkspace } = await import('@recount/ingest');
  const signal = context.listenForInterruption();
  await withInstallation(context, async (installation) => {
    if (workspace !== undefined) await findWorkspace(installation.database, workspace);
    const all = await listRetainingWorkspaces(installation.database.database);
    const chosen = all.filter(({ name }) => workspace === undefined || name === workspace);
    if (chosen.length === 0) note(context, 'Nothing is deleted by age. See `recount settings`.');
    for (const { id: workspaceId, name, settings } of chosen) {
      const request = { workspaceId, settings, nowMs: Date.now(), actor: toOperator(), dryRun, signal };
      const result = await retainWorkspace(installation, request);
      if (json) print(context, JSON.stringify({ workspace: name, dryRun, ...result }));
      else {
        const { sessions, rawObjects, rawBytes, busy } = result;
        const verb = dryRun ? 'would be deleted' : 'deleted';
        print(
          context,
          `${name}: messages of ${formatCountOf(sessions, 'session')}, ${formatCountOf(rawObjects, 'raw transcript')} (${formatBytes(rawBytes)}) ${verb}`,
        );
        if (busy > 0) note(context, `${name}: ${busy} are being written, and left to the next run.`);
      }
    }
  });
}
