import type { AddressedFinding, Dismissal, DismissalList, DismissalRequest } from '@recount/contract';
import { FINDING_KINDS, type FindingKind, KINDS_WITHOUT_TOOL, WASTE_KINDS } from '@recount/contract/choices';
import { Argument, Command, InvalidArgumentError } from 'commander';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatTimestamp } from '../terminal/format-values.ts';
import { printTable } from '../terminal/print-table.ts';
import type { TableColumn } from '../terminal/table.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { addTimeZoneOptions, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';
import { createReportKindCommand } from './report.ts';

type Options = PlaceOptions & TimeZoneOptions;

interface DismissOptions extends Options {
  session?: string;
  repository?: string;
  person?: string;
  tool?: string;
  reason?: string;
}

interface AddressOptions extends Options {
  since?: string;
  note?: string;
}

const KIND = 'kind of finding';
const COLUMNS: readonly TableColumn[] = [
  { header: 'ID' },
  { header: 'FINDING' },
  { header: 'OF', minWidth: 20 },
  { header: 'REASON', minWidth: 12, isOptional: true },
  { header: 'BY', minWidth: 8, isOptional: true },
  { header: 'AT' },
];

const HELP = `
Changes are for everyone in the workspace, need the scope admin, and are in \`recount audit\`. Dismissed findings leave the
list and the sum of potential waste, and both say how many there are.

Examples:
  $ recount findings --in 7d --kind cold-cache
  $ recount findings dismiss repeated-call --tool Wait --reason "It waits for deployments"
  $ recount findings dismiss cold-cache --session 0fae0449
  $ recount findings dismissed
  $ recount findings restore 01JCZ8Q4M2V7T3N5R9W0XYABCD
  $ recount findings address repeated-error --since 2026-11-02 --note "Documented the test database"
  $ recount report addressed`;

export function createFindingsCommand(context: CliContext): Command {
  const findings = new Command('findings')
    .description('Potential waste as a work list: list, dismiss and restore findings, mark kinds as addressed')
    .addHelpText('after', HELP);
  findings.addCommand(createReportKindCommand(context, 'findings', 'list').copyInheritedSettings(findings), {
    isDefault: true,
  });
  addPlaceOptions(
    findings
      .command('dismiss')
      .description('Dismiss the findings of a kind for one session, or for a repository, a person or a tool')
      .addArgument(new Argument('<kind>', KIND).choices(FINDING_KINDS))
      .option('--session <id>', 'session, or the beginning of its id')
      .option('--repository <name>', 'full name of a repository')
      .option('--person <name>', 'full name of a person')
      .option('--tool <name>', 'full name of a tool')
      .option('--reason <text>', 'why nothing needs to be done, at most 300 characters')
      .option('--json', 'print JSON'),
  ).action((kind: FindingKind, options: DismissOptions) => dismiss(context, kind, options));
  addPlaceOptions(
    addTimeZoneOptions(
      findings
        .command('dismissed')
        .description('List what was dismissed, by whom, when and why')
        .option('--json', 'print JSON'),
    ),
  ).action((options: Options) => listDismissed(context, options));
  addPlaceOptions(
    findings
      .command('restore')
      .description('List and count dismissed findings again')
      .argument('<id>', 'id, as `recount findings dismissed` shows it'),
  ).action((id: string, options: Options) => restore(context, id, options));
  addPlaceOptions(
    findings
      .command('address')
      .description(
        'Mark a kind of finding as addressed; `recount report addressed` compares the weeks before and after',
      )
      .addArgument(new Argument('<kind>', KIND).choices(WASTE_KINDS))
      .option('--since <date>', 'the first day when it was different (default: today)', toDate)
      .option('--note <text>', 'what was done, at most 300 characters')
      .option('--json', 'print JSON'),
  ).action((kind: FindingKind, options: AddressOptions) => address(context, kind, options));
  addPlaceOptions(
    findings
      .command('reopen')
      .description('Remove the mark that a kind of finding is addressed')
      .addArgument(new Argument('<kind>', KIND).choices(WASTE_KINDS)),
  ).action((kind: FindingKind, options: Options) => reopen(context, kind, options));
  return findings;
}

