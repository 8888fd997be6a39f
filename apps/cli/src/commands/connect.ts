import { homedir } from 'node:os';
import { dirname, parse, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Command, Option } from 'commander';
import { type CliContext, note, print } from '../cli-context.ts';
import { UsageError } from '../cli-error.ts';
import type { Connection } from '../collector/connection.ts';
import { toDataDirectory } from '../local/data-directory.ts';

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
        'working directories whose sessions are not sent, including everything below',
      ).default([], 'none'),
    )
    .option(
      '--usage-only [folder...]',
      'working directories whose sessions are sent with only tokens, tool names and times; without one, all',
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
  const { applyHooks, listMissingFolders, removeHooks, toHookCommand, writeHookProgram } = await import(
    '@recount/collect'
  );
  const { startSender } = await import('../collector/send.ts');
  const { toSenderCommand } = await import('../collector/this-machine.ts');
  const { planChanges, showFound, showPlan } = await import('../collector/connection-plan.ts');
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
  // Written before the settings: hooks need it, and after a failure `disconnect` finds what was changed.
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
    note(context, 'The settings stay as they are: run `recount send`, e.g. from cron, to send what is new.');
  }
  startSender(context);
  print(context, `Connected to ${server} as ${connection.machine}, ${connection.person ?? 'nobody in particular'}.`);
  print(context, 'What is there is sent in the background; `recount connect` says how far it is.');
}

const toFolders = ({ workingDirectory, environment }: CliContext, paths: readonly string[] = []): string[] =>
  paths.map((path) => resolve(workingDirectory, path.replace(/^~(?=$|[\\/])/, environment.HOME || homedir())));

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

async function showConnection(context: CliContext, { json = false }: ConnectOptions): Promise<void> {
  const connectionState = await import('../collector/connection-state.ts');
  await connectionState.showConnection(context, json);
}
