import { SIGN_IN_LINK_MS } from '@recount/contract/access';
import type { SignInLinkRefusal } from '@recount/db';
import { type Command, InvalidArgumentError } from 'commander';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatTimestamp } from '../terminal/format-values.ts';
import { parseTimeSpan } from '../terminal/option-values.ts';
import { addTimeZoneOptions, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';

interface RestoreOptions {
  workspace: string;
}

interface LinkOptions extends RestoreOptions, TimeZoneOptions {
  json?: boolean;
  /** Milliseconds. */
  valid?: number;
  url?: string;
}

/** The option for the workspace of a key. */
export const WORKSPACE_OPTION = ['--workspace <name>', 'workspace', 'default'] as const;

/** Adds the commands of `recount keys` that let people in: links that sign in, and accounts that may sign in again. */
export function addSignInCommands(context: CliContext, keys: Command): void {
  const link = keys
    .command('link')
    .description('Make a link that signs a browser in with a key, once, and print it')
    .argument('<id>', 'id of the key, as `recount keys list` shows it')
    .option('--valid <span>', 'how long it may be used: 1h, 7d; 5 minutes to 7 days (default: 1d)', parseLinkSpan)
    .option('--url <url>', 'address of the dashboard; needed with DATABASE_URL')
    .option(...WORKSPACE_OPTION)
    .option('--json', 'print JSON')
    .action((id: string, options: LinkOptions) => makeLink(context, id, options));
  addTimeZoneOptions(link);
  keys
    .command('restore')
    .description('Let an account of a sign-in provider, whose key was revoked, sign in again')
    .argument('<id>', 'id of the key, as `recount keys list` shows it')
    .option(...WORKSPACE_OPTION)
    .action((id: string, options: RestoreOptions) => restoreKey(context, id, options));
}

const parseLinkSpan = (text: string): number => {
  const ms = parseTimeSpan(text);
  if (ms >= SIGN_IN_LINK_MS.min && ms <= SIGN_IN_LINK_MS.max) return ms;
  throw new InvalidArgumentError('Give 5 minutes to 7 days, such as 2h or 3d.');
};

async function makeLink(context: CliContext, id: string, options: LinkOptions): Promise<void> {
  const [{ createSignInLink }, { findDashboardUrl, findWorkspace, withDatabase }, { toOperator }] = await loadModules();
  const { workspace, valid: validMs = SIGN_IN_LINK_MS.default, json } = options;
  const given = options.url ?? (await findDashboardUrl(context));
  const url = URL.parse(given ?? '');
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError('Name the address of the dashboard with --url, such as https://recount.example.com.');
  const made = await withDatabase(context, async (pool) => {
    const workspaceId = await findWorkspace(pool, workspace);
    const link = { workspaceId, keyId: id, validMs, actor: toOperator(), by: null, endsAt: null };
    return await pool.withTransaction((transaction) => createSignInLink(transaction, link));
  });
  if (typeof made === 'string') throw new CliError(toLinkRefusal(made, id, workspace));
  const link = `${url.origin}/sign-in#${made.code}&confirm`;
  if (json) return printJson(context, { id, workspace, url: link, expires_at: made.expiresAt });
  const end = formatTimestamp(made.expiresAt, toTimeZone(options));
  note(context, `Who opens it first is signed in with key ${id}, until ${end} at the latest. It is shown this once:`);
  print(context, link);
}

function toLinkRefusal(refusal: SignInLinkRefusal, id: string, workspace: string): string {
  if (refusal === 'account') return `The key ${id} belongs to an account of a sign-in provider, which signs in there.`;
  if (refusal === 'unknown') return `The workspace ${workspace} has no key ${id}, or it is revoked, or has expired.`;
  return `The key ${id} may not read, so there is nothing to show. Create one with a role that reads.`;
}

async function restoreKey(context: CliContext, id: string, { workspace }: RestoreOptions): Promise<void> {
  const [{ restoreAccountKey }, { findWorkspace, withDatabase }, { toOperator }] = await loadModules();
  const isRestored = await withDatabase(context, async (pool) => {
    const workspaceId = await findWorkspace(pool, workspace);
    return await pool.withTransaction((transaction) => restoreAccountKey(transaction, workspaceId, id, toOperator()));
  });
  if (!isRestored) {
    const hint = '`recount keys create` gives access again after a key was revoked';
    throw new CliError(`The workspace ${workspace} has no revoked key ${id} of a provider’s account. ${hint}.`);
  }
  note(context, `The account of key ${id} may sign in again.`);
}

/** Loaded on demand: `recount --help` should not wait for the database libraries. */
function loadModules() {
  return Promise.all([
    import('@recount/db'),
    import('../connection/open-installation.ts'),
    import('../connection/operator.ts'),
  ]);
}
