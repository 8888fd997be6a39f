import type { UnattributedList } from '@recount/contract';
import { Command } from 'commander';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, printJson } from '../terminal/cli-context.ts';
import { formatCount, formatDecimal } from '../terminal/format-values.ts';
import { printTable } from '../terminal/print-table.ts';
import { ask, PAGE_ROWS, readPeople } from './people-requests.ts';

/** Adds the commands that list people, and names that no person has. */
export function addListCommands(people: Command, context: CliContext): void {
  const list = addPlaceOptions(new Command('list'))
    .description('List people with their teams, sessions and cost')
    .option('--search <text>', 'part of a name')
    .option('--team <name>', 'only who is in this team today')
    .option('--json', 'print JSON')
    .action((options: PlaceOptions & { search?: string; team?: string }) => listPeople(context, options));
  people.addCommand(list, { isDefault: true });
  addPlaceOptions(people.command('unattributed'))
    .description('List names of sessions that no person has, with people who may be meant')
    .option('--json', 'print JSON')
    .action((options: PlaceOptions) => listUnattributed(context, options));
}

const formatCost = (cost: number | null): string => (cost === null ? '–' : `$${formatDecimal(cost, 2)}`);
const toDay = (iso: string | null): string => iso?.slice(0, 10) ?? '';

const PEOPLE_COLUMNS = [
  { header: 'PERSON', minWidth: 14 },
  { header: 'TEAM', minWidth: 8 },
  { header: 'COST CENTRE', isOptional: true, rank: 1 },
  { header: 'SESSIONS', align: 'right' as const },
  { header: 'COST', align: 'right' as const },
  { header: 'LAST', isOptional: true, rank: 2 },
  { header: 'NAMES', minWidth: 16, isOptional: true, rank: 3 },
];

async function listPeople(
  context: CliContext,
  { search, team, ...options }: PlaceOptions & { search?: string; team?: string },
): Promise<void> {
  const people = await withClient(context, options, (client) => readPeople(client, { search, team, figures: 'true' }));
  if (options.json) return printJson(context, { people });
  if (people.length === 0)
    return note(context, 'No people. `recount people unattributed` lists the names of sessions.');
  const rows = people.map((person) => [
    person.display_name,
    person.team ?? '–',
    person.cost_centre ?? '',
    formatCount(person.figures?.sessions ?? 0),
    formatCost(person.figures?.cost_usd ?? null),
    toDay(person.figures?.last_timestamp ?? null),
    [...person.names, ...person.merged.flatMap(({ names }) => names)].join(', '),
  ]);
  printTable(context, PEOPLE_COLUMNS, rows);
}

const NAME_COLUMNS = [
  { header: 'NAME', minWidth: 14 },
  { header: 'SESSIONS', align: 'right' as const },
  { header: 'COST', align: 'right' as const },
  { header: 'LAST', isOptional: true, rank: 1 },
  { header: 'MAY BE', minWidth: 14, isOptional: true, rank: 2 },
];

async function listUnattributed(context: CliContext, options: PlaceOptions): Promise<void> {
  const list = await withClient(context, options, (client) =>
    ask<UnattributedList>(client, '/v1/people/unattributed', { query: { limit: PAGE_ROWS } }),
  );
  if (options.json) return printJson(context, list);
  if (list.names.length === 0) return note(context, 'Every session belongs to a person.');
  const rows = list.names.map(({ name, sessions, cost_usd: cost, last_timestamp: last, suggestions }) => [
    name ?? '(no name)',
    formatCount(sessions),
    formatCost(cost),
    toDay(last),
    suggestions.map((person) => person.display_name).join(', '),
  ]);
  printTable(context, NAME_COLUMNS, rows);
  if (list.next_cursor !== null) note(context, `These are the ${PAGE_ROWS} most expensive.`);
}
