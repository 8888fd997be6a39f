import type { Person, PersonChange } from '@recount/contract';
import type { Command } from 'commander';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { collect } from '../report/report-query.ts';
import { type CliContext, note, printJson } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';
import { confirm } from '../terminal/confirm.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { ask, findPerson, readPeople, toOptional } from './people-requests.ts';

interface PersonOptions extends PlaceOptions {
  email?: string | false;
  name?: string[];
  unname?: string[];
  team?: string | false;
  costCentre?: string | false;
  from?: string;
  joined?: string | false;
  left?: string | false;
  notes?: string | false;
  rename?: string;
}

/** Adds the commands that add, change, merge and delete people. */
export function addChangeCommands(people: Command, context: CliContext): void {
  addPersonOptions(people.command('add'))
    .description('Add a person')
    .argument('<display name>', 'their name in reports')
    .action((name: string, options: PersonOptions) => addPerson(context, name, options));
  addPersonOptions(people.command('edit'))
    .description('Change a person; what is not given stays')
    .argument('<person>', 'any of their names, or the id')
    .option('--rename <name>', 'their name in reports')
    .option('--unname <name>', 'take a name away; may be repeated', collect)
    .action((name: string, options: PersonOptions) => editPerson(context, name, options));
  addMergeCommands(people, context);
}

function addPersonOptions(command: Command): Command {
  return addPlaceOptions(command)
    .option('--email <address>', 'e-mail address, also one of their names')
    .option('--no-email', 'remove it')
    .option('--name <name>', 'a further name of their sessions; may be repeated', collect)
    .option('--team <name>', 'team')
    .option('--no-team', 'no team')
    .option('--cost-centre <name>', 'their own cost centre, instead of the team’s')
    .option('--no-cost-centre', 'the team’s cost centre')
    .option(
      '--from <date>',
      'first day of team and cost centre, UTC; always: from the beginning (default: today, or always if it is the first team)',
    )
    .option('--joined <date>', 'first day')
    .option('--left <date>', 'last day')
    .option('--notes <text>', 'notes')
    .option('--no-notes', 'remove the notes')
    .option('--json', 'print JSON');
}

function addMergeCommands(people: Command, context: CliContext): void {
  addPlaceOptions(people.command('merge'))
    .description('Count a person as another; can be undone')
    .argument('<person>', 'any of their names, or the id')
    .requiredOption('--into <person>', 'the person who is left')
    .action((name: string, options: PlaceOptions & { into: string }) => mergePerson(context, name, options));
  addPlaceOptions(people.command('unmerge'))
    .description('Separate a person who was merged')
    .argument('<name>', 'their name, as `recount people list` shows it')
    .action((name: string, options: PlaceOptions) => unmergePerson(context, name, options));
  addPlaceOptions(people.command('remove'))
    .description('Delete a person; their sessions stay, and become unattributed')
    .argument('<person>', 'any of their names, or the id')
    .option('-y, --yes', 'do not ask')
    .action((name: string, options: PlaceOptions & { yes?: boolean }) => removePerson(context, name, options));
}

function toChange(options: PersonOptions): PersonChange {
  const { email, team, costCentre, from, joined, left, notes, rename } = options;
  if (from !== undefined && team === undefined && costCentre === undefined)
    throw new UsageError('--from says when --team or --cost-centre begin.');
  return {
    ...(rename !== undefined && { display_name: rename }),
    ...(email !== undefined && { email: toOptional(email) }),
    ...(team !== undefined && { team: toOptional(team) }),
    ...(costCentre !== undefined && { cost_centre: toOptional(costCentre) }),
    ...(from !== undefined && { team_from: from === 'always' ? null : from }),
    ...(joined !== undefined && { joined_on: toOptional(joined) }),
    ...(left !== undefined && { left_on: toOptional(left) }),
    ...(notes !== undefined && { notes: toOptional(notes) }),
  };
}

function printPerson(context: CliContext, options: PlaceOptions, person: Person): void {
  if (options.json) {
    printJson(context, person);
    return;
  }
  const { display_name: name, names, team, cost_centre: costCentre } = person;
  const where = [team ?? 'no team', ...(costCentre === null ? [] : [`cost centre ${costCentre}`])].join(', ');
  note(context, `${toSingleLine(name)}: ${toSingleLine(where)}; names: ${names.map(toSingleLine).join(', ')}`);
}

async function addPerson(context: CliContext, name: string, options: PersonOptions): Promise<void> {
  const json = { display_name: name, ...toChange(options), ...(options.name && { names: options.name }) };
  const person = await withClient(context, options, (client) =>
    ask<Person>(client, '/v1/people', { method: 'POST', json }),
  );
  printPerson(context, options, person);
}

async function editPerson(context: CliContext, name: string, options: PersonOptions): Promise<void> {
  const person = await withClient(context, options, async (client) => {
    const { id, names } = await findPerson(client, name);
    const { name: added = [], unname: removed = [] } = options;
    const isRemoved = (each: string): boolean => removed.some((one) => one.toLowerCase() === each.toLowerCase());
    const hasNames = added.length + removed.length > 0;
    const json = {
      ...toChange(options),
      ...(hasNames && { names: [...names.filter((each) => !isRemoved(each)), ...added] }),
    };
    if (Object.keys(json).length === 0) throw new UsageError('Say what to change, for example --team Core.');
    return await ask<Person>(client, `/v1/people/${id}`, { method: 'PATCH', json });
  });
  printPerson(context, options, person);
}

async function mergePerson(context: CliContext, name: string, options: PlaceOptions & { into: string }): Promise<void> {
  await withClient(context, options, async (client) => {
    const [person, into] = [await findPerson(client, name), await findPerson(client, options.into)];
    await ask(client, `/v1/people/${person.id}/merge`, { method: 'PUT', json: { into: into.id } });
    const [from, to] = [toSingleLine(person.display_name), toSingleLine(into.display_name)];
    note(context, `${from} counts as ${to}. \`recount people unmerge '${from}'\` undoes it.`);
  });
}

async function unmergePerson(context: CliContext, name: string, options: PlaceOptions): Promise<void> {
  await withClient(context, options, async (client) => {
    const wanted = name.toLowerCase();
    const merged = (await readPeople(client, {})).flatMap((person) => person.merged);
    const found = merged.find((each) => each.id === name || each.names.some((one) => one.toLowerCase() === wanted));
    if (found === undefined) throw new UsageError(`No one with the name ${name} is merged into another person.`);
    await ask(client, `/v1/people/${found.id}/merge`, { method: 'DELETE' });
    note(context, `${toSingleLine(found.display_name)} is separate again.`);
  });
}

async function removePerson(
  context: CliContext,
  name: string,
  options: PlaceOptions & { yes?: boolean },
): Promise<void> {
  await withClient(context, options, async (client) => {
    const { id, display_name: shown } = await findPerson(client, name);
    const question = `Delete ${toSingleLine(shown)}? Their sessions stay, and become unattributed.`;
    if (!(await confirm(context, question, options.yes ?? false))) return note(context, 'Nothing was deleted.');
    await ask(client, `/v1/people/${id}`, { method: 'DELETE' });
    note(context, `${toSingleLine(shown)} is deleted.`);
  });
}
