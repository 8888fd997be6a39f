import { styleText } from 'node:util';
import type { SessionsReport } from '@recount/contract';
import type { ReportOption } from '@recount/contract/reports';
import { Command, Option } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import type { ApiOptions } from '../connection/find-api.ts';
import { withClient } from '../connection/with-client.ts';
import type { ReportAnswer } from '../report/report-answer.ts';
import { REPORT_KINDS, type ReportKind } from '../report/report-kinds.ts';
import { addFilterOptions, type FilterOptions, type ReportQuery, toFilterQuery } from '../report/report-query.ts';
import type { StyledLine } from '../report/report-table.ts';
import { type CliContext, note, print, printJson, printStyled } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { toTerminalText } from '../terminal/guard-terminal.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { wrapToWidth } from '../terminal/text-width.ts';

interface ReportOptions extends FilterOptions, ApiOptions {
  workspace: string;
  by?: string[];
  groupBy?: string;
  breakdown?: boolean;
  limit?: number;
  json?: boolean;
  csv?: boolean;
}

const MAX_ROWS = 10_000;

export function createReportCommand(context: CliContext): Command {
  const report = new Command('report')
    .description('Tokens, cost, tools, sessions and more, by day, model, project, …')
    .addHelpText(
      'after',
      `
Uses an API if one is named or the local installation is running, else the database of DATABASE_URL.

Examples:
  $ recount report daily --from 30d --breakdown
  $ recount report usage --in last week --by repository
  $ recount report week --by repository,model
  $ recount report usage --by month,model --project .
  $ recount report tools --no-subagents --csv > tools.csv
  $ recount report sessions --json | jq '.totals.distribution.cost_usd'`,
    );
  for (const kind of REPORT_KINDS) {
    const isDefault = kind.name === 'daily';
    report.addCommand(createKindCommand(context, kind).copyInheritedSettings(report), { isDefault });
  }
  return report;
}

/** The command of one report, by another name. */
export function createReportKindCommand(context: CliContext, name: string, commandName: string): Command {
  const kind = REPORT_KINDS.find((each) => each.name === name);
  if (kind === undefined) throw new Error(`There is no report ${name}`);
  return createKindCommand(context, kind).name(commandName);
}

function createKindCommand(context: CliContext, kind: ReportKind): Command {
  const command = addFilterOptions(new Command(kind.name).description(kind.help));
  if (kind.alias !== undefined) command.alias(kind.alias);
  if (kind.groupBy !== undefined) {
    const { keys, fallback } = kind.groupBy;
    const what = kind.isByTime ? 'one row for each, in addition to the time' : 'one row for each';
    const usual = kind.isByTime || fallback === '' ? '' : ` (default: ${fallback})`;
    command
      .option('--by <keys...>', `${what} of: ${keys.join(', ')}${usual}`)
      .addOption(new Option('--group-by <keys>', 'the same').hideHelp());
  }
  if (kind.hasBreakdown) command.option('--breakdown', 'show the models of each row');
  for (const option of kind.options ?? []) command.addOption(toOption(option));
  return command
    .option('--limit <n>', 'rows at most (default: 1000)', wholeNumber(1, MAX_ROWS))
    .addOption(new Option('--json', 'print the answer as JSON').conflicts('csv'))
    .option('--csv', 'print the rows as CSV, with all figures')
    .action((options: ReportOptions) => showReport(context, kind, options));
}

function toOption(option: ReportOption): Option {
  const { flags, help } = option;
  if ('choices' in option) return new Option(flags, help).choices(option.choices);
  if ('sets' in option) return new Option(flags, help);
  const [least, most] = option.range;
  return new Option(flags, help).argParser(wholeNumber(least, most)).default(option.fallback);
}

/** The query parameters of the kind's own options. */
function toOwnQuery({ options: own = [] }: ReportKind, options: Readonly<Record<string, unknown>>): ReportQuery {
  return Object.fromEntries(
    own.flatMap((option): [string, string | number][] => {
      const name = new Option(option.flags).attributeName();
      const value = options[name];
      if (value === undefined) return [];
      return 'sets' in option ? [[option.sets.parameter, option.sets.value]] : [[name, value as string | number]];
    }),
  );
}

async function showReport(context: CliContext, kind: ReportKind, options: ReportOptions): Promise<void> {
  const groupBy = toGroupBy(kind, options);
  const query = {
    ...toFilterQuery(options, context),
    ...toOwnQuery(kind, { ...options }),
    group_by: groupBy,
    limit: options.limit,
  };
  const [answer, details] = await withClient(context, options, async (client) => [
    await readReport(client, kind, query),
    options.breakdown ? await readReport(client, kind, { ...query, group_by: `${groupBy},model` }) : undefined,
  ]);
  if (options.json) return printJson(context, details ?? answer);
  if (options.csv) {
    const [{ toReportCsv }, { toTruncationLine }] = await Promise.all([
      import('../report/report-csv.ts'),
      import('../report/caveat-lines.ts'),
    ]);
    context.stdout.write(toReportCsv((details ?? answer).rows));
    if ((details ?? answer).truncated) note(context, toTruncationLine(details ?? answer));
    return;
  }
  await showTable(context, kind, answer, details);
}

