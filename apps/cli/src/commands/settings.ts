import type { RedactionMode, WorkspaceSettings } from '@recount/db';
import { Command, Option } from 'commander';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';
import { wholeNumber } from '../terminal/option-values.ts';

const REDACTION_MODES = ['off', 'rows', 'rows-and-raw'] as const satisfies readonly RedactionMode[];
const MAX_AGE_DAYS = 36_500;

type MaxAge = number | 'never';

interface SettingsOptions {
  workspace: string;
  redaction?: RedactionMode;
  /** In days. */
  rowsMaxAge?: MaxAge;
  rawMaxAge?: MaxAge;
  json?: boolean;
}

export function createSettingsCommand(context: CliContext): Command {
  const settings = new Command('settings')
    .description('Show and change the handling of secrets and old data in a workspace')
    .addHelpText(
      'after',
      `
Works on the database of DATABASE_URL, else on the local installation, which must be running.

redaction     off (default): nothing. rows: secrets that rules find are replaced by [REDACTED:<rule>] in all rows; raw
              transcripts keep them. rows-and-raw: redacted copies replace raw transcripts, too.
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
    .action((options: SettingsOptions) => showSettings(context, options));
  settings
    .command('set')
    .description('Change settings; others stay unchanged')
    .addOption(new Option('--redaction <mode>', 'how to handle secrets').choices(REDACTION_MODES))
    .option('--rows-max-age <days>', 'number, or never', parseDays)
    .option('--raw-max-age <days>', 'number, or never', parseDays)
    .option('--workspace <name>', 'workspace', 'default')
    .option('--json', 'print JSON')
    .action((options: SettingsOptions) => {
      if ([options.redaction, options.rowsMaxAge, options.rawMaxAge].every((value) => value === undefined)) {
        throw new UsageError('Name a setting: --redaction, --rows-max-age or --raw-max-age.');
      }
      return changeSettings(context, options);
    });
  return settings;
}

function parseDays(text: string): MaxAge {
  return text === 'never' ? text : wholeNumber(1, MAX_AGE_DAYS)(text);
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
  const { workspace, redaction } = options;
  const change = { redaction, rowsMaxAgeDays: toDays(options.rowsMaxAge), rawMaxAgeDays: toDays(options.rawMaxAge) };
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
    print(context, JSON.stringify(settings, null, 2));
    return;
  }
  const { redaction, rowsMaxAgeDays, rawMaxAgeDays } = settings;
  const toAge = (days: number | null): string => (days === null ? 'never' : `${days} days`);
  print(context, `redaction     ${redaction}`);
  print(context, `rows-max-age  ${toAge(rowsMaxAgeDays)}`);
  print(context, `raw-max-age   ${toAge(rawMaxAgeDays)}`);
}
