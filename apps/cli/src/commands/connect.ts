import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { parse, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { CollectorStatus, Disclosure, HookChange } from '@recount/collect';
import type { KeyHolderAnswer } from '@recount/contract';
import { Command, Option } from 'commander';
import { type CliContext, note, print } from '../cli-context.ts';
import { CliError, UsageError } from '../cli-error.ts';
import type { Connection } from '../collector/connection.ts';
import { formatBytes, formatCountOf, formatTimestamp } from '../terminal/format-values.ts';

interface ConnectOptions {
  keyFile?: string;
  machine?: string;
  person?: string;
  exclude: string[];
  usageOnly?: string[] | true;
  redact?: boolean;
  hooks: boolean;
  yes?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

export function createConnectCommand(context: CliContext): Command {
  return new Command('connect')
    .description('Send the sessions of this machine’s agents to a recount server, now and from now on')
    .argument('[url]', 'server, such as https://recount.example.com; left out, says what this machine is connected to')
    .option(
      '--key-file <file>',
      'file with the API key; default: RECOUNT_API_KEY, else it is asked for, or an admin approves a code',
    )
    .option('--machine <name>', 'name of this machine in reports (default: its host name)')
    .option('--person <name>', 'whose sessions these are (default: the person of the key, else the user name here)')
    .addOption(
      new Option(
        '--exclude <folder...>',
        'working directories whose sessions are not sent, with all below them',
      ).default([], 'none'),
    )
    .option(
      '--usage-only [folder...]',
      'working directories of whose sessions only tokens, tool names and times are sent; without one, of all',
    )
    .option('--redact', 'take secrets such as API keys out before anything is sent')
    .option('--no-hooks', 'leave the agents’ settings alone: sessions are sent by `recount send`, e.g. from cron')
    .option('--dry-run', 'show what would be changed and sent, and do nothing')
    .option('-y, --yes', 'change the agents’ settings without asking')
    .option('--json', 'print the state of the connection as JSON')
    .addHelpText(
      'after',
      `
The agents' settings get hooks that note which session changed: existing hooks stay, and what is added is shown first.
A sender in the background then sends what is new, once the file rests. Without a network, sessions wait and are kept, even if the
agent deletes them. The key is stored in the data directory (~/.recount), for its owner alone; it needs the scope ingest. Without one, a code
is shown, and whoever runs \`recount keys approve CODE\` on the server lets this machine in.
\`recount disconnect\` undoes it all.

Examples:
  $ recount connect https://recount.example.com
  $ recount connect https://recount.example.com --key-file key.txt --person ada@example.com --yes
  $ recount connect https://recount.example.com --exclude ~/private --dry-run
  $ recount connect`,
    )
    .action((url: string | undefined, options: ConnectOptions) =>
      url === undefined ? showConnection(context, options) : connect(context, url, options),
    );
}

async function connect(context: CliContext, url: string, options: ConnectOptions): Promise<void> {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw new UsageError(`${url} is no URL of a server, such as https://recount.example.com`);
  }
  const { readConnection, suggestNames, toCollectorFolder, writeConnection } = await import(
    '../collector/connection.ts'
  );
  const { applyHooks, removeHooks, toHookCommand, writeHookProgram } = await import('@recount/collect');
  const { startSender } = await import('../collector/send.ts');
  const { toSenderCommand } = await import('../collector/this-machine.ts');
  const server = url.replace(/\/+$/, '');
  const earlier = await readConnection(context);
  const names = suggestNames();
  const known = await readKey(context, options, earlier?.url === server ? earlier.key : undefined);
  const key = known || (await askForKey(context, server, options.machine ?? names.machine));
  const holder = await checkKey(server, key);
  const folder = toCollectorFolder(context);
  const command = toHookCommand(folder, process.platform);
  const changes = options.hooks ? await planChanges(context, command) : [];
  const connection: Connection = {
    url: server,
    key,
    machine: options.machine ?? earlier?.machine ?? names.machine,
    person: options.person ?? holder.person ?? earlier?.person ?? names.person,
    excludes: toFolders(context, options.exclude),
    usageOnly:
      options.usageOnly === true ? [parse(context.workingDirectory).root] : toFolders(context, options.usageOnly),
    redacts: options.redact ?? false,
    hooks: earlier?.hooks ?? [],
    hookCommand: options.hooks ? command : null,
    connectedAt: new Date().toISOString(),
  };
  if (holder.person !== null && options.person !== undefined && options.person !== holder.person) {
    note(context, `The key belongs to ${holder.person}: the server names that person, whatever --person says.`);
  }
  showPlan(context, connection, changes, command);
  if (options.dryRun) return await showFound(context, connection);
  const isAgreed = options.yes || changes.every(({ after }) => after === undefined) || (await confirm(context));
  // Before the settings: hooks need it, and whatever happens then, disconnecting finds what was changed.
  await writeConnection(context, connection);
  if (!options.hooks && earlier?.hookCommand) await removeHooks(earlier.hooks, earlier.hookCommand);
  // Also without hooks: the plugin calls it.
  await writeHookProgram(folder, toSenderCommand(), process.platform);
  if (isAgreed && options.hooks) {
    const planned = changes.flatMap(({ file, before, after }) =>
      after === undefined ? [] : [{ path: file.path, before: before ?? null, after }],
    );
    const known = connection.hooks.filter(({ path }) => !planned.some((change) => change.path === path));
    await writeConnection(context, { ...connection, hooks: [...known, ...planned] });
    await applyHooks(changes);
  } else if (options.hooks) {
    note(context, 'The settings stay as they are: run `recount send`, e.g. from cron, to send what is new.');
  }
  startSender(context);
  print(context, `Connected to ${server} as ${connection.machine}, ${connection.person ?? 'nobody in particular'}.`);
  print(context, 'What is there is sent in the background; `recount connect` says how far it is.');
}

const toFolders = ({ workingDirectory, environment }: CliContext, paths: readonly string[] = []): string[] =>
  paths.map((path) => resolve(workingDirectory, path.replace(/^~(?=$|[\\/])/, environment.HOME || homedir())));

/** The scopes are checked now: a key that cannot upload would fail unseen. */
async function checkKey(url: string, key: string): Promise<KeyHolderAnswer> {
  const { createApiClient } = await import('../connection/api-client.ts');
  const holder = await createApiClient({ url, key }).request<KeyHolderAnswer>('/v1/key');
  if (holder === undefined) throw new CliError(`${url} is a recount of an earlier version: update it first.`);
  if (!holder.scopes.some((scope) => scope === 'ingest' || scope === 'admin')) {
    throw new CliError(`The key has the scopes ${holder.scopes.join(', ')}; sending sessions needs ingest.`);
  }
  return holder;
}

/** Empty if the user has none. */
async function readKey(context: CliContext, { keyFile }: ConnectOptions, known = ''): Promise<string> {
  if (keyFile !== undefined) {
    const text = await readFile(resolve(context.workingDirectory, keyFile), 'utf8').catch((error) => {
      throw new CliError(`Cannot read ${keyFile}: ${(error as NodeJS.ErrnoException).code}`);
    });
    return text.trim();
  }
  const key = context.environment.RECOUNT_API_KEY || known;
  if (key || !context.stdin.isTTY) return key;
  // What is typed is not shown.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: context.stdin, output: silent, terminal: true });
  context.stderr.write(
    'API key (`recount keys create --name laptop --scopes ingest` makes one; Enter without one shows a code): ',
  );
  try {
    return (await terminal.question('')).trim();
  } finally {
    terminal.close();
    context.stderr.write('\n');
  }
}

async function askForKey(context: CliContext, url: string, machine: string): Promise<string> {
  const { fetchKeyByCode } = await import('../collector/device-code.ts');
  return await fetchKeyByCode(context, url, machine);
}

async function planChanges(context: CliContext, command: string): Promise<HookChange[]> {
  const [{ listHookFiles, planHooks }, { toMachine }] = await Promise.all([
    import('@recount/collect'),
    import('../collector/this-machine.ts'),
  ]);
  return await planHooks(listHookFiles(toMachine(context)), command);
}

function showPlan(
  context: CliContext,
  { url, machine, person, excludes, usageOnly = [], redacts }: Connection,
  changes: readonly HookChange[],
  command: string,
): void {
  note(context, `Server   ${url}\nMachine  ${machine}\nPerson   ${person ?? ''}`);
  if (excludes.length > 0) note(context, `Not sent ${excludes.join(', ')}`);
  if (usageOnly.length > 0) note(context, `Usage only, without texts: ${usageOnly.join(', ')}`);
  if (redacts) note(context, 'Secrets are taken out before anything is sent.');
  for (const { file, before, after, problem } of changes) {
    note(context, '');
    if (problem !== undefined) {
      note(
        context,
        `${file.path} stays as it is. ${problem}: add the hooks yourself, or run \`recount send\` from cron.`,
      );
    } else if (after === undefined) {
      note(context, `${file.path} has the hooks already.`);
    } else {
      note(
        context,
        `${file.path}${before === undefined ? ', a new file,' : ''} gets a hook of ${file.label} for each of`,
      );
      note(context, `  ${file.events.join(', ')}:`);
      note(context, `  ${file.toEntry === undefined ? command : JSON.stringify(file.toEntry(command))}`);
      if (file.hint !== undefined) note(context, file.hint);
    }
  }
  note(context, '');
}

async function confirm(context: CliContext): Promise<boolean> {
  if (!context.stdin.isTTY) {
    throw new UsageError('Give --yes to have the settings changed so, or --no-hooks to leave them alone.');
  }
  const terminal = createInterface({ input: context.stdin, output: process.stderr });
  try {
    return /^(y|yes)?$/i.test((await terminal.question('Change these settings? [Y/n] ')).trim());
  } finally {
    terminal.close();
  }
}

/** What would be sent of which session, by reading the beginning of each. */
async function showFound(context: CliContext, connection: Connection): Promise<void> {
  const [collect, { toCollectorFolder }, { toMachine }, { createDisclosure }] = await Promise.all([
    import('@recount/collect'),
    import('../collector/connection.ts'),
    import('../collector/this-machine.ts'),
    import('../collector/disclosure.ts'),
  ]);
  const folder = toCollectorFolder(context);
  const log = await collect.openSentLog(folder.sentLog);
  const decide = createDisclosure(connection);
  let sizeBytes = 0;
  let count = 0;
  const show = (name: string, disclosure: Disclosure): void => {
    count += disclosure.kind === 'nothing' ? 0 : 1;
    const remark =
      disclosure.kind === 'everything'
        ? ''
        : disclosure.kind === 'rewritten'
          ? disclosure.what
          : `not: ${disclosure.reason}`;
    print(context, remark === '' ? name : `${name}  (${remark})`);
  };
  for (const { path } of await collect.listChanged(toMachine(context), log)) {
    const disclosure = decide?.(path.replace(/\.(zst|gz)$/, ''), await collect.readHead(path)) ?? EVERYTHING;
    show(path, disclosure);
    if (disclosure.kind !== 'nothing') sizeBytes += (await stat(path)).size;
  }
  const memory = await collect.openSessionMemory(folder.databases);
  for await (const item of collect.readSessions(await collect.listDatabases(toMachine(context)), { memory })) {
    if (item.kind !== 'transcript') continue;
    const head: Uint8Array[] = [];
    for await (const chunk of await item.open()) {
      if (head.length === 0) head.push(chunk);
      sizeBytes += chunk.length;
    }
    show(item.location, decide?.(item.path, Buffer.concat(head)) ?? EVERYTHING);
  }
  note(
    context,
    `${formatCountOf(count, 'session')} would be sent, ${formatBytes(sizeBytes)} before they are compressed.`,
  );
}

const EVERYTHING: Disclosure = { kind: 'everything' };

async function showConnection(context: CliContext, { json }: ConnectOptions): Promise<void> {
  const { requireConnection, toCollectorFolder } = await import('../collector/connection.ts');
  const { listWaiting, openSentLog, readHookNotes, readJson } = await import('@recount/collect');
  const connection = await requireConnection(context);
  const folder = toCollectorFolder(context);
  const status = (await readJson<CollectorStatus>(folder.status)) ?? {};
  const sent = [...(await openSentLog(folder.sentLog)).files()];
  const refused = sent.filter(({ transcriptId }) => transcriptId === null);
  const waiting = (await listWaiting(folder)).length + (await readHookNotes(folder)).length;
  const { url, machine, person, excludes, usageOnly = [], redacts = false, hookCommand } = connection;
  const state = {
    ...{ url, machine, person, excludes, usage_only: usageOnly, redacts, has_hooks: hookCommand !== null, waiting },
    ...{ sent: sent.length - refused.length, refused: refused.map(({ path, reason }) => ({ path, reason })) },
    ...{ last_success_at: status.lastSuccessAt ?? null, last_sweep_at: status.lastSweepAt ?? null },
    last_error: status.lastError ?? null,
  };
  if (status.lastError !== undefined) context.exitCode = 1;
  if (json) return print(context, JSON.stringify(state, null, 2));
  const toTime = (timestamp: string | undefined): string => formatTimestamp(timestamp ?? null, false) || '–';
  print(context, `Connected to ${url} as ${machine}, ${person ?? 'nobody in particular'}`);
  print(context, `Hooks        ${hookCommand === null ? 'none' : connection.hooks.map(({ path }) => path).join(', ')}`);
  print(
    context,
    `Sent         ${formatCountOf(state.sent, 'session file')}, the last at ${toTime(status.lastSuccessAt)}`,
  );
  print(context, `Waiting      ${waiting}`);
  if (usageOnly.length > 0) print(context, `Usage only   ${usageOnly.join(', ')}`);
  if (redacts) print(context, 'Secrets      are taken out before anything is sent');
  if (refused.length > 0) {
    print(context, `Not sent     ${refused.length}`);
    for (const { path, reason } of refused.slice(0, 10)) print(context, `  ${path}: ${reason}`);
  }
  if (status.lastError !== undefined) {
    print(context, `Last error   ${toTime(status.lastError.at)}: ${status.lastError.message}`);
  }
}
