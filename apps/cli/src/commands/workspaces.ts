import { Command } from 'commander';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';

/** Length of a ULID. */
const ID_LENGTH = 26;

export function createWorkspacesCommand(context: CliContext): Command {
  const workspaces = new Command('workspaces').description('List, create and delete workspaces').addHelpText(
    'after',
    `
Works on DATABASE_URL and RECOUNT_RAW_STORE, else on the local installation, which must be running.

Examples:
  $ recount workspaces create research
  $ recount workspaces delete research --yes`,
  );
  workspaces
    .command('list')
    .description('List all workspaces')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) => listWorkspaces(context, json ?? false));
  workspaces
    .command('create')
    .description('Create a workspace')
    .argument('<name>')
    .action((name: string) => createWorkspace(context, name));
  workspaces
    .command('delete')
    .description('Delete a workspace permanently, with all of its transcripts, figures, keys and raw objects')
    .argument('<name>')
    .option('--yes', 'skip the confirmation')
    .action((name: string, { yes }: { yes?: boolean }) => deleteWorkspace(context, name, yes ?? false));
  return workspaces;
}

async function listWorkspaces(context: CliContext, json: boolean): Promise<void> {
  const { withDatabase } = await import('../connection/open-installation.ts');
  const db = await import('@recount/db');
  const workspaces = await withDatabase(context, ({ database }) => db.listWorkspaces(database));
  if (json) return printJson(context, workspaces);
  for (const { id, name } of [{ id: 'ID'.padEnd(ID_LENGTH), name: 'NAME' }, ...workspaces])
    print(context, `${id}  ${name}`);
}

async function createWorkspace(context: CliContext, name: string): Promise<void> {
  const { withDatabase } = await import('../connection/open-installation.ts');
  const { toOperator } = await import('../connection/operator.ts');
  const { ensureWorkspace } = await import('@recount/db');
  const { ulid } = await import('ulid');
  if (name.trim() === '') throw new UsageError('A workspace needs a name.');
  const newId = ulid();
  const { id } = await withDatabase(context, (database) =>
    database.withTransaction((transaction) => ensureWorkspace(transaction, newId, name, toOperator())),
  );
  if (id !== newId) throw new CliError(`There is a workspace ${name} already.`);
  print(context, id);
}

async function deleteWorkspace(context: CliContext, name: string, isSure: boolean): Promise<void> {
  if (!isSure) throw new UsageError(`This deletes everything in ${name} permanently. Pass --yes to confirm.`);
  const { withInstallation } = await import('../connection/open-installation.ts');
  const { findWorkspaceByName } = await import('@recount/db');
  const { toOperator } = await import('../connection/operator.ts');
  const ingest = await import('@recount/ingest');
  await withInstallation(context, async (installation) => {
    const workspace = await findWorkspaceByName(installation.database.database, name);
    if (workspace === undefined) throw new CliError(`There is no workspace ${name}.`);
    await ingest.deleteWorkspace(installation, workspace.id, toOperator());
  });
  note(context, `The workspace ${name} is deleted.`);
}
