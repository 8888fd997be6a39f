import type { LocalClock } from '@recount/core';
import type { UsageFilter, UsageKey, UsageReport } from '@recount/usage';
import type { ReportAnswer } from '../report/report-answer.ts';

/** Rows of a report of this machine in the form of a server's, so that both are shown alike. */
export function toUsageAnswer(
  { rows, totals, unpricedModels, unpricedTerms, priceDate, sessions, withoutTimestamp, disagreements }: UsageReport,
  groupBy: readonly UsageKey[],
  {
    clock,
    filter,
    limit = Number.MAX_SAFE_INTEGER,
  }: { clock: LocalClock; filter: UsageFilter; limit?: number | undefined },
): ReportAnswer {
  const { own } = totals;
  const toTime = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    filters: {
      from: toTime(filter.fromMs),
      to: toTime(filter.toMs),
      time_zone: clock.timeZone,
      agent: filter.agent ?? null,
      project: filter.project ?? null,
      git_branch: null,
      machine: null,
      person: null,
      team: null,
      cost_centre: null,
      model: filter.model ?? null,
      unmatched: [],
      session_id: filter.session ?? null,
      subagents: 'include',
      group_by: [...groupBy],
      limit,
    } as unknown as ReportAnswer['filters'],
    currency_label: 'USD',
    caveats: {
      unfinalised: { ...own.unfinalised, estimated_cost_usd: null },
      unpriced: { ...own.unpriced, models: unpricedModels.slice(0, 100), terms: unpricedTerms },
      price_date: priceDate,
      default_priced_responses: own.default_priced_responses,
      without_timestamp: withoutTimestamp,
      sessions,
      disagreements,
    },
    rows: rows.slice(0, limit) as unknown as ReportAnswer['rows'],
    totals: totals as unknown as ReportAnswer['totals'],
    truncated: rows.length > limit,
  };
}
