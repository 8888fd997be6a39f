import {
  API_KEY_SCOPES,
  type ApiKeyScope,
  DEVICE_SCOPES,
  type DeviceScope,
  isEnrolment,
  needsPerson,
  ROLE_NAMES,
  ROLES,
  type Role,
  SCOPE_WORDS,
} from '@recount/contract/access';
import type { ApiKeyRow } from '@recount/db';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { confirm } from '../terminal/confirm.ts';
import { formatTimestamp } from '../terminal/format-values.ts';
import { parseExpiry, parseTimeSpan, wholeNumber } from '../terminal/option-values.ts';
import { printTable } from '../terminal/print-table.ts';
import type { TableColumn } from '../terminal/table.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { TIME_ZONE_HELP, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';
import { addSignInCommands, WORKSPACE_OPTION } from './sign-in-links.ts';

const DEFAULT_SCOPES: ApiKeyScope[] = ['ingest', 'read'];
const JSON_OPTION = ['--json', 'print JSON'] as const;
const EXPIRES_OPTION = ['--expires <when>', 'expiry, such as 90d, 12h, 2027-01-31 or never'] as const;
const MAX_MACHINES = 1_000_000;
const parseMachines = wholeNumber(1, MAX_MACHINES);
/** Commander passes the previous value as a second argument. */
const parseExpiryOption = (text: string): number | null => parseExpiry(text);

interface KeyOptions extends TimeZoneOptions {
  workspace: string;
  name: string;
  scopes: ApiKeyScope[];
  role?: Role;
  person?: string;
  /** Milliseconds since 1970; null means never. */
  expires?: number | null;
  /** Milliseconds. */
  grace?: number;
  machines?: number;
  json?: boolean;
}

const HELP = `
Works on the database of DATABASE_URL, else on the local installation, which must be running.
Scopes:
${API_KEY_SCOPES.map((scope) => `  ${scope.padEnd(9)} ${SCOPE_WORDS[scope]}`).join('\n')}
No other scope includes operator, which reads no transcript. Roles are named sets of scopes:
${ROLE_NAMES.map((role) => `  ${role.padEnd(9)} ${ROLES[role].join(',')}`).join('\n')}
docs/security.md says what each may see.
A rotated key keeps id, name and scopes, and gets a new secret. Last uses are exact to a minute.

Examples:
  $ recount keys create --name ci --scopes ingest --expires 90d
  $ recount keys create --name 'dashboard of Ada' --role viewer --person ada@example.com
  $ recount keys create --name 'roll-out 2027' --role enrol --machines 200 --expires 30d
  $ recount keys link 01JCZ8Q4M2V7T3N5R9W0XYABCD --url https://recount.example.com
  $ recount keys approve WDJB-MJHT --person ada@example.com
  $ recount keys rotate 01JCZ8Q4M2V7T3N5R9W0XYABCD --grace 1d
  $ recount keys list --workspace research
  $ recount keys revoke 01JCZ8Q4M2V7T3N5R9W0XYABCD`;

export function createKeysCommand(context: CliContext): Command {
  const keys = new Command('keys')
    .description('Create, list, rotate and revoke API keys, and make links that sign in')
    .addHelpText('after', HELP);
  keys
    .command('create')
    .description('Create a key, and its workspace if there is none; the key is printed only once')
    .requiredOption('--name <name>', 'what the key is for')
    .option(...WORKSPACE_OPTION)
    .addOption(
      new Option('--scopes <scopes>', `some of ${API_KEY_SCOPES.join(',')}`)
        .argParser(parseScopes)
        .default(DEFAULT_SCOPES, DEFAULT_SCOPES.join(',')),
    )
    .addOption(new Option('--role <role>', 'instead of scopes').choices(ROLE_NAMES).conflicts('scopes'))
    .option('--person <name>', 'owner of the key, such as an email address; its uploads are attributed to them')
    .option('--machines <n>', 'machines that a key with the role enrol may have (default: any number)', parseMachines)
    .option(...EXPIRES_OPTION, parseExpiryOption)
    .option(...JSON_OPTION)
    .action((options: KeyOptions) => createKey(context, withRole(options)));
  keys
    .command('list')
    .description('List the keys of a workspace, revoked ones included')
    .option(...WORKSPACE_OPTION)
    .option('--tz <zone>', TIME_ZONE_HELP)
    .option('--utc', 'the same as --tz UTC')
    .option(...JSON_OPTION)
    .action((options: KeyOptions) => listKeys(context, options));
  keys
    .command('rotate')
    .description('Rotate the secret of a key, and print it once')
    .argument('<id>', 'id of the key, as `recount keys list` shows it')
    .option('--grace <span>', 'how long the old secret stays valid: 1d, 12h (default: not at all)', parseTimeSpan)
    .option(...EXPIRES_OPTION, parseExpiryOption)
    .option(...WORKSPACE_OPTION)
    .option(...JSON_OPTION)
    .action((id: string, options: KeyOptions) => rotateKey(context, id, options));
  keys
    .command('approve')
    .description('Approve the code that `recount connect` shows on another machine, which then gets its own key')
    .argument('<code>', 'such as WDJB-MJHT')
    .option(...WORKSPACE_OPTION)
    .option('--scopes <scopes>', `some of ${DEVICE_SCOPES.join(',')} (default: what the machine asks for)`, parseScopes)
    .option('--person <name>', 'owner of the machine, such as an email address; its uploads are attributed to them')
    .option(...EXPIRES_OPTION, parseExpiryOption)
    .option('-y, --yes', 'do not ask')
    .action((code: string, options: ApproveOptions) => approveDevice(context, code, options));
  keys
    .command('revoke')
    .description(
      'Revoke a key by its id, so that it is refused from now on; only an account of a provider can be restored',
    )
    .argument('<id>', 'id of the key, as `recount keys list` shows it')
    .option(...WORKSPACE_OPTION)
    .action((id: string, options: KeyOptions) => revokeKey(context, id, options));
  addSignInCommands(context, keys);
  return keys;
}

