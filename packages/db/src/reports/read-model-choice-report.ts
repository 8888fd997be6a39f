import type { ReportBody, ReportRow, ReportTotals } from '@recount/contract';
import { COST_UNITS_PER_USD, type PriceTable, toUsd } from '@recount/core';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import { USAGE_SOURCE, USAGE_TABLE } from './read-usage-report.ts';
import { type ReportPage, readSessionCounts } from './report-groups.ts';
import { joinSessions, toConditions, toReportSource } from './report-source.ts';

type ModelChoiceFigures = ReportTotals<'model-choice'>;

type ModelChoice = ReportRow<'model-choice'>;

export interface ModelComparison {
  prices: PriceTable;
  /** Request sizes, in input tokens, where any model's rates change. */
  requestSizes: readonly number[];
  /** Models of one maker count tokens alike. */
  isComparable(model: string, other: string): boolean;
  /** The models of the price list, whether in use or not. */
  knownModels: readonly string[];
  /** True if the first model replaces the second. */
  isLaterGeneration(model: string, other: string): boolean;
}

/** Responses of a model that every price table charges at the same rates, for responses of one day, size and kind. */
interface Group extends Record<string, unknown> {
  model: string;
  day: string | null;
  service_tier: string | null;
  speed: string | null;
  inference_geo: string | null;
  responses: number;
  tokens_in: number;
  tokens_out: number;
  cache_read: number;
  cache_write: number;
  cache_write_5m: number;
  cache_write_1h: number;
  web_search_requests: number;
  cost: number;
}

/** Minimum relative saving, because between models of equal price, costs differ by rounding. */
const MIN_SAVING = 0.01;

const SOURCE = toReportSource('u', { time: 'timestamp', own: ['git_branch', 'agent_version', 'model', 'turn_line'] });

/** The cost of each model's tokens with a cheaper model of the current generation in use; the largest difference first. */
export async function readModelChoiceReport(
  database: Database,
  filter: ReportFilter,
  { limit }: Pick<ReportPage, 'limit'>,
  comparison: ModelComparison,
): Promise<ReportBody<'model-choice'>> {
  const { rows: groups } = await database.execute<Group>(sql`
    SELECT u.model, to_char(u."timestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"00:00:00.000"Z"') AS day, u.service_tier, u.speed,
      u.inference_geo, count(*)::float8 AS responses, sum(u.tokens_in)::float8 AS tokens_in,
      sum(u.tokens_out)::float8 AS tokens_out, sum(u.cache_read)::float8 AS cache_read, sum(u.cache_write)::float8 AS cache_write,
      sum(u.cache_write_5m)::float8 AS cache_write_5m, sum(u.cache_write_1h)::float8 AS cache_write_1h,
      sum(u.web_search_requests)::float8 AS web_search_requests, sum(u.cost_usd)::float8 AS cost
    FROM recount.usage_ledger AS u ${joinSessions(SOURCE, filter)}
    WHERE ${toConditions(filter, SOURCE)} AND u.model IS NOT NULL AND u.cost_usd IS NOT NULL AND u.price_basis <> 'reported'
      AND (u.request_tokens IS NULL OR u.tokens_in + u.cache_read + u.cache_write <= ${minBandSize(comparison)})
    GROUP BY u.model, day, u.service_tier, u.speed, u.inference_geo, width_bucket(
      u.tokens_in + u.cache_read + u.cache_write,
      ${sql.param(comparison.requestSizes.map((size) => size + 1))}::bigint[])`);
  const sessionsOf = await readSessionCounts(database, filter, {
    source: USAGE_SOURCE,
    table: USAGE_TABLE,
    columns: {},
    keys: { model: sql`u.model` },
  });
  const byModel = Map.groupBy(groups, ({ model }) => model);
  const models = [...byModel.keys()];
  // A model that has a successor is no advice.
  const successors = [...models, ...comparison.knownModels];
  const current = models.filter((model) => !successors.some((other) => comparison.isLaterGeneration(other, model)));
  const rows = [...byModel].map(([model, own]): ModelChoice => {
    const others = current.filter((other) => other !== model && comparison.isComparable(model, other));
    const choice = chooseCheaper(own, others, comparison.prices);
    return { model, sessions: sessionsOf.get(JSON.stringify([model])) ?? 0, ...choice };
  });
  rows.sort(
    (a, b) => toSaving(b) - toSaving(a) || (b.cost_usd ?? 0) - (a.cost_usd ?? 0) || (a.model < b.model ? -1 : 1),
  );
  const compared = rows.filter(({ cheaper_model }) => cheaper_model !== null);
  const sum = (of: (row: ModelChoice) => number | null): number =>
    toUsd(compared.reduce((units, row) => units + Math.round((of(row) ?? 0) * COST_UNITS_PER_USD), 0));
  return {
    rows: rows.slice(0, limit),
    totals: {
      responses: compared.reduce((total, row) => total + row.responses, 0),
      total_tokens: compared.reduce((total, row) => total + row.total_tokens, 0),
      cost_usd: sum((row) => row.cost_usd),
      cheaper_cost_usd: compared.length === 0 ? null : sum((row) => row.cheaper_cost_usd),
    },
    truncated: rows.length > limit,
  };
}

