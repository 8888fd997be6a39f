import type { ReportBody, ReportRow } from '@recount/contract';
import { createLocalClock } from '@recount/core';
import type { Database } from '../database/database.ts';
import { toAttributed } from '../filters/attributed-to.ts';
import type { ReportFilter } from '../filters/report-filter.ts';
import { readShownNames } from '../filters/resolve-people.ts';
import type { StoredPlan } from '../schema/workspaces.ts';
import { readPlans } from '../workspaces/plans.ts';
import { DAY_MS, toLocalDay } from './local-days.ts';
import { BLOCK_MS, findBlockStart } from './read-blocks-report.ts';
import { readForecastReport } from './read-forecast-report.ts';
import { readUsageReport } from './read-usage-report.ts';

type PlanRow = ReportRow<'plans'>;

const WEEK_MS = 7 * DAY_MS;

/** Plans that pass the filter, each with its use by the answers of the reports on usage and on the month. */
export async function readPlansReport(
  database: Database,
  filter: ReportFilter,
  nowMs: number,
): Promise<ReportBody<'plans'>> {
  const endMs = filter.to === null ? nowMs : Math.min(nowMs, Date.parse(filter.to));
  const rows: PlanRow[] = [];
  const plans = await readPlans(database, filter.workspaceId);
  const shown =
    plans.length === 0 ? new Map<string, string>() : (await readShownNames(database, filter.workspaceId)).shown;
  const people = filter.person && new Set(filter.person.map((name) => shown.get(name) ?? name)).size;
  for (const plan of plans) {
    const own = toPlanFilter(filter, plan, shown);
    const seats = plan.person === null ? Math.min(plan.seats, people ?? plan.seats) : 1;
    if (own !== undefined) rows.push(await readPlan(database, own, { ...plan, seats }, endMs));
  }
  // The last moment before the end, so that the end of a month is not the next one.
  const month = toLocalDay(endMs - 1, createLocalClock(filter.timeZone)).slice(0, 'YYYY-MM'.length);
  return { rows, totals: { month, plans: rows.length }, truncated: false };
}

/** The part of a filter that a plan is about; undefined if there is none. */
function toPlanFilter(
  filter: ReportFilter,
  { agent, person }: StoredPlan,
  shown: ReadonlyMap<string, string>,
): ReportFilter | undefined {
  if (agent !== null && filter.agent !== undefined && !filter.agent.includes(agent)) return undefined;
  const ofAgent = agent === null ? filter : { ...filter, agent: [agent] };
  if (person === null) return ofAgent;
  const names = listSessionNames(shown, person);
  const meant = filter.attributed ?? (filter.person && toAttributed(filter.person));
  // A plan of someone without sessions has no use, but a price.
  const own = toAttributed(names.length === 0 ? [person] : names);
  const attributed = meant?.filter(({ name }) => names.includes(name)) ?? own;
  if (attributed.length === 0) return undefined;
  return { ...ofAgent, person: attributed.map(({ name }) => name), attributed };
}

/** The names that sessions of a person have. A person is given by any of them, or as reports show it. */
function listSessionNames(shown: ReadonlyMap<string, string>, given: string): string[] {
  const key = given.toLowerCase();
  const isGiven = (name: string): boolean => name.toLowerCase() === key;
  const meant = [...shown].find(([name, person]) => isGiven(person) || isGiven(name))?.[1];
  return [...shown].flatMap(([name, person]) => (person === meant ? [name] : []));
}

async function readPlan(
  database: Database,
  filter: ReportFilter,
  { name, person, agent, monthly_usd: monthlyUsd, seats }: StoredPlan,
  endMs: number,
): Promise<PlanRow> {
  const readWindow = async (fromMs: number, toMs: number): Promise<PlanRow['week']> => {
    const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString()) as [string, string];
    const { totals } = await readUsageReport(database, { ...filter, from, to }, { limit: 1 });
    return { from, to, cost_usd: totals.own.cost_usd, total_tokens: totals.own.total_tokens };
  };
  const { rows } = await readForecastReport(database, { ...filter, to: new Date(endMs).toISOString() }, endMs);
  const costOf = (period: string): number | null => rows.find((row) => row.period === period)?.cost_usd ?? null;
  const price = monthlyUsd * seats;
  const month = costOf('month-to-date');
  const blockMs = seats === 1 ? await findBlockStart(database, filter, endMs) : undefined;
  return {
    ...{ plan: name, person, agent, seats, price_usd: price },
    ...{ month_usd: month, month_share: month === null || price === 0 ? null : month / price },
    ...{ forecast_usd: costOf('forecast'), last_month_usd: costOf('last-month') },
    unpriced_responses: rows.find((row) => row.period === 'month-to-date')?.unpriced_responses ?? 0,
    week: await readWindow(endMs - WEEK_MS, endMs),
    block: blockMs === undefined ? null : await readWindow(blockMs, blockMs + BLOCK_MS),
  };
}
