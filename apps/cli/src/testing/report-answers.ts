import type { UsageReport } from '@recount/contract';

type Figures = UsageReport['totals']['own'];

/** Usage figures multiplied by `scale`. */
export function toFigures(scale: number, changes: Partial<Figures> = {}): Figures {
  return {
    responses: 10 * scale,
    tokens_in: 1_234 * scale,
    tokens_out: 5_678 * scale,
    cache_read: 9_000_000 * scale,
    cache_write: 321_000 * scale,
    cache_write_1h: 0,
    thinking_tokens: 0,
    total_tokens: 9_327_912 * scale,
    cache_hit_ratio: 0.965,
    web_search_requests: 0,
    cost_usd: 4.25 * scale,
    cost_by_class: { input: scale, output: scale, cache_read: scale, cache_write: 1.25 * scale, web_search: 0 },
    unfinalised: { responses: 0, tokens_out: 0, estimated_tokens_out: 0 },
    unpriced: { responses: 0, tokens: 0 },
    default_priced_responses: 0,
    ...changes,
  };
}

/** An answer of `/v1/analytics/usage`, by day. */
export function toUsageReport(changes: Partial<UsageReport> = {}): UsageReport {
  const toRow = (scale: number) => ({
    sessions: scale,
    messages: 40 * scale,
    user_messages: 20 * scale,
    own: toFigures(scale),
    shared: toFigures(0, { cost_usd: 0, cache_hit_ratio: null }),
  });
  return {
    filters: {
      from: '2026-03-28T23:00:00.000Z',
      to: null,
      time_zone: 'Europe/Berlin',
      agent: null,
      repository: null,
      project: null,
      git_branch: null,
      machine: null,
      person: null,
      team: null,
      cost_centre: null,
      kind_of_work: null,
      model: null,
      unmatched: [],
      session_id: null,
      subagents: 'include',
      group_by: ['day'],
      limit: 1000,
    },
    currency_label: 'USD',
    caveats: {
      unfinalised: { responses: 0, tokens_out: 0, estimated_tokens_out: 0, estimated_cost_usd: 0 },
      unpriced: { responses: 0, tokens: 0, models: [], terms: [] },
      price_date: '2026-09-23',
      default_priced_responses: 0,
      without_timestamp: 0,
      sessions: { without_usage: 0, output_only: 0 },
      disagreements: { responses: 0, cost_usd: 0, lowest_cost_usd: 0, highest_cost_usd: 0 },
    },
    rows: [
      { day: '2026-03-29', ...toRow(1) },
      { day: '2026-03-30', ...toRow(3) },
    ],
    totals: toRow(4),
    truncated: false,
    data_range: null,
    ...changes,
  };
}