/**
 * A response of several requests is priced by the size of each, so it is compared only if no model has a band so small.
 */
const minBandSize = ({ requestSizes }: ModelComparison): number =>
  Math.min(...requestSizes.filter((size) => size > 0), Number.MAX_SAFE_INTEGER);

const toSaving = ({ cost_usd, cheaper_cost_usd }: ModelChoice): number =>
  cost_usd === null || cheaper_cost_usd === null ? -1 : cost_usd - cheaper_cost_usd;

type Choice = ModelChoiceFigures & Pick<ModelChoice, 'cheaper_model'>;

/** The most expensive of the models that would have cost less for what they have a price for. */
function chooseCheaper(groups: readonly Group[], others: readonly string[], prices: PriceTable): Choice {
  const choices = others.flatMap((other): Choice[] => {
    const priced = groups.flatMap((group) => {
      const cost = priceAs(other, group, prices);
      return cost === null ? [] : [{ group, cost }];
    });
    const cheaper = toRounded(priced.reduce((sum, { cost }) => sum + cost, 0));
    const figures = sumGroups(priced.map(({ group }) => group));
    return priced.length > 0 && cheaper <= (figures.cost_usd ?? 0) * (1 - MIN_SAVING)
      ? [{ ...figures, cheaper_model: other, cheaper_cost_usd: cheaper }]
      : [];
  });
  const [next] = choices.sort((a, b) => (b.cheaper_cost_usd ?? 0) - (a.cheaper_cost_usd ?? 0));
  return next ?? { ...sumGroups(groups), cheaper_model: null, cheaper_cost_usd: null };
}

function sumGroups(groups: readonly Group[]): Omit<ModelChoiceFigures, 'cheaper_cost_usd'> {
  const sum = (of: (group: Group) => number): number => groups.reduce((total, group) => total + of(group), 0);
  return {
    responses: sum(({ responses }) => responses),
    total_tokens: sum((each) => each.tokens_in + each.tokens_out + each.cache_read + each.cache_write),
    cost_usd: toRounded(sum(({ cost }) => cost)),
  };
}

const toRounded = (usd: number): number => Math.round(usd * COST_UNITS_PER_USD) / COST_UNITS_PER_USD;

/** US dollars (the cost of the group's mean response, which has their size, times their number). */
function priceAs(model: string, group: Group, prices: PriceTable): number | null {
  const { responses } = group;
  const { costUsd } = prices.price({
    model,
    timestamp: group.day,
    usage: {
      inputTokens: group.tokens_in / responses,
      outputTokens: group.tokens_out / responses,
      cacheReadTokens: group.cache_read / responses,
      cacheWriteTokens: group.cache_write / responses,
      cacheWrite5mTokens: group.cache_write_5m / responses,
      cacheWrite1hTokens: group.cache_write_1h / responses,
      thinkingTokens: 0,
      webSearchRequests: group.web_search_requests / responses,
      webFetchRequests: 0,
      serviceTier: group.service_tier,
      speed: group.speed,
      inferenceGeo: group.inference_geo,
    },
  });
  return costUsd === null ? null : costUsd * responses;
}
