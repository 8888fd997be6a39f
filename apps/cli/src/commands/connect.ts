import { homedir } from 'node:os';
import { dirname, parse, resolve } from 'node:path';
import { Command, Option } from 'commander';
import type { Connection } from '../connection/connection.ts';
import { toDataDirectory } from '../data-directory/data-directory.ts';
import { ask } from '../terminal/ask.ts';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';

interface ConnectOptions {
  keyFile?: string;
  enrolKeyFile?: string;
  machine?: string;
  person?: string;
  exclude: string[];
  usageOnly?: string[] | true;
  redact?: boolean;
  warnAtBudget?: string[];
  stopAtBudget?: string[];
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
    .option(
      '--enrol-key-file <file>',
      'file with an enrolment key, which this machine exchanges for its own key; default: RECOUNT_ENROL_KEY',
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
    .option('--warn-at-budget <name...>', 'budgets that Claude Code and Codex warn of once they are reached')
    .option('--stop-at-budget <name...>', 'budgets that, once reached, let Claude Code and Codex answer no prompt')
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
An enrolment key (\`recount keys create --role enrol\`) lets a fleet in without a person: each machine exchanges it for
its own key, unless it has a valid one, and does not store it. Run the command as often as you like.
\`recount disconnect\` undoes it all.

Examples:
  $ recount connect https://recount.example.com
  $ recount connect https://recount.example.com --key-file key.txt --person ada@example.com --yes
  $ recount connect https://recount.example.com --enrol-key-file /etc/recount/enrol-key --yes
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
  const { startSender } = await import('../collector/send.ts');
  const { showFound, showNotRead, showPlan } = await import('../collector/connection-plan.ts');
  const plan = await planConnection(context, url.replace(/\/+$/, ''), options);
  const { changes, connection, owner } = plan;
  if (owner !== undefined && options.person !== undefined && options.person !== owner) {
    note(context, `The key belongs to ${owner}: the server names that person, whatever --person says.`);
  }
  showPlan(context, connection, changes, plan);
  if (options.dryRun) return await showFound(context, connection);
  const isAgreed = options.yes || changes.every(({ after }) => after === undefined) || (await confirm(context));
  await store(context, plan, options);
  if (options.hooks && isAgreed) await addHooks(context, plan);
  if (options.hooks && !isAgreed) {
    note(context, 'The settings are unchanged. Run `recount send`, e.g. from cron, to send new content.');
  }
  startSender(context);
  await showNotRead(context);
  const { url: server, machine, person } = connection;
  print(context, `Connected to ${server} as ${machine}, ${person ?? 'no person set'}.`);
  print(context, 'Existing sessions are sent in the background; `recount connect` shows the progress.');
}

type ConnectionPlan = Awaited<ReturnType<typeof planConnection>>;

/** Obtains a key, and decides what is sent and which settings change. Changes nothing on this machine. */
async function planConnection(context: CliContext, url: string, options: ConnectOptions) {
  const { readConnection, suggestNames, toCollectorFolder } = await import('../connection/connection.ts');
  const { listMissingFolders, toBudgetHookCommand, toHookCommand } = await import('@recount/collect');
  const { readBudgetsOf } = await import('../collector/remember-budgets.ts');
  const { planChanges } = await import('../collector/connection-plan.ts');
  const { checkKey, findKey, obtainKey } = await import('../collector/api-key.ts');
  const earlier = await readConnection(context);
  const names = suggestNames();
  const wanted = {
    url,
    keyFile: options.keyFile,
    enrolKeyFile: options.enrolKeyFile,
    person: options.person,
    known: earlier?.url === url ? earlier.key : undefined,
    machine: options.machine ?? names.machine,
  };
  // A dry run shows what would be sent also to a machine that no admin has approved.
  const key = options.dryRun ? await findKey(context, wanted) : await obtainKey(context, wanted);
  const holder = key === undefined ? undefined : await checkKey(url, key);
  if (key === undefined) note(context, 'No key yet: without --dry-run, a code for an admin to approve would be shown.');
  const folder = toCollectorFolder(context);
  const command = toHookCommand(folder, process.platform);
  const budgets = toBudgets(options);
  const prompt = {
    command: toBudgetHookCommand(folder, process.platform),
    isWanted: options.hooks && budgets.length > 0,
  };
  const connection: Connection = {
    url,
    key: key ?? '',
    machine: options.machine ?? earlier?.machine ?? names.machine,
    person: options.person ?? holder?.person ?? earlier?.person ?? names.person,
    excludes: toFolders(context, options.exclude),
    usageOnly:
      options.usageOnly === true ? [parse(context.workingDirectory).root] : toFolders(context, options.usageOnly),
    redacts: options.redact ?? false,
    ...(budgets.length > 0 && { budgets }),
    hooks: earlier?.hooks ?? [],
    hookCommand: options.hooks ? command : null,
    madeFolders: [...(earlier?.madeFolders ?? []), ...listMissingFolders(toDataDirectory(context).path)],
    connectedAt: new Date().toISOString(),
  };
  return {
    ...{ earlier, connection, folder, command, prompt, owner: holder?.person ?? undefined },
    changes: options.hooks ? await planChanges(context, command, prompt) : [],
    // Fails now rather than at each prompt, for a name that the server lacks or a key that reads no figures.
    figures: budgets.length > 0 && key !== undefined ? await readBudgetsOf(connection) : undefined,
  };
}

/** Stores the connection and the programs that hooks call, which are written before the hooks. */
async function store(
  context: CliContext,
  { connection, earlier, figures, folder, prompt }: ConnectionPlan,
  { hooks }: ConnectOptions,
): Promise<void> {
  const { writeConnection } = await import('../connection/connection.ts');
  const { removeHooks, writeBudgetHookProgram, writeHookProgram } = await import('@recount/collect');
  const { writeBudgets } = await import('../collector/remember-budgets.ts');
  const { toSenderCommand } = await import('../collector/this-machine.ts');
  // Written before the settings, because hooks need it, and after a failure `disconnect` finds what was changed.
  await writeConnection(context, connection);
  await writeBudgets(context, figures);
  if (!hooks && earlier?.hookCommand) {
    for (const each of [earlier.hookCommand, prompt.command]) await removeHooks(earlier.hooks, each);
  }
  // Also without hooks, because the plugin calls it.
  await writeHookProgram(folder, toSenderCommand(), process.platform);
  if (prompt.isWanted) await writeBudgetHookProgram(folder, toSenderCommand(), process.platform);
}

/** Changes the agents' settings, after it stored what they were. */
async function addHooks(context: CliContext, { changes, connection }: ConnectionPlan): Promise<void> {
  const { writeConnection } = await import('../connection/connection.ts');
  const { applyHooks, listMissingFolders } = await import('@recount/collect');
  const planned = changes.flatMap(({ file, before, after }) =>
    after === undefined ? [] : [{ path: file.path, before: toOriginal(connection, file.path, before), after }],
  );
  const known = connection.hooks.filter(({ path }) => !planned.some((change) => change.path === path));
  const made = planned.flatMap(({ path }) => listMissingFolders(dirname(path)));
  const madeFolders = [...(connection.madeFolders ?? []), ...made];
  await writeConnection(context, { ...connection, hooks: [...known, ...planned], madeFolders });
  await applyHooks(changes);
}

const toFolders = ({ workingDirectory, environment }: CliContext, paths: readonly string[] = []): string[] =>
  paths.map((path) => resolve(workingDirectory, path.replace(/^~(?=$|[\\/])/, environment.HOME || homedir())));

/** The text that `recount disconnect` restores: from before an earlier connection if no one has changed the file since. */
function toOriginal({ hooks }: Connection, path: string, before: string | undefined): string | null {
  const earlier = hooks.find((hook) => hook.path === path);
  return earlier !== undefined && earlier.after === before ? earlier.before : (before ?? null);
}

function toBudgets({ warnAtBudget = [], stopAtBudget = [] }: ConnectOptions): NonNullable<Connection['budgets']> {
  const warnings = warnAtBudget.filter((name) => !stopAtBudget.includes(name));
  return [
    ...stopAtBudget.map((name) => ({ name, action: 'stop' as const })),
    ...warnings.map((name) => ({ name, action: 'warn' as const })),
  ];
}

async function confirm(context: CliContext): Promise<boolean> {
  if (!context.stdin.isTTY) {
    throw new UsageError('Give --yes to make these changes, or --no-hooks to leave the settings alone.');
  }
  return /^(y|yes)?$/i.test((await ask(context, 'Change these settings? [Y/n] ')) ?? 'n');
}

async function showConnection(context: CliContext, { json = false }: ConnectOptions): Promise<void> {
  const connectionState = await import('../collector/connection-state.ts');
  await connectionState.showConnection(context, json);
}
