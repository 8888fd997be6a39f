import type { Team } from '@recount/contract';
import type { Command } from 'commander';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, printJson } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';
import { formatCount } from '../terminal/format-values.ts';
import { printTable } from '../terminal/print-table.ts';
import { ask, findPerson, readTeams, toOptional } from './people-requests.ts';

/** Adds the commands that list, add and change teams. */
export function addTeamCommands(people: Command, context: CliContext): void {
  addPlaceOptions(people.command('teams'))
    .description('List teams')
    .option('--json', 'print JSON')
    .action((options: PlaceOptions) => listTeams(context, options));
  addPlaceOptions(people.command('team'))
    .description('Add a team, or change one')
    .argument('<name>')
    .option('--rename <name>', 'its name in reports of all times')
    .option('--cost-centre <name>', 'cost centre of all members without one')
    .option('--no-cost-centre', 'none')
    .option('--lead <person>', 'any name of the person who leads it')
    .option('--no-lead', 'no one')
    .option('--json', 'print JSON')
    .action((name: string, options: TeamOptions) => setTeam(context, name, options));
}

const TEAM_COLUMNS = [
  { header: 'TEAM', minWidth: 10 },
  { header: 'COST CENTRE' },
  { header: 'LEAD' },
  { header: 'PEOPLE', align: 'right' as const },
];

async function listTeams(context: CliContext, options: PlaceOptions): Promise<void> {
  const teams = await withClient(context, options, readTeams);
  if (options.json) return printJson(context, { teams });
  if (teams.length === 0) return note(context, 'No teams. `recount people team NAME` adds one.');
  printTeams(context, teams);
}

function printTeams(context: CliContext, teams: readonly Team[]): void {
  const rows = teams.map(({ name, cost_centre: costCentre, lead, members }) => [
    name,
    costCentre ?? '–',
    lead?.display_name ?? '–',
    formatCount(members),
  ]);
  printTable(context, TEAM_COLUMNS, rows);
}

interface TeamOptions extends PlaceOptions {
  rename?: string;
  costCentre?: string | false;
  lead?: string | false;
}

async function setTeam(context: CliContext, name: string, options: TeamOptions): Promise<void> {
  const team = await withClient(context, options, async (client) => {
    const { costCentre, lead, rename } = options;
    const leadId = lead === undefined || lead === false ? lead : (await findPerson(client, lead)).id;
    const json = {
      ...(costCentre !== undefined && { cost_centre: toOptional(costCentre) }),
      ...(leadId !== undefined && { lead_id: toOptional(leadId) }),
    };
    const existing = (await readTeams(client)).find((each) => each.name.toLowerCase() === name.toLowerCase());
    if (existing === undefined) {
      if (rename !== undefined) throw new UsageError(`There is no team ${name}.`);
      return await ask<Team>(client, '/v1/teams', { method: 'POST', json: { name, ...json } });
    }
    const change = { ...json, ...(rename !== undefined && { name: rename }) };
    if (Object.keys(change).length === 0) throw new UsageError(`There is a team ${name}. Say what to change.`);
    return await ask<Team>(client, `/v1/teams/${existing.id}`, { method: 'PATCH', json: change });
  });
  if (options.json) return printJson(context, team);
  printTeams(context, [team]);
}
