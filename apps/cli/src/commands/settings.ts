import type { RedactionMode, WorkspaceSettings } from '@recount/db';
import { Command, Option } from 'commander';
import { type CliContext, note, print } from '../cli-context.ts';
import { UsageError } from '../cli-error.ts';
import { wholeNumber } from '../option-values.ts';

const REDACTION_MODES = ['off', 'rows', 'rows-and-raw'] as const satisfies readonly RedactionMode[];
const MAX_AGE_DAYS = 36_500;

interface SettingsOptions {
  workspace: string;
  redaction?: RedactionMode;
  rowsMaxAgeDays?: number | null;
  rawMaxAgeDays?: number | null;
  json?: boolean;
}

export function createSettingsCommand(context: CliContext): Command {
  const settings = new Command('settings')
    .description('Show and set what a workspace does with secrets and old data')
    .addHelpText(
      'after',
      `
Works on the database of DATABASE_URL, else on the local installation, which must be running.

redaction     off (default): nothing. rows: secrets that rules find are replaced by [REDACTED:<rule>] in all rows; raw
              transcripts keep them. rows-and-raw: redacted copies take the place of raw transcripts, too.
rows-max-age  days after its last activity until messages and texts of a session are deleted; figures stay
raw-max-age   days after its last activity until a raw transcript is deleted

Examples:
  $ recount settings show
  $ recount settings set --redaction rows && recount requeue --outdated
  $ recount settings set --workspace research --rows-max-age 90 --raw-max-age never`,
    );
  settings
    .command('show')
    .description('Show the settings of a workspace')
    .option('--workspace <name>', 'workspace', 'default')
    .option('--json', 'print JSON')
    .action((options: SettingsOptions) => changeSettings(context, options));
  settings
    .command('set')
    .description('Change settings; those not named stay as they are')
    .addOption(new Option('--redaction <mode>', 'what becomes of secrets').choices(REDACTION_MODES))
    .addOption(
      new Option('--rows-max-age <days>', 'number, or never').argParser(parseDays).attributeName('rowsMaxAgeDays'),
    )
    .addOption(
      new Option('--raw-max-age <days>', 'number, or never').argParser(parseDays).attributeName('rawMaxAgeDays'),
    )
    .option('--workspace <name>', 'workspace', 'default')
    .option('--json', 'print JSON')
    .action((options: SettingsOptions) => {
      if ([options.redaction, options.rowsMaxAgeDays, options.rawMaxAgeDays].every((value) => value === undefined)) {
        throw new UsageError('Name a setting: --redaction, --rows-max-age or --raw-max-age.');
      }
      return changeSettings(context, options);
    });
  return settings;
}

/** Null for `never`. */
function parseDays(text: string): number | null {
  return text === 'never' ? null : wholeNumber(1, MAX_AGE_DAYS)(text);
}

async function changeSettings(context: CliContext, options: SettingsOptions): Promise<void> {
  const { findWorkspace, withDatabase } = await import('../connection/open-installation.ts');
  const { changeWorkspaceSettings } = await import('@recount/db');
  const settings = await withDatabase(context, async (pool) => {
    const { redaction, rowsMaxAgeDays, rawMaxAgeDays } = options;
    const workspaceId = await findWorkspace(pool, options.workspace);
    return await changeWorkspaceSettings(pool.database, workspaceId, { redaction, rowsMaxAgeDays, rawMaxAgeDays });
  });
  if (options.json) return print(context, JSON.stringify(settings, null, 2));
  for (const line of formatSettings(settings)) print(context, line);
  if (options.redaction !== undefined) {
    note(
      context,
      'Redaction holds for what is ingested from now on; `recount requeue --outdated` applies it to what is there.',
    );
  }
}

export function formatSettings({ redaction, rowsMaxAgeDays, rawMaxAgeDays }: WorkspaceSettings): string[] {
  const toAge = (days: number | null): string => (days === null ? 'never' : `${days}`);
  return [
    `redaction     ${redaction}`,
    `rows-max-age  ${toAge(rowsMaxAgeDays)}`,
    `raw-max-age   ${toAge(rawMaxAgeDays)}`,
  ];
}