function toDate(text: string): string {
  const isDate = /^\d{4}-\d\d-\d\d$/.test(text) && new Date(text).toJSON()?.startsWith(text);
  if (!isDate) throw new InvalidArgumentError('Pass a date such as 2026-11-02.');
  return text;
}

/** Throws CliError if the server is older than its requests. */
async function change<Answer>(
  context: CliContext,
  options: Options,
  path: string,
  request: { method: 'POST' | 'PUT'; json: object },
): Promise<Answer> {
  return await withClient(context, options, async (client) => {
    const answer = await client.request<Answer>(path, request);
    if (answer === undefined) throw new CliError('Not found: the session is unknown, or the server is older.');
    return answer;
  });
}

async function dismiss(context: CliContext, kind: FindingKind, options: DismissOptions): Promise<void> {
  const types = (['session', 'repository', 'person', 'tool'] as const).filter((type) => options[type] !== undefined);
  const [type] = types;
  const subject = type === undefined ? undefined : options[type];
  if (type === undefined || subject === undefined || types.length > 1) {
    throw new UsageError('Pass one of --session, --repository, --person and --tool.');
  }
  if (type === 'tool' && KINDS_WITHOUT_TOOL.includes(kind)) {
    throw new UsageError(`${kind} is about no tool; use --session, --repository or --person.`);
  }
  const { reason } = options;
  const json: DismissalRequest = { kind, subject_type: type, subject, ...(reason !== undefined && { reason }) };
  const made = await change<Dismissal>(context, options, '/v1/findings/dismissals', { method: 'POST', json });
  if (options.json) return printJson(context, made);
  note(context, `Dismissed ${kind} of ${type} ${toSingleLine(made.subject)}.`);
  note(context, `\`recount findings restore ${made.id}\` restores it.`);
}

async function listDismissed(context: CliContext, options: Options): Promise<void> {
  const list = await withClient(context, options, (client) => client.request<DismissalList>('/v1/findings/dismissals'));
  if (list === undefined) throw new CliError('This server has no dismissed findings. Is it an older version?');
  if (options.json) return printJson(context, list);
  if (list.dismissals.length === 0) return note(context, 'Nothing is dismissed.');
  const timeZone = toTimeZone(options);
  const rows = list.dismissals.map((each) => [
    each.id,
    each.kind,
    `${each.subject_type} ${each.title ?? each.subject}`,
    each.reason ?? '',
    each.dismissed_by_name ?? each.dismissed_by,
    formatTimestamp(each.dismissed_at, timeZone),
  ]);
  printTable(context, COLUMNS, rows);
}

async function restore(context: CliContext, id: string, options: Options): Promise<void> {
  await remove(context, options, `/v1/findings/dismissals/${encodeURIComponent(id)}`, `Nothing has the id ${id}.`);
  note(context, `Restored ${toSingleLine(id)}.`);
}

async function address(context: CliContext, kind: FindingKind, options: AddressOptions): Promise<void> {
  const json = { since: options.since ?? toToday(), ...(options.note !== undefined && { note: options.note }) };
  const path = `/v1/findings/addressed/${kind}`;
  const marked = await change<AddressedFinding>(context, options, path, { method: 'PUT', json });
  if (options.json) return printJson(context, marked);
  note(context, `Marked ${kind} as addressed since ${marked.since}; \`recount report addressed\` says if it fell.`);
}

/** The date of this machine. */
const toToday = (): string => new Date().toLocaleDateString('sv-SE');

async function reopen(context: CliContext, kind: FindingKind, options: Options): Promise<void> {
  await remove(context, options, `/v1/findings/addressed/${kind}`, `${kind} is not marked as addressed.`);
  note(context, `${kind} is not marked as addressed any more.`);
}

async function remove(context: CliContext, options: Options, path: string, missing: string): Promise<void> {
  const answer = await withClient(context, options, (client) => client.request(path, { method: 'DELETE' }));
  if (answer === undefined) throw new UsageError(missing);
}
