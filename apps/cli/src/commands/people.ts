import { Command } from 'commander';
import { addChangeCommands } from '../people/change-people.ts';
import { addListCommands } from '../people/list-people.ts';
import { addFileCommands } from '../people/people-files.ts';
import { addTeamCommands } from '../people/teams.ts';
import type { CliContext } from '../terminal/cli-context.ts';

export function createPeopleCommand(context: CliContext): Command {
  const people = new Command('people')
    .description('People with the names of their sessions, teams and cost centres')
    .addHelpText(
      'after',
      `
Sessions arrive under several names of one person: of keys, git, machines. Say who has which, and reports show the
person and the team. A response counts for the team of its day. It needs the scope admin.

Examples:
  $ recount people unattributed
  $ recount people add "Maya Chen" --email maya@example.org --name mchen --team Core
  $ recount people edit maya@example.org --team Web --from 2026-04-01
  $ recount people merge mchen --into "Maya Chen"
  $ recount people team Core --cost-centre 4711
  $ recount people import people.csv
  $ recount report usage --by team`,
    );
  addListCommands(people, context);
  addChangeCommands(people, context);
  addTeamCommands(people, context);
  addFileCommands(people, context);
  return people;
}