async function readReport(client: ApiClient, { route }: ReportKind, query: ReportQuery): Promise<ReportAnswer> {
  const answer = await client.request<ReportAnswer>(`/v1/analytics/${route}`, { query });
  if (answer === undefined)
    throw new CliError(`${client.place.url} does not have this report. Is it an older version?`);
  return answer;
}

async function showTable(
  context: CliContext,
  kind: ReportKind,
  answer: ReportAnswer,
  details: ReportAnswer | undefined,
): Promise<void> {
  const [{ formatReportTable }, { toCaveatLines }, { formatSessionsSummary }] = await Promise.all([
    import('../report/report-table.ts'),
    import('../report/caveat-lines.ts'),
    import('../report/sessions-summary.ts'),
  ]);
  const { data_range: data, filters } = answer;
  if (data != null && (filters.from !== null || filters.to !== null)) {
    const { toRangeNote } = await import('../report/range-note.ts');
    const range = { first: data.first_timestamp, last: data.last_timestamp };
    return print(context, toRangeNote(range, filters.time_zone));
  }
  const maxWidth = toPrintWidth(context);
  const write = ({ text, style }: StyledLine): void =>
    printStyled(
      context,
      style === undefined ? text : styleText(style, toTerminalText(text), { stream: context.stdout }),
    );
  write({ text: toTitle(kind, answer), style: 'bold' });
  write({ text: '' });
  for (const line of formatReportTable(kind, answer, { maxWidth, details })) write(line);
  if (kind.route === 'sessions') {
    for (const line of formatSessionsSummary(answer as unknown as SessionsReport, maxWidth)) write(line);
  }
  const caveats = toCaveatLines(kind, answer, details);
  // The table goes to stdout for pipes; the caveats to stderr for the user.
  if (caveats.length > 0) note(context, '');
  for (const caveat of caveats) {
    for (const line of wrapToWidth(caveat, toPrintWidth({ ...context, stdout: context.stderr }))) {
      context.stderr.writeStyled(`${styleText('dim', toTerminalText(line), { stream: context.stderr })}\n`);
    }
  }
}

const KEY_ALIASES: Readonly<Record<string, string>> = {
  branch: 'git_branch',
  'cost-centre': 'cost_centre',
  'cost-center': 'cost_centre',
  'kind-of-work': 'kind_of_work',
  kind: 'kind_of_work',
  people: 'person',
  repositories: 'repository',
  version: 'agent_version',
};

/** Keys as people type them, separated by commas or spaces, in singular or plural. Throws UsageError. */
function toGroupBy({ name, groupBy, isByTime }: ReportKind, { by, groupBy: long }: ReportOptions): string | undefined {
  if (groupBy === undefined || (by === undefined && long === undefined)) return groupBy?.fallback;
  const { keys, fallback } = groupBy;
  const wanted = (by ?? [long ?? '']).flatMap((words) => words.split(',')).map((word) => word.trim());
  const names = wanted
    .filter((word) => word !== '')
    .map((word) => {
      const key = [KEY_ALIASES[word], word, word.replace(/s$/, '')].find(
        (each) => each !== undefined && keys.includes(each),
      );
      if (key !== undefined) return key;
      throw new UsageError(`recount report ${name} does not support --by ${word}; use ${keys.join(', ')}.`);
    });
  return [...(isByTime ? [fallback] : []), ...names].join(',');
}

/** The subject and the period. */
function toTitle({ title }: ReportKind, { filters, currency_label: currency }: ReportAnswer): string {
  const { from, to, time_zone: timeZone, agent, project, git_branch: branch, model, session_id: session } = filters;
  const { person, team, cost_centre: costCentre, machine, repository, kind_of_work: kindOfWork } = filters;
  const toDay = (moment: string): string =>
    new Date(moment).toLocaleString('sv-SE', { timeZone }).replace(' 00:00:00', '');
  const range = [from === null ? '' : `from ${toDay(from)}`, to === null ? '' : `before ${toDay(to)}`];
  const subagents = { include: '', exclude: 'without sub-agents', only: 'sub-agents only' }[filters.subagents];
  const parts = [
    title,
    range.filter(Boolean).join(' '),
    agent,
    repository,
    project,
    branch,
    person,
    team,
    costCentre,
    machine,
    kindOfWork,
    model,
    session,
    subagents,
    timeZone,
    currency,
  ];
  return parts.filter((part) => part !== null && part !== '').join(' · ');
}