function withRole(options: KeyOptions): KeyOptions {
  const scopes = options.role === undefined ? options.scopes : [...ROLES[options.role]];
  if (needsPerson(scopes) && options.person === undefined) {
    throw new UsageError('The scope own means the sessions of the key’s owner. Name the owner with --person.');
  }
  if (isEnrolment(scopes) && scopes.length > 1) {
    throw new UsageError('The scope enrol stands alone, because its key is on every machine: pass --role enrol.');
  }
  if (options.machines !== undefined && !isEnrolment(scopes)) {
    throw new UsageError('Only a key with the role enrol has --machines.');
  }
  return { ...options, scopes };
}

export function parseScopes(text: string): ApiKeyScope[] {
  const scopes = text.split(',').map((scope) => scope.trim());
  const unknown = scopes.filter((scope) => !API_KEY_SCOPES.some((known) => known === scope));
  if (unknown.length > 0) throw new InvalidArgumentError(`Give some of ${API_KEY_SCOPES.join(',')}.`);
  return [...new Set(scopes)] as ApiKeyScope[];
}

async function createKey(context: CliContext, { workspace: name, ...key }: KeyOptions): Promise<void> {
  const [{ createApiKey, ensureWorkspace }, { withDatabase }, { toOperator }, { ulid }] = await loadModules();
  const actor = toOperator();
  const expiresAt = toIso(key.expires) ?? null;
  const newId = ulid();
  const {
    workspaceId,
    id,
    key: secret,
  } = await withDatabase(context, (database) =>
    database.withTransaction(async (transaction) => {
      const workspace = await ensureWorkspace(transaction, newId, name, actor);
      const { name: keyName, scopes, person = null, machines: machineLimit = null } = key;
      const request = { workspaceId: workspace.id, name: keyName, scopes, person, expiresAt, machineLimit, actor };
      return { workspaceId: workspace.id, ...(await createApiKey(transaction, request)) };
    }),
  );
  if (workspaceId === newId) note(context, `The workspace ${name} is new.`);
  if (key.json) {
    const { name: keyName, scopes, person = null } = key;
    return print(
      context,
      JSON.stringify({ id, name: keyName, workspace: name, scopes, person, expires_at: expiresAt, key: secret }),
    );
  }
  note(context, `Key ${id} of the workspace ${name} (${key.scopes.join(', ')}). It is shown this once:`);
  print(context, secret);
}

interface ApproveOptions extends Pick<KeyOptions, 'workspace' | 'person' | 'expires'> {
  scopes?: ApiKeyScope[];
  yes?: boolean;
}

async function approveDevice(context: CliContext, code: string, options: ApproveOptions): Promise<void> {
  const [{ approveDeviceRequest, findDeviceRequest }, { findWorkspace, withDatabase }, { toOperator }] =
    await loadModules();
  const { workspace, person = null, expires, yes = false } = options;
  const isOfDevice = (scope: ApiKeyScope): scope is DeviceScope => DEVICE_SCOPES.some((known) => known === scope);
  const scopes = options.scopes?.filter(isOfDevice);
  if (scopes?.length !== options.scopes?.length) {
    throw new UsageError(
      `A machine can only get the scopes ${DEVICE_SCOPES.join(', ')}; \`recount keys create\` creates an admin’s key.`,
    );
  }
  if (needsPerson(scopes ?? []) && person === null) {
    throw new UsageError('The scope own means the sessions of the machine’s owner. Name the owner with --person.');
  }
  await withDatabase(context, async (pool) => {
    const workspaceId = await findWorkspace(pool, workspace);
    const unknown = `No machine is waiting with the code ${code}: a code expires after ten minutes, and is approved once.`;
    const request = await findDeviceRequest(pool.database, code);
    if (request === undefined) throw new CliError(unknown);
    const machine = toSingleLine(request.machine);
    const allowed = (scopes ?? request.scopes).join(', ');
    const question = `${machine} asked at ${formatTimestamp(request.requestedAt, false)}. Create a key of the workspace ${workspace} for it (${allowed})?`;
    if (!(await confirm(context, question, yes))) return note(context, 'No key was made.');
    const approval = { workspaceId, scopes, person, keyExpiresAt: toIso(expires) ?? null, actor: toOperator() };
    const approved = await pool.withTransaction((transaction) => approveDeviceRequest(transaction, code, approval));
    if (approved === undefined) throw new CliError(unknown);
    note(context, `${machine} fetches its key within seconds; \`recount keys list\` then shows it.`);
  });
}

