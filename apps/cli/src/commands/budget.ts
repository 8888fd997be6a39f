import type { Budget, BudgetChange, BudgetHistory, BudgetList, BudgetRequest } from '@recount/contract';
import { BUDGET_PERIODS, BUDGET_UNITS, DEFAULT_ANOMALY_FACTOR, DEFAULT_THRESHOLDS } from '@recount/contract/choices';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { findNamed, withClient } from '../connection/with-client.ts';
import { findDestinations } from '../report/find-destinations.ts';
import { describeKeptFilters, toKeptFilters } from '../report/kept-filters.ts';
import { addListCommand, addNamedCommand, addRemoveCommand } from '../report/named-items.ts';
import { addNameFilterOptions, collect, type FilterOptions } from '../report/report-query.ts';
import { type CliContext, note, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatCount, formatCountOf, formatDecimal, formatTimestamp } from '../terminal/format-values.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { printTable } from '../terminal/print-table.ts';
import { toSingleLine } from '../terminal/text-width.ts';
import { addTimeZoneOptions, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';

interface SetOptions extends PlaceOptions, FilterOptions {
  amount?: number;
  period?: Budget['period'];
  unit?: Budget['unit'];
  threshold?: number[];
  forecast?: number | 'never';
  anomaly?: number | 'never';
  destination?: string[];
  allDestinations?: boolean;
}

interface HistoryOptions extends PlaceOptions, TimeZoneOptions {
  limit: number;
}

const MAX_PERCENT = 1000;
const MAX_LIMIT = 500;
const percent = wholeNumber(1, MAX_PERCENT);
const collectPercent = (text: string, before: number[] = []): number[] => [...before, percent(text)];

export function createBudgetCommand(context: CliContext): Command {
  const budget = new Command('budget')
    .description('Budgets by day, week or month: what is spent of them, and what they have warned of')
    .addHelpText(
      'after',
      `
A budget counts dollars at list prices, or tokens, of everything or of what its filters let through, with the figures of
\`recount report\`. A worker looks once a minute, and warns of each threshold once in a period. What comes in later, and
prices that change, never make it warn of the same again.

\`recount report forecast\` makes the forecast. A day is an anomaly if it exceeds ${DEFAULT_ANOMALY_FACTOR} times the median of the days with
use among the 28 before it, if there are at least seven.

Examples:
  $ recount budget set everything --amount 600
  $ recount budget set heron-team --amount 50 --period week --repository heron --tz Europe/Berlin
  $ recount budget set opus --amount 2e9 --unit tokens --model opus --threshold 90
  $ recount budget set opus --destination managers      # its warnings go only there
  $ recount budget list
  $ recount budget check everything
  $ recount budget history everything
  $ recount budget remove opus`,
    );
  addListCommand(budget, 'Show all budgets with what is spent of them', (options) => showBudgets(context, options));
  budget.addCommand(createSetCommand(context));
  addPlaceOptions(budget.command('check'))
    .description('End with 1 if one of these budgets, or of all, is reached')
    .argument('[names...]', 'as `recount budget list` shows them')
    .option('--hook', 'as a hook of Claude Code and Codex, see `recount connect --stop-at-budget`')
    .option('--json', 'print JSON')
    .action((names: string[], options: PlaceOptions & { hook?: boolean }) => checkBudgets(context, names, options));
  budget
    .command('remember', { hidden: true })
    .description('Save what is spent of the budgets of this machine, for the hook and the status line')
    .action(async () => {
      const { rememberBudgets } = await import('../collector/remember-budgets.ts');
      await rememberBudgets(context);
    });
  addRemoveCommand(budget, context, BUDGETS);
  addTimeZoneOptions(addNamedCommand(budget, 'history'))
    .description('Show what a budget has warned of, the latest first')
    .option('--limit <n>', 'rows at most', wholeNumber(1, MAX_LIMIT), 50)
    .option('--json', 'print JSON')
    .action((name: string, options: HistoryOptions) => showHistory(context, name, options));
  return budget;
}

function createSetCommand(context: CliContext): Command {
  const command = new Command('set')
    .description('Create a budget, or change one of this name. What it counts stays')
    .argument('<name>', 'what to call it')
    .option('--amount <n>', 'dollars or tokens of a period, such as 600 or 2e9', positive)
    .addOption(new Option('--period <period>', 'default: month; weeks begin on Monday').choices(BUDGET_PERIODS))
    .addOption(new Option('--unit <unit>', 'default: usd').choices(BUDGET_UNITS))
    .option(
      '--threshold <percent>',
      `percent that it warns at; may be repeated (default: ${DEFAULT_THRESHOLDS.join(', ')})`,
      collectPercent,
    )
    .option('--forecast <percent>', 'percent that the forecast must reach, or never (default: 100)', orNever(percent))
    .option(
      '--anomaly <factor>',
      `times the median that a day must exceed, or never (default: ${DEFAULT_ANOMALY_FACTOR})`,
      orNever(positive),
    )
    .addOption(
      new Option('--destination <name>', 'who gets its warnings; may be repeated (default: all destinations)')
        .argParser(collect)
        .conflicts('allDestinations'),
    )
    .option('--all-destinations', 'its warnings go to all destinations again')
    .option('--json', 'print JSON');
  return addPlaceOptions(addNameFilterOptions(addTimeZoneOptions(command))).action(
    (name: string, options: SetOptions) => setBudget(context, name, options),
  );
}

function positive(text: string): number {
  const value = Number(text);
  if (!/^[\d.]+(e\d+)?$/i.test(text) || !(value > 0)) throw new InvalidArgumentError('Must be a number above 0.');
  return value;
}

const orNever =
  (parse: (text: string) => number) =>
  (text: string): number | 'never' =>
    text === 'never' ? text : parse(text);

const toOptional = (value: number | 'never'): number | null => (value === 'never' ? null : value);

async function listBudgets(client: ApiClient): Promise<Budget[]> {
  const list = await client.request<BudgetList>('/v1/budgets');
  if (list === undefined) throw new CliError(`${client.place.url} has no budgets. Is it an older version?`);
  return list.budgets;
}

async function checkBudgets(
  context: CliContext,
  names: readonly string[],
  options: PlaceOptions & { hook?: boolean },
): Promise<void> {
  if (options.hook) {
    const { runBudgetHook } = await import('../data-directory/budget-memory.ts');
    return await runBudgetHook(context.environment, context.stdout);
  }
  const all = await withClient(context, options, listBudgets);
  const budgets = names.length === 0 ? all : names.map((name) => findNamed(all, 'budget', name));
  const reached = budgets.filter(({ status }) => status !== null && status.spent_share >= 1);
  if (reached.length > 0) context.exitCode = 1;
  if (options.json) return printJson(context, { budgets: reached });
  printBudgets(context, reached);
  if (reached.length === 0) note(context, 'No budget is reached.');
}

async function showBudgets(context: CliContext, options: PlaceOptions): Promise<void> {
  const budgets = await withClient(context, options, listBudgets);
  if (options.json) return printJson(context, { budgets });
  printBudgets(context, budgets);
  if (budgets.length === 0) note(context, 'No budgets. `recount budget set everything --amount 600` makes one.');
  for (const { name, status } of budgets) {
    for (const message of status?.unmatched ?? []) note(context, `${toSingleLine(name)}: ${toSingleLine(message)}`);
    if (status === null) note(context, `${toSingleLine(name)}: its filters match too many names; set it again.`);
    if (status && status.unpriced_responses > 0)
      note(context, `${toSingleLine(name)}: ${formatCountOf(status.unpriced_responses, 'response')} without a price`);
  }
}

const BUDGETS = { noun: 'budget', parts: 'history', path: '/v1/budgets', list: listBudgets };

const COLUMNS = [
  { header: 'BUDGET', minWidth: 12 },
  { header: 'PERIOD' },
  { header: 'SPENT', align: 'right' as const },
  { header: 'OF', align: 'right' as const },
  { header: 'USED', align: 'right' as const },
  { header: 'FORECAST', align: 'right' as const, isOptional: true, rank: 2 },
  { header: 'LIKELY', isOptional: true, rank: 0 },
  { header: 'COUNTS', minWidth: 12, isOptional: true, rank: 1 },
  { header: 'WARNS', isOptional: true, rank: 3 },
];

const formatAmount = (amount: number, unit: Budget['unit']): string =>
  unit === 'usd' ? `$${formatDecimal(amount, 2)}` : formatCount(amount);

function printBudgets(context: CliContext, budgets: readonly Budget[]): void {
  if (budgets.length === 0) return;
  const rows = budgets.map(({ name, period, unit, amount, filters, status, destination_ids: places }) => {
    const forecast = status?.forecast ?? undefined;
    return [
      name,
      status === null ? period : `${period} from ${status.from}`,
      status === null ? '–' : formatAmount(status.spent, unit),
      formatAmount(amount, unit),
      status === null ? '–' : `${Math.floor(status.spent_share * 100)} %`,
      forecast === undefined ? '' : formatAmount(forecast.cost_usd, unit),
      forecast === undefined
        ? ''
        : `${formatAmount(forecast.low_usd, unit)} to ${formatAmount(forecast.high_usd, unit)}`,
      describeKeptFilters(filters),
      // A server of an older version sends to all.
      places == null ? 'all' : formatCountOf(places.length, 'destination'),
    ];
  });
  printTable(context, COLUMNS, rows);
}

async function setBudget(context: CliContext, name: string, options: SetOptions): Promise<void> {
  const counted = toCounted(context, options);
  const given: BudgetChange = {
    ...(options.amount !== undefined && { amount: options.amount }),
    ...(options.threshold !== undefined && { thresholds: options.threshold }),
    ...(options.forecast !== undefined && { forecast_percent: toOptional(options.forecast) }),
    ...(options.anomaly !== undefined && { anomaly_factor: toOptional(options.anomaly) }),
    ...(options.allDestinations && { destination_ids: null }),
  };
  const budget = await withClient(context, options, async (client) => {
    const { destination: names } = options;
    const change = { ...given, ...(names && { destination_ids: await findDestinations(client, names) }) };
    const existing = (await listBudgets(client)).find((each) => each.name === name);
    if (existing !== undefined) {
      requireSame(existing, counted);
      if (Object.keys(change).length === 0) throw new UsageError('Say what to change, for example --amount 600.');
      return await client.request<Budget>(`/v1/budgets/${existing.id}`, { method: 'PATCH', json: change });
    }
    const { amount } = options;
    if (amount === undefined) throw new UsageError(`There is no budget ${name} yet: give its --amount.`);
    const json: BudgetRequest = { time_zone: toTimeZone(options), ...counted, ...change, amount, name };
    return await client.request<Budget>('/v1/budgets', { method: 'POST', json });
  });
  if (budget === undefined) throw new CliError('The budget was not found. Was it removed just now?');
  if (options.json) return printJson(context, budget);
  printBudgets(context, [budget]);
}

type Counted = Pick<BudgetRequest, 'period' | 'unit' | 'time_zone' | 'filters'>;

/** The part of the options that says what is counted. */
function toCounted(context: CliContext, options: SetOptions): Counted {
  const filters = toKeptFilters(options, context);
  return {
    ...(options.period !== undefined && { period: options.period }),
    ...(options.unit !== undefined && { unit: options.unit }),
    ...((options.tz !== undefined || options.utc) && { time_zone: toTimeZone(options) }),
    ...(Object.keys(filters).length > 0 && { filters: filters as NonNullable<BudgetRequest['filters']> }),
  };
}

function requireSame(existing: Budget, counted: Counted): void {
  const toText = (value: unknown): string => JSON.stringify(Object.entries(value as object).sort());
  const { filters, ...rest } = counted;
  const isSame =
    Object.entries(rest).every(([key, value]) => existing[key as keyof typeof rest] === value) &&
    (filters === undefined || toText(filters) === toText(existing.filters));
  if (isSame) return;
  throw new UsageError(
    `What the budget ${existing.name} counts cannot change, as its history would mean something else. Remove it first, or choose another name.`,
  );
}

const HISTORY_COLUMNS = [
  { header: 'AT' },
  { header: 'PERIOD' },
  { header: 'WARNING', minWidth: 12 },
  { header: 'FIGURE', align: 'right' as const },
  { header: 'OF', align: 'right' as const },
];

async function showHistory(context: CliContext, name: string, options: HistoryOptions): Promise<void> {
  const history = await withClient(context, options, async (client) => {
    const { id } = findNamed(await listBudgets(client), 'budget', name);
    return await client.request<BudgetHistory>(`/v1/budgets/${id}/history`, { query: { limit: options.limit } });
  });
  if (history === undefined) throw new CliError(`There is no budget ${name}.`);
  if (options.json) return printJson(context, history);
  const timeZone = toTimeZone(options);
  const rows = history.crossings.map((crossing) => [
    formatTimestamp(crossing.crossed_at, timeZone),
    crossing.period_start,
    toWarning(crossing),
    formatAmount(crossing.figure, crossing.unit),
    formatAmount(crossing.amount, crossing.unit),
  ]);
  if (rows.length === 0) return note(context, 'It has warned of nothing yet.');
  printTable(context, HISTORY_COLUMNS, rows);
  if (history.next_cursor !== null) note(context, 'There are earlier ones; --limit shows more.');
}

function toWarning({ kind, threshold, is_late, unit, low, high, median }: BudgetHistory['crossings'][number]): string {
  const late = is_late ? ', late' : '';
  if (kind === 'threshold') return `${threshold} % spent${late}`;
  if (kind === 'forecast')
    return `forecast over ${threshold} %, likely ${formatAmount(low ?? 0, unit)} to ${formatAmount(high ?? 0, unit)}`;
  return `unusual day, median ${formatAmount(median ?? 0, unit)}${late}`;
}
