import type { Plan, PlanList, PlanListRequest } from '@recount/contract';
import { Command, InvalidArgumentError } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, printJson } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { formatCount, formatDecimal } from '../terminal/format-values.ts';
import { wholeNumber } from '../terminal/option-values.ts';
import { printTable } from '../terminal/print-table.ts';
import { toSingleLine } from '../terminal/text-width.ts';

interface PlanOptions extends PlaceOptions {
  person?: string;
  agent?: string;
}

interface SetOptions extends PlanOptions {
  price: number;
  seats: number;
}

const MAX_SEATS = 1e6;

export function createPlanCommand(context: CliContext): Command {
  const plan = new Command('plan')
    .description('Subscriptions, which `recount report plans` compares with use')
    .addHelpText(
      'after',
      `
A plan is of the workspace, or of one person, and may be for one agent. Its price is for a seat and a month.

Examples:
  $ recount plan set Team --price 30 --seats 40
  $ recount plan set "Max 20x" --price 200 --person ada@example.com --agent claude-code
  $ recount report plans
  $ recount plan remove "Max 20x" --person ada@example.com`,
    );
  addPlaceOptions(plan.command('list', { isDefault: true }))
    .description('Show all plans')
    .option('--json', 'print JSON')
    .action((options: PlaceOptions) => showPlans(context, options));
  addPlaceOptions(plan.command('set'))
    .description('Add a plan, or change the one of this name and person')
    .argument('<name>', 'such as "Max 20x"')
    .requiredOption('--price <dollars>', 'of a seat in a month', parsePrice)
    .option('--seats <n>', 'of a plan of the workspace', wholeNumber(1, MAX_SEATS), 1)
    .option('--person <name>', 'who has it; otherwise the workspace')
    .option('--agent <agent>', 'the agent that it is for; otherwise all')
    .option('--json', 'print JSON')
    .action((name: string, options: SetOptions) => setPlan(context, name, options));
  addPlaceOptions(plan.command('remove'))
    .description('Remove a plan')
    .argument('<name>', 'as `recount plan list` shows it')
    .option('--person <name>', 'who has it')
    .action((name: string, options: PlanOptions) => removePlan(context, name, options));
  return plan;
}

function parsePrice(text: string): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('Must be a number of dollars.');
  return value;
}

async function readPlans(client: ApiClient): Promise<Plan[]> {
  const list = await client.request<PlanList>('/v1/plans');
  if (list === undefined) throw new CliError(`${client.place.url} has no plans. Is it an older version?`);
  return list.plans;
}

async function writePlans(client: ApiClient, plans: Plan[]): Promise<Plan[]> {
  const json: PlanListRequest = { plans };
  await client.request<PlanList>('/v1/plans', { method: 'PUT', json });
  return plans;
}

async function showPlans(context: CliContext, options: PlaceOptions): Promise<void> {
  const plans = await withClient(context, options, readPlans);
  printPlans(context, plans, options.json);
  if (plans.length === 0 && !options.json)
    note(context, 'No plans. `recount plan set Team --price 30 --seats 40` adds one.');
}

const COLUMNS = [
  { header: 'PLAN', minWidth: 12 },
  { header: 'PERSON' },
  { header: 'AGENT' },
  { header: 'PRICE', align: 'right' as const },
  { header: 'SEATS', align: 'right' as const },
];

function printPlans(context: CliContext, plans: readonly Plan[], json = false): void {
  if (json) {
    printJson(context, { plans });
    return;
  }
  if (plans.length === 0) return;
  const rows = plans.map(({ name, person, agent, monthly_usd: price, seats }) => [
    name,
    person ?? 'everyone',
    agent ?? 'all',
    `$${formatDecimal(price, 2)}`,
    formatCount(seats),
  ]);
  printTable(context, COLUMNS, rows);
}

const isOf =
  (name: string, { person = null }: { person?: string | null }) =>
  (plan: Plan): boolean =>
    plan.name === name && plan.person === person;

async function setPlan(context: CliContext, name: string, options: SetOptions): Promise<void> {
  const { person = null, agent = null, price, seats } = options;
  const plan: Plan = { name, person, agent, monthly_usd: price, seats };
  const plans = await withClient(context, options, async (client) => {
    const before = await readPlans(client);
    const at = before.findIndex(isOf(name, options));
    return await writePlans(client, at < 0 ? [...before, plan] : before.with(at, plan));
  });
  printPlans(context, plans, options.json);
}

async function removePlan(context: CliContext, name: string, options: PlanOptions): Promise<void> {
  await withClient(context, options, async (client) => {
    const before = await readPlans(client);
    const after = before.filter((plan) => !isOf(name, options)(plan));
    if (after.length === before.length) throw new CliError(`There is no such plan: ${toSingleLine(name)}.`);
    await writePlans(client, after);
  });
  note(context, `The plan ${toSingleLine(name)} is removed.`);
}
