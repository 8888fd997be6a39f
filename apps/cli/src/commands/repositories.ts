import type { RepositoryList, RepositoryRenameList } from '@recount/contract';
import { Command } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatCount, formatCountOf, formatTimestamp, formatUsd } from '../terminal/format-values.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { printTable } from '../terminal/print-table.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { addTimeZoneOptions, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';

interface RepositoriesOptions extends PlaceOptions, TimeZoneOptions {
  limit?: number;
  into?: string;
}

type Rename = RepositoryRenameList['renames'][number];

const MAX_LIMIT = 10_000;
const FOLLOW_HINT = 'Stored sessions follow within seconds or minutes; `recount repositories renames` shows how far.';

export function createRepositoriesCommand(context: CliContext): Command {
  const repositories = new Command('repositories')
    .alias('repository')
    .description('List, rename and merge repositories')
    .addHelpText(
      'after',
      `
New names hold for stored sessions and for what arrives later, in all reports. They can be undone at any time, each on
its own; transcripts stay as they are. Renaming needs the scope admin.

Examples:
  $ recount repositories list
  $ recount repositories rename heron-legacy github.com/acme/heron
  $ recount repositories merge heron heron-old heron-poc --into github.com/acme/heron
  $ recount repositories renames
  $ recount repositories undo heron-old`,
    );
  const add = (usage: string, description: string): Command =>
    addPlaceOptions(repositories.command(usage)).description(description).option('--json', 'print JSON');
  addTimeZoneOptions(add('list [repository...]', 'List repositories, the most expensive first'))
    .option('--limit <n>', 'repositories', wholeNumber(1, MAX_LIMIT), 50)
    .action((names: string[], options: RepositoriesOptions) => listAll(context, names, options));
  addTimeZoneOptions(
    add('renames', 'List what is renamed or merged, by whom, and how far sessions have followed'),
  ).action((options: RepositoriesOptions) => listRenames(context, options));
  add('rename <repository> <name>', 'Give a repository a new name; if another one has it, they are merged').action(
    (repository: string, name: string, options: RepositoriesOptions) => rename(context, [repository], name, options),
  );
  add('merge <repository...>', 'Merge repositories into another one')
    .requiredOption('--into <repository>', 'the one whose name they get')
    .action((names: string[], options: RepositoriesOptions) => merge(context, names, options));
  add('undo <repository>', 'Give a repository back the name that its transcripts tell').action(
    (repository: string, options: RepositoriesOptions) => undo(context, repository, options),
  );
  return repositories;
}

const unsupported = ({ place }: ApiClient): CliError =>
  new CliError(`${place.url} cannot rename repositories. Is it an older version?`);

async function readRepositories(
  client: ApiClient,
  query: { repository?: string[]; limit?: number },
): Promise<RepositoryList> {
  const list = await client.request<RepositoryList>('/v1/repositories', { query });
  if (list === undefined) throw unsupported(client);
  return list;
}

async function readRenames(client: ApiClient): Promise<Rename[]> {
  const list = await client.request<RepositoryRenameList>('/v1/repository-renames');
  if (list === undefined) throw unsupported(client);
  return list.renames;
}

const COLUMNS = [
  { header: 'REPOSITORY', minWidth: 16, keeps: 'end' as const },
  { header: 'SESSIONS', align: 'right' as const },
  { header: 'PEOPLE', align: 'right' as const },
  { header: 'COST', align: 'right' as const },
  { header: 'LAST ACTIVITY', isOptional: true },
];

async function listAll(context: CliContext, names: string[], options: RepositoriesOptions): Promise<void> {
  await withClient(context, options, async (client) => {
    const { limit = 50 } = options;
    const list = await readRepositories(client, { limit, ...(names.length > 0 && { repository: names }) });
    if (options.json) return printJson(context, list);
    if (list.repositories.length === 0) return note(context, 'No repositories yet.');
    const timeZone = toTimeZone(options);
    const rows = list.repositories.map(({ name, sessions, people, cost_usd, last_activity }) => [
      ...[name, formatCount(sessions), formatCount(people), formatUsd(cost_usd)],
      formatTimestamp(last_activity, timeZone),
    ]);
    printTable(context, COLUMNS, rows);
    if (list.truncated) note(context, 'There are more. Raise --limit.');
  });
}

const RENAME_COLUMNS = [
  { header: 'REPOSITORY', minWidth: 16, keeps: 'end' as const },
  { header: 'SHOWN AS', minWidth: 16, keeps: 'end' as const },
  { header: 'BY', minWidth: 12, isOptional: true },
  { header: 'AT', isOptional: true },
  { header: 'STATE' },
];

async function listRenames(context: CliContext, options: RepositoriesOptions): Promise<void> {
  await withClient(context, options, async (client) => {
    const renames = await readRenames(client);
    if (options.json) return printJson(context, { renames });
    if (renames.length === 0) return note(context, 'No repository is renamed.');
    const timeZone = toTimeZone(options);
    const rows = renames.map((each) => [
      ...[each.name, each.shown_name, each.actor],
      ...[formatTimestamp(each.changed_at, timeZone), toState(each)],
    ]);
    printTable(context, RENAME_COLUMNS, rows);
  });
}

function toState({ new_name, applied_at, checked_sessions, all_sessions }: Rename): string {
  if (applied_at !== null) return 'applied';
  const what = new_name === null ? 'being undone' : 'being applied';
  if (checked_sessions === null || all_sessions === null) return `${what}, waits for a worker`;
  return `${what}, ${formatCount(checked_sessions)} of ${formatCountOf(all_sessions, 'session')}`;
}

async function merge(context: CliContext, names: string[], options: RepositoriesOptions): Promise<void> {
  await withClient(context, options, async (client) => {
    const { into = '' } = options;
    const { repositories } = await readRepositories(client, { repository: [into] });
    const found = repositories.map(({ name }) => name);
    const target = found.includes(into) ? into : found[0];
    if (target === undefined) {
      throw new UsageError(`No repository is called ${into}. \`recount repositories rename\` gives new names.`);
    }
    if (target !== into && found.length > 1) {
      throw new UsageError(`${into} matches several repositories: ${found.join(', ')}. Give the full name.`);
    }
    await send(context, client, { repositories: names, new_name: target }, options);
  });
}

async function rename(
  context: CliContext,
  repositories: string[],
  newName: string,
  options: RepositoriesOptions,
): Promise<void> {
  await withClient(context, options, (client) => send(context, client, { repositories, new_name: newName }, options));
}

async function send(
  context: CliContext,
  client: ApiClient,
  change: { repositories: string[]; new_name: string },
  { json }: RepositoriesOptions,
): Promise<void> {
  const before = new Set((await readRenames(client)).map(({ id }) => id));
  const answer = await client.request<RepositoryRenameList>('/v1/repository-renames', { method: 'POST', json: change });
  if (answer === undefined) throw unsupported(client);
  if (json) return printJson(context, answer);
  const changed = answer.renames.filter(({ id, new_name }) => new_name !== null && !before.has(id));
  if (changed.length === 0) return note(context, 'Nothing to do: they have this name already.');
  for (const each of changed) note(context, `${toSingleLine(each.name)} is now ${toSingleLine(each.shown_name)}.`);
  note(context, FOLLOW_HINT);
}

async function undo(context: CliContext, wanted: string, options: RepositoriesOptions): Promise<void> {
  await withClient(context, options, async (client) => {
    const { id, name } = findRename(await readRenames(client), wanted);
    const path = `/v1/repository-renames/${encodeURIComponent(id)}`;
    const answer = await client.request<RepositoryRenameList>(path, { method: 'DELETE' });
    if (answer === undefined) throw new CliError(`The renaming of ${toSingleLine(name)} was undone by someone else.`);
    if (options.json) return printJson(context, answer);
    note(context, `${toSingleLine(name)} has its name again. ${FOLLOW_HINT}`);
  });
}

/** By its full name, or else by a part that only it has. */
function findRename(renames: readonly Rename[], wanted: string): Rename {
  const active = renames.filter(({ new_name }) => new_name !== null);
  const exact = active.find(({ name, id }) => name === wanted || id === wanted);
  const matching = active.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()));
  const [found] = exact ? [exact] : matching;
  if (found === undefined) {
    throw new UsageError(
      `No renamed repository was called ${wanted} before. \`recount repositories renames\` lists them.`,
    );
  }
  if (exact === undefined && matching.length > 1) {
    const names = matching.map(({ name }) => toSingleLine(name));
    throw new UsageError(`${wanted} matches several: ${names.join(', ')}. Give the full name.`);
  }
  return found;
}
