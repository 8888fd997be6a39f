import type { ApiKeyRow, ApiKeyScope } from '@recount/db';
import { Command, InvalidArgumentError } from 'commander';
import { type CliContext, note, print } from '../cli-context.ts';
import { CliError } from '../cli-error.ts';
import { formatTimestamp } from '../terminal/format-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { formatTable } from '../terminal/table.ts';
import { toSingleLine } from '../terminal/text-width.ts';

const SCOPES = ['ingest', 'read', 'admin'] as const satisfies readonly ApiKeyScope[];
const DEFAULT_SCOPES: ApiKeyScope[] = ['ingest', 'read'];
const WORKSPACE_OPTION = ['--workspace <name>', 'workspace', 'default'] as const;
const JSON_OPTION = ['--json', 'print JSON'] as const;

interface KeyOptions {
  workspace: string;
  name: string;
  scopes: ApiKeyScope[];
  json?: boolean;
  utc?: boolean;
}

export function createKeysCommand(context: CliContext): Command {
  const keys = new Command('keys').description('Create, list and revoke API keys').addHelpText(
    'after',
    `
Works on the database of DATABASE_URL, else on the local installation, which must be running.
Scopes: ingest uploads, read reads, admin does everything, deleting sessions included.

Examples:
  $ recount keys create --name ci --scopes ingest
  $ recount keys list --workspace research
  $ recount keys revoke 01JCZ8Q4M2V7T3N5R9W0XYABCD`,
  );
  keys
    .command('create')
    .description('Create a key, and its workspace where there is none; the key is printed, this once')
    .requiredOption('--name <name>', 'what the key is for')
    .option(...WORKSPACE_OPTION)
    .option('--scopes <scopes>', `some of ${SCOPES.join(',')}`, parseScopes, DEFAULT_SCOPES)
    .option(...JSON_OPTION)
    .action((options: KeyOptions) => createKey(context, options));
  keys
    .command('list')
    .description('List the keys of a workspace, revoked ones included')
    .option(...WORKSPACE_OPTION)
    .option('--utc', 'show times in UTC')
    .option(...JSON_OPTION)
    .action((options: KeyOptions) => listKeys(context, options));
  keys
    .command('revoke')
    .description('Revoke a key by its id: it is refused from now on')
    .argument('<id>', 'id of the key, as `recount keys list` shows it')
    .option(...WORKSPACE_OPTION)
    .action((id: string, options: KeyOptions) => revokeKey(context, id, options));
  return keys;
}

export function parseScopes(text: string): ApiKeyScope[] {
  const scopes = text.split(',').map((scope) => scope.trim());
  const unknown = scopes.filter((scope) => !SCOPES.some((known) => known === scope));
  if (unknown.length > 0) throw new InvalidArgumentError(`Give some of ${SCOPES.join(',')}.`);
  return [...new Set(scopes)] as ApiKeyScope[];
}

async function createKey(context: CliContext, { workspace: name, ...key }: KeyOptions): Promise<void> {
  const [{ createApiKey, ensureWorkspace }, { withDatabase }, { ulid }] = await loadModules();
  const { id, key: secret } = await withDatabase(context, async ({ database }) => {
    const newId = ulid();
    const workspace = await ensureWorkspace(database, newId, name);
    if (workspace.id === newId) note(context, `The workspace ${name} is new.`);
    return await createApiKey(database, { workspaceId: workspace.id, name: key.name, scopes: key.scopes });
  });
  if (key.json)
    return print(context, JSON.stringify({ id, name: key.name, workspace: name, scopes: key.scopes, key: secret }));
  note(context, `Key ${id} of the workspace ${name} (${key.scopes.join(', ')}). It is shown this once:`);
  print(context, secret);
}

async function listKeys(context: CliContext, { workspace, json, utc = false }: KeyOptions): Promise<void> {
  const [{ listApiKeys }, { findWorkspace, withDatabase }] = await loadModules();
  const keys = await withDatabase(context, async (pool) =>
    listApiKeys(pool.database, await findWorkspace(pool, workspace)),
  );
  if (json) return print(context, JSON.stringify(keys, null, 2));
  for (const line of formatKeys(keys, utc, toPrintWidth(context.stdout))) print(context, line);
}

function formatKeys(keys: readonly ApiKeyRow[], utc: boolean, maxWidth: number): string[] {
  if (keys.length === 0) return ['No keys.'];
  const columns = ['ID', 'NAME', 'KEY', 'SCOPES', 'CREATED', 'LAST USED', 'REVOKED'].map((header) => ({
    header,
    ...(header === 'NAME' && { minWidth: 12 }),
  }));
  const rows = keys.map((key) => [
    key.id,
    toSingleLine(key.name),
    `…${key.hint}`,
    key.scopes.join(','),
    formatTimestamp(key.created_at, utc),
    formatTimestamp(key.last_used_at, utc),
    formatTimestamp(key.revoked_at, utc),
  ]);
  return formatTable(columns, rows, maxWidth);
}

async function revokeKey(context: CliContext, id: string, { workspace }: KeyOptions): Promise<void> {
  const [{ revokeApiKey }, { findWorkspace, withDatabase }] = await loadModules();
  const isRevoked = await withDatabase(context, async (pool) =>
    revokeApiKey(pool.database, await findWorkspace(pool, workspace), id),
  );
  if (!isRevoked) throw new CliError(`The workspace ${workspace} has no key ${id}, or it is revoked already.`);
  note(context, `Key ${id} is revoked.`);
}

/** Loaded when needed: `recount --help` should not wait for the database's libraries. */
function loadModules() {
  return Promise.all([import('@recount/db'), import('../connection/open-installation.ts'), import('ulid')]);
}
