import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toExportQuery } from '../export/export-queries.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet, type TestSession } from '../testing/insert-test-fleet.ts';
import {
  listExpensiveSessions,
  type ReportFilter,
  readModelsReport,
  readPullRequestsReport,
  readReconciliationReport,
  readSessionsReport,
  readSessionUsage,
  readSubagentsReport,
  readUsageReport,
} from './index.ts';

const FILTER: ReportFilter = {
  workspaceId: TEST_WORKSPACE,
  from: null,
  to: null,
  timeZone: 'UTC',
  subagents: 'include',
};
const PAGE = { limit: 100, idleThresholdMs: 300_000 };

const unpriced = { model: 'brand-new', price_basis: 'unpriced', tokens_in: 5 } as const;
const link = (name: string) => [{ kind: 'pull_request' as const, name, event_key: name }];
const task = (id: string) => [{ tool_name: 'Task', subagent_type: 'explorer', subagent_id: id, response_key: null }];

/** Figures of the session's row as its transcript would give them. */
function toSession(
  session_id: string,
  costs: readonly (number | null)[],
  fields: Partial<TestSession> = {},
): TestSession {
  const known = costs.filter((cost) => cost !== null);
  return {
    session_id,
    first_timestamp: '2026-05-04T10:00:00.000Z',
    api_response_count: costs.length,
    unpriced_count: costs.length - known.length,
    cost_estimate_usd: costs.length > 0 && known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0),
    responses: costs.map((cost) => ({
      ...(cost === null ? unpriced : { cost_usd: cost, cost_input_usd: cost }),
      ...(fields.is_subagent === true && { agent_id: session_id }),
    })),
    ...fields,
  };
}

const FLEET = [
  toSession('priced', [4, 2], { reported_cost_usd: 6, events: link('url-1') }),
  toSession('mixed', [2, null], { reported_cost_usd: 3, calls: [...task('child'), ...task('cheap')] }),
  toSession('unknown', [null, null], { reported_cost_usd: 9, events: link('url-2') }),
  toSession('silent', [], { events: link('url-3') }),
  toSession('child', [null], { is_subagent: true, parent_session_id: 'mixed', agent_id: 'child' }),
  toSession('cheap', [1], { is_subagent: true, parent_session_id: 'mixed', agent_id: 'cheap' }),
];

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, FLEET);
});
afterAll(() => pool.close());

describe('usage without a price', () => {
  it('is not a cost of 0 in usage, and is counted separately', async () => {
    const { rows, totals } = await readUsageReport(pool.database, FILTER, { groupBy: ['session'], limit: 100 });
    expect(
      Object.fromEntries(rows.map(({ session, own }) => [session, [own.cost_usd, own.unpriced.responses]])),
    ).toEqual({
      priced: [6, 0],
      mixed: [2, 1],
      unknown: [null, 2],
      child: [null, 1],
      cheap: [1, 0],
    });
    expect(rows.find(({ session }) => session === 'unknown')?.own.cost_by_class).toBeNull();
    expect(totals.own).toMatchObject({ cost_usd: 9, unpriced: { responses: 4 } });
    const { rows: models } = await readModelsReport(pool.database, FILTER, PAGE);
    expect(models.find(({ model }) => model === 'brand-new')).toMatchObject({ cost_usd: null, cost_by_class: null });
    const { own, shared } = await readSessionUsage(pool.database, TEST_WORKSPACE, 'unknown');
    expect([own.cost_usd, shared.cost_usd]).toEqual([null, 0]);
  });

  it('is excluded from means and percentiles of sessions', async () => {
    const filter = { ...FILTER, subagents: 'exclude' } as const;
    const { totals, rows } = await readSessionsReport(pool.database, filter, { ...PAGE, groupBy: ['session'] });
    expect(totals).toMatchObject({
      sessions: 4,
      cost_usd: 8,
      own_cost_usd: 8,
      unpriced_responses: 3,
      own_unpriced_responses: 3,
      unpriced_sessions: 1,
      distribution: { cost_usd: { p50: 2, max: 6, mean: 8 / 3 } },
    });
    expect(rows.map(({ session, cost_usd, own_cost_usd }) => [session, cost_usd, own_cost_usd])).toEqual([
      ['priced', 6, 6],
      ['mixed', 2, 2],
      ['silent', 0, 0],
      ['unknown', null, null],
    ]);
    expect(rows.at(-1)?.distribution.cost_usd).toBeNull();
    const dear = await listExpensiveSessions(pool.database, filter, { ...PAGE, top: 10 });
    expect(dear.map((row) => [row.session_id, row.cost_usd, row.own_cost_usd, row.shared_cost_usd])).toEqual([
      ['priced', 6, 6, 0],
      ['mixed', 2, 2, 0],
      ['silent', 0, 0, 0],
      ['unknown', null, null, 0],
    ]);
    expect(dear.map(({ unpriced_responses }) => unpriced_responses)).toEqual([0, 1, 0, 2]);
  });

  it('is excluded from means of pull requests and sub-agents', async () => {
    const { rows, totals } = await readPullRequestsReport(pool.database, FILTER, PAGE);
    expect(rows.map(({ url, cost_usd, unpriced_responses }) => [url, cost_usd, unpriced_responses])).toEqual([
      ['url-1', 6, 0],
      ['url-2', null, 2],
      ['url-3', 0, 0],
    ]);
    expect(totals).toMatchObject({ pull_requests: 3, cost_usd: 6, mean_cost_usd: 3, unpriced_responses: 2 });
    const { totals: subagents } = await readSubagentsReport(pool.database, FILTER, PAGE);
    expect(subagents).toMatchObject({ subagents: 2, cost_usd: 1, mean_cost_usd: 1, unpriced: { responses: 1 } });
  });

  it('is not compared with a reported cost', async () => {
    const { rows, totals } = await readReconciliationReport(pool.database, FILTER, PAGE);
    expect(
      rows.map((row) => [row.session_id, row.computed_cost_usd, row.subagent_cost_usd, row.difference_usd]),
    ).toEqual([
      ['mixed', 3, 1, 0],
      ['priced', 6, 0, 0],
      ['unknown', null, 0, null],
    ]);
    expect(rows.map(({ unpriced_responses }) => unpriced_responses)).toEqual([2, 0, 2]);
    expect(totals).toMatchObject({
      reported_cost_usd: 18,
      computed_cost_usd: 9,
      difference_usd: 0,
      difference_ratio: 0,
      sessions_within_one_percent: 2,
    });
  });

  it('is null in exports and views', async () => {
    const { rows } = await pool.database.execute(toExportQuery('sessions', FILTER));
    expect(
      Object.fromEntries(
        rows.map((row) => [row.session_id, [row.cost_usd, row.own_cost_usd, row.own_unpriced_responses].map(toNumber)]),
      ),
    ).toEqual({
      priced: [6, 6, 0],
      mixed: [2, 2, 1],
      unknown: [null, null, 2],
      silent: [0, 0, 0],
      child: [null, null, 1],
      cheap: [1, 1, 0],
    });
    const usage = await pool.pool.query(
      'SELECT session_id, cost_usd FROM analytics.session_usage WHERE cost_usd IS NULL ORDER BY 1',
    );
    expect(usage.rows.map(({ session_id }) => session_id)).toEqual(['child', 'unknown']);
  });
});

const toNumber = (value: unknown): number | null => (value === null ? null : Number(value));
