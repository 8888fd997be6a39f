import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { PeopleImport } from '@recount/contract';
import type { Command } from 'commander';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { confirm } from '../terminal/confirm.ts';
import { formatCount, formatCountOf } from '../terminal/format-values.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { ask } from './people-requests.ts';

/** Adds the commands that read and write files of people. */
export function addFileCommands(people: Command, context: CliContext): void {
  addPlaceOptions(people.command('import'))
    .description('Add and change people from a CSV file; says first what would change')
    .argument(
      '<file>',
      'with columns name, and any of email, names (a; b), team, cost_centre, team_from, leads (a; b), joined, left, notes',
    )
    .option('--dry-run', 'only say what would change')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print JSON')
    .action((file: string, options: ImportOptions) => importPeople(context, file, options));
  addPlaceOptions(people.command('export'))
    .description('Write all people as CSV, in the form that the import reads')
    .argument('[file]', 'default: standard output')
    .action((file: string | undefined, options: PlaceOptions) => exportPeople(context, file, options));
}

interface ImportOptions extends PlaceOptions {
  dryRun?: boolean;
  yes?: boolean;
}

async function importPeople(context: CliContext, file: string, options: ImportOptions): Promise<void> {
  const csv = await readFile(resolve(context.workingDirectory, file), 'utf8').catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
  await withClient(context, options, async (client) => {
    const send = (apply: boolean) =>
      ask<PeopleImport>(client, '/v1/people/import', { method: 'POST', json: { csv, apply } });
    const planned = await send(false);
    const faults = planned.rows.filter(({ error }) => error !== null);
    const isOnlyPlanned = options.dryRun === true || faults.length > 0;
    if (!options.json) printImport(context, planned);
    const changes = planned.rows.filter(({ action }) => action === 'create' || action === 'change').length;
    const question = `Import ${formatCountOf(changes, 'change')}?`;
    const isAgreed = !isOnlyPlanned && changes > 0 && (await confirm(context, question, options.yes ?? false));
    const done = isAgreed ? await send(true) : planned;
    if (options.json) printJson(context, done);
    if (faults.length > 0)
      throw new CliError(`Nothing was imported: ${formatCountOf(faults.length, 'line')} to correct.`);
    note(context, done.applied ? 'Imported.' : 'Nothing was imported.');
  });
}

function printImport(context: CliContext, { rows, created_teams: teams }: PeopleImport): void {
  for (const { line, name, action, fields, error } of rows) {
    if (action === 'unchanged') continue;
    const what = error ?? `${action === 'create' ? 'new' : 'changes'}: ${fields.join(', ')}`;
    print(context, `line ${line}: ${toSingleLine(name)}${name === '' ? '' : ': '}${toSingleLine(what)}`);
  }
  if (teams.length > 0) print(context, `new teams: ${teams.map(toSingleLine).join(', ')}`);
  const unchanged = rows.filter(({ action }) => action === 'unchanged').length;
  if (unchanged > 0) print(context, `${formatCount(unchanged)} unchanged`);
}

async function exportPeople(context: CliContext, file: string | undefined, options: PlaceOptions): Promise<void> {
  const csv = await withClient(context, options, (client) => ask<string>(client, '/v1/people/export'));
  if (file === undefined) return print(context, csv.trimEnd());
  await writeFile(resolve(context.workingDirectory, file), csv);
  note(context, `Written: ${file}`);
}
