import { TEXT_READERS, type TextReaders } from '@recount/contract/access';
import { REDACTION_MODES } from '@recount/contract/choices';
import type { RedactionMode, WorkspaceSettings } from '@recount/db';
import { Command, Option } from 'commander';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';
import { wholeNumber } from '../terminal/option-values.ts';

const MAX_AGE_DAYS = 36_500;
const MAX_PEOPLE = 100_000;

type MaxAge = number | 'never';
type MinPeople = number | 'always';

interface SettingsOptions {
  workspace: string;
  redaction?: RedactionMode;
  /** In days. */
  rowsMaxAge?: MaxAge;
  rawMaxAge?: MaxAge;
  textReaders?: TextReaders;
  namesFrom?: MinPeople;
  json?: boolean;
}

export function createSettingsCommand(context: CliContext): Command {
  const settings = new Command('settings')
    .description('Show and change how a workspace handles secrets, old data and access to texts')
    .addHelpText(
      'after',
      `
Works on the database of DATABASE_URL, else on the local installation, which must be running.

redaction     off (default): nothing. rows: secrets that rules find are replaced by [REDACTED:<rule>] in all rows; raw
              transcripts keep them. rows-and-raw: redacted copies replace raw transcripts, too.
rows-max-age  days after its last activity until messages and texts of a session are deleted; figures stay
raw-max-age   days after its last activity until a raw transcript is deleted
text-readers  who may see the texts of others' sessions. readers (default): every key that may read. auditors: only keys
              with the scope texts; others see figures, and texts of their own sessions
names-from    people that a team, or a workspace without teams, needs for their names to be shown to all who read;
              all others are pseudonyms

Examples:
  $ recount settings show
  $ recount settings set --redaction rows && recount requeue --outdated
  $ recount settings set --workspace research --rows-max-age 90 --raw-max-age never
  $ recount settings set --text-readers auditors --names-from 8`,
    );
  settings
    .command('show')
    .description('Show the settings of a workspace')
    .option('--workspace <name>', 'workspace', 'default')
    .option('--json', 'print JSON')
    .action((options: SettingsOptions) => showSettings(context, options));
  settings
    .command('set')
    .description('Change settings; others stay unchanged')
    .addOption(new Option('--redaction <mode>', 'how to handle secrets').choices(REDACTION_MODES))
    .option('--rows-max-age <days>', 'number, or never', parseDays)
    .option('--raw-max-age <days>', 'number, or never', parseDays)
    .addOption(new Option('--text-readers <who>', 'who may see texts of others').choices(TEXT_READERS))
    .option('--names-from <people>', 'number, or always', parsePeople)
    .option('--workspace <name>', 'workspace', 'default')
    .option('--json', 'print JSON')
    .action((options: SettingsOptions) => {
      const { redaction, rowsMaxAge, rawMaxAge, textReaders, namesFrom } = options;
      if ([redaction, rowsMaxAge, rawMaxAge, textReaders, namesFrom].every((value) => value === undefined)) {
        throw new UsageError(
          'Name a setting: --redaction, --rows-max-age, --raw-max-age, --text-readers or --names-from.',
        );
      }
      return changeSettings(context, options);
    });
  return settings;
}

function parseDays(text: string): MaxAge {
  return text === 'never' ? text : wholeNumber(1, MAX_AGE_DAYS)(text);
}

function parsePeople(text: string): MinPeople {
  return text === 'always' ? text : wholeNumber(1, MAX_PEOPLE)(text);
}

const toDays = (age: MaxAge | undefined): number | null | undefined => (age === 'never' ? null : age);

async function showSettings(context: CliContext, { workspace, json }: SettingsOptions): Promise<void> {
  const { findWorkspace, withDatabase } = await import('../connection/open-installation.ts');
  const { readWorkspaceSettings } = await import('@recount/db');
  const settings = await withDatabase(context, async (pool) =>
    readWorkspaceSettings(pool.database, await findWorkspace(pool, workspace)),
  );
  if (settings !== undefined) printSettings(context, settings, json);
}

async function changeSettings(context: CliContext, options: SettingsOptions): Promise<void> {
  const { workspace, redaction, textReaders, namesFrom } = options;
  const change = {
    ...{ redaction, rowsMaxAgeDays: toDays(options.rowsMaxAge), rawMaxAgeDays: toDays(options.rawMaxAge) },
    ...{ textReaders, namesFromPeople: namesFrom === 'always' ? null : namesFrom },
  };
  const { findWorkspace, withDatabase } = await import('../connection/open-installation.ts');
  const { toOperator } = await import('../connection/operator.ts');
  const { changeWorkspaceSettings } = await import('@recount/db');
  const settings = await withDatabase(context, async (pool) => {
    const workspaceId = await findWorkspace(pool, workspace);
    return await pool.withTransaction((transaction) =>
      changeWorkspaceSettings(transaction, workspaceId, change, toOperator()),
    );
  });
  printSettings(context, settings, options.json);
  if (redaction === undefined) return;
  note(context, 'Redaction applies from now on; `recount requeue --outdated` applies it to stored transcripts.');
}

function printSettings(context: CliContext, settings: WorkspaceSettings, json = false): void {
  if (json) {
    printJson(context, settings);
    return;
  }
  const { redaction, rowsMaxAgeDays, rawMaxAgeDays, textReaders, namesFromPeople } = settings;
  const toAge = (days: number | null): string => (days === null ? 'never' : `${days} days`);
  print(context, `redaction     ${redaction}`);
  print(context, `rows-max-age  ${toAge(rowsMaxAgeDays)}`);
  print(context, `raw-max-age   ${toAge(rawMaxAgeDays)}`);
  print(context, `text-readers  ${textReaders}`);
  print(context, `names-from    ${namesFromPeople === null ? 'always' : `${namesFromPeople} people`}`);
}
