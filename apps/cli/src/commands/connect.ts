import { homedir } from 'node:os';
import { dirname, parse, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Command, Option } from 'commander';
import type { Connection } from '../connection/connection.ts';
import { toDataDirectory } from '../data-directory/data-directory.ts';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';

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
    .description('Upload the sessions of this machine’s agents to a recount server, both existing and new ones')
    .argument(
      '[url]',
      'server, such as https://recount.example.com; without it, shows what this machine is connected to',
    )
    .option(
      '--key-file <file>',
      'file with the API key; default: RECOUNT_API_KEY, else a prompt, or a code that an admin approves',
    )
    .option('--machine <name>', 'name of this machine in reports (default: its host name)')
    .option('--person <name>', 'whose sessions these are (default: the person of the key, else the user name here)')
    .addOption(
      new Option(
        '--exclude <folder...>',
        'working directories whose sessions are not sent, including everything below',
      ).default([], 'none'),
    )
    .option(
      '--usage-only [folder...]',
      'working directories whose sessions are sent with only tokens, tool names and times; without one, all',
    )
    .option('--redact', 'remove secrets such as API keys before anything is sent')
    .option('--no-hooks', 'leave the agents’ settings alone; send sessions with `recount send`, e.g. from cron')
    .option('--dry-run', 'show what would be changed and sent, and do nothing')
    .option('-y, --yes', 'change the agents’ settings without asking')
    .option('--json', 'print the state of the connection as JSON')
    .addHelpText(
      'after',
      `
The agents' settings get hooks that note which session changed: existing hooks stay, and additions are shown first. A
background process then sends new content once the file is no longer written to. Without a network, sessions are kept
until they can be sent, even if the agent deletes them. The key is stored in the data directory (~/.recount), readable
by its owner only; it needs the scope ingest. Without one, a code is shown, and running \`recount keys approve CODE\`
on the server approves this machine.
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
    throw new UsageError(`${url} is not a server’s URL, such as https://recount.example.com`);
  }
  const { readConnection, suggestNames, toCollectorFolder, writeConnection } = await import(
    '../connection/connection.ts'
  );
  const { applyHooks, listMissingFolders, removeHooks, toHookCommand, writeHookProgram } = await import(
    '@recount/collect'
  );
  const { startSender } = await import('../collector/send.ts');
  const { toSenderCommand } = await import('../collector/this-machine.ts');
  const { planChanges, showFound, showNotRead, showPlan } = await import('../collector/connection-plan.ts');
  const { checkKey, obtainKey } = await import('../collector/api-key.ts');
  const server = url.replace(/\/+$/, '');
  const earlier = await readConnection(context);
  const names = suggestNames();
  const key = await obtainKey(context, {
    url: server,
    keyFile: options.keyFile,
    known: earlier?.url === server ? earlier.key : undefined,
    machine: options.machine ?? names.machine,
  });
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
    madeFolders: [...(earlier?.madeFolders ?? []), ...listMissingFolders(toDataDirectory(context).path)],
    connectedAt: new Date().toISOString(),
  };
  if (holder.person !== null && options.person !== undefined && options.person !== holder.person) {
    note(context, `The key belongs to ${holder.person}: the server names that person, whatever --person says.`);
  }
  showPlan(context, connection, changes, command);
  if (options.dryRun) return await showFound(context, connection);
  const isAgreed = options.yes || changes.every(({ after }) => after === undefined) || (await confirm(context));
  // Written before the settings, because hooks need it, and after a failure `disconnect` finds what was changed.
  await writeConnection(context, connection);
  if (!options.hooks && earlier?.hookCommand) await removeHooks(earlier.hooks, earlier.hookCommand);
  // Also without hooks, because the plugin calls it.
  await writeHookProgram(folder, toSenderCommand(), process.platform);
  if (isAgreed && options.hooks) {
    const planned = changes.flatMap(({ file, before, after }) =>
      after === undefined ? [] : [{ path: file.path, before: before ?? null, after }],
    );
    const known = connection.hooks.filter(({ path }) => !planned.some((change) => change.path === path));
    const made = planned.flatMap(({ path }) => listMissingFolders(dirname(path)));
    const madeFolders = [...(connection.madeFolders ?? []), ...made];
    await writeConnection(context, { ...connection, hooks: [...known, ...planned], madeFolders });
    await applyHooks(changes);
  } else if (options.hooks) {
    note(context, 'The settings are unchanged. Run `recount send`, e.g. from cron, to send new content.');
  }
  startSender(context);
  await showNotRead(context);
  print(context, `Connected to ${server} as ${connection.machine}, ${connection.person ?? 'no person set'}.`);
  print(context, 'Existing sessions are sent in the background; `recount connect` shows the progress.');
}

const toFolders = ({ workingDirectory, environment }: CliContext, paths: readonly string[] = []): string[] =>
  paths.map((path) => resolve(workingDirectory, path.replace(/^~(?=$|[\\/])/, environment.HOME || homedir())));

async function confirm(context: CliContext): Promise<boolean> {
  if (!context.stdin.isTTY) {
    throw new UsageError('Give --yes to make these changes, or --no-hooks to leave the settings alone.');
  }
  const terminal = createInterface({ input: context.stdin, output: process.stderr });
  try {
    return /^(y|yes)?$/i.test((await terminal.question('Change these settings? [Y/n] ')).trim());
  } finally {
    terminal.close();
  }
}

async function showConnection(context: CliContext, { json = false }: ConnectOptions): Promise<void> {
  const connectionState = await import('../collector/connection-state.ts');
  await connectionState.showConnection(context, json);
}