async function listKeys(context: CliContext, { workspace, json, ...zone }: KeyOptions): Promise<void> {
  const [{ listApiKeys }, { findWorkspace, withDatabase }] = await loadModules();
  const keys = await withDatabase(context, async (pool) =>
    listApiKeys(pool.database, await findWorkspace(pool, workspace)),
  );
  if (json) return printJson(context, keys);
  if (keys.length === 0) print(context, 'No keys.');
  else printKeys(context, keys, toTimeZone(zone));
}

/** Columns for optional fields of keys; a column that is always empty is left out. */
const KEY_FIELDS: Readonly<Record<string, 'person' | 'created_at' | 'last_used_at' | 'expires_at' | 'revoked_at'>> = {
  PERSON: 'person',
  CREATED: 'created_at',
  'LAST USED': 'last_used_at',
  EXPIRES: 'expires_at',
  REVOKED: 'revoked_at',
};

function printKeys(context: CliContext, keys: readonly ApiKeyRow[], timeZone: string): void {
  const columns: TableColumn[] = [
    { header: 'ID' },
    { header: 'NAME', minWidth: 8 },
    { header: 'KEY' },
    { header: 'SCOPES' },
    { header: 'PERSON', minWidth: 8, isOptional: true, rank: 1 },
    { header: 'CREATED', isOptional: true, rank: 0 },
    { header: 'LAST USED', isOptional: true, rank: 2 },
    { header: 'EXPIRES', isOptional: true, rank: 3 },
    { header: 'REVOKED', isOptional: true, rank: 4 },
  ].filter(({ header }) => {
    const field = KEY_FIELDS[header];
    return field === undefined || keys.some((key) => key[field] !== null);
  });
  const toCell = (key: ApiKeyRow, header: string): string => {
    const field = KEY_FIELDS[header];
    if (field === 'person') return key.person ?? '';
    if (field !== undefined) return formatTimestamp(key[field], timeZone);
    if (header === 'KEY') return `…${key.hint}`;
    if (header === 'SCOPES') return key.scopes.join(',');
    return header === 'ID' ? key.id : key.name;
  };
  const rows = keys.map((key) => columns.map(({ header }) => toCell(key, header)));
  printTable(context, columns, rows);
}

const toIso = (ms: number | null | undefined): string | null | undefined =>
  typeof ms === 'number' ? new Date(ms).toISOString() : ms;

async function rotateKey(context: CliContext, id: string, options: KeyOptions): Promise<void> {
  const [{ rotateApiKey }, { findWorkspace, withDatabase }, { toOperator }] = await loadModules();
  const { workspace, grace: graceMs = 0, expires, json } = options;
  const rotation = { graceMs, expiresAt: toIso(expires), actor: toOperator() };
  const rotated = await withDatabase(context, async (pool) => {
    const workspaceId = await findWorkspace(pool, workspace);
    return await pool.withTransaction((transaction) => rotateApiKey(transaction, workspaceId, id, rotation));
  });
  if (rotated === undefined) {
    const hint = 'or it is revoked, or has expired: --expires then gives it a later end';
    throw new CliError(`The workspace ${workspace} has no key ${id}, ${hint}.`);
  }
  const { key, expiresAt, previousExpiresAt } = rotated;
  if (json) {
    const answer = { id, workspace, expires_at: expiresAt, previous_expires_at: previousExpiresAt, key };
    return print(context, JSON.stringify(answer));
  }
  const end =
    previousExpiresAt === null
      ? 'is refused from now on'
      : `is valid until ${formatTimestamp(previousExpiresAt, toTimeZone(options))}`;
  note(context, `The old secret of key ${id} ${end}. The new one is shown this once:`);
  print(context, key);
}

async function revokeKey(context: CliContext, id: string, { workspace }: KeyOptions): Promise<void> {
  const [{ revokeApiKey }, { findWorkspace, withDatabase }, { toOperator }] = await loadModules();
  const isRevoked = await withDatabase(context, async (pool) => {
    const workspaceId = await findWorkspace(pool, workspace);
    return await pool.withTransaction((transaction) => revokeApiKey(transaction, workspaceId, id, toOperator()));
  });
  if (!isRevoked) throw new CliError(`The workspace ${workspace} has no key ${id}, or it is revoked already.`);
  note(context, `Key ${id} is revoked. \`recount keys create\` gives access again, with another key.`);
}

/** Loaded on demand: `recount --help` should not wait for the database libraries. */
function loadModules() {
  return Promise.all([
    import('@recount/db'),
    import('../connection/open-installation.ts'),
    import('../connection/operator.ts'),
    import('ulid'),
  ]);
}
