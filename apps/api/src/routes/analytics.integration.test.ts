import { REPORT_SCHEMAS, type SessionDetail, type SessionList, type UsageReport } from '@recount/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toTranscript } from '../testing/transcript-lines.ts';

const WRONG_QUERIES = [
  ['time_zone', 'time_zone=CEST'],
  ['time_zone', 'time_zone=Europe/Atlantis'],
  ['from', 'from=yesterday'],
  ['from', 'from=2026-01-01T00:01:00Z'],
  ['to', 'from=2026-01-02&to=2026-01-02'],
  ['limit', 'limit=10001'],
  ['colour', 'colour=red'],
];

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
  await api.upload(toTranscript('first', 6));
  await api.upload(toTranscript('second', 4));
  await api.work();
});
afterAll(() => api.close());

const ask = (path: string, init: RequestInit = {}) => api.fetch(`/v1/analytics/${path}`, init);

async function read<Report>(path: string, init: RequestInit = {}): Promise<Report> {
  const response = await ask(path, init);
  expect(response.status).toBe(200);
  return (await response.json()) as Report;
}

describe.each(Object.entries(REPORT_SCHEMAS))('%s', (name, { answer: schema }) => {
  it('answers with the schema of the contract', async () => {
    const report = await read<UsageReport>(`${name}?time_zone=Europe/Berlin&from=2026-01-01&limit=7`);
    expect(schema.parse(report)).toEqual(report);
    expect(report).toMatchObject({
      filters: { from: '2025-12-31T23:00:00.000Z', to: null, time_zone: 'Europe/Berlin', project: null, limit: 7 },
      currency_label: 'USD',
      caveats: { unpriced: { responses: 0, models: [] }, without_timestamp: 0 },
      truncated: false,
    });
  });

  it('refuses an invalid filter, and names it', async () => {
    for (const [field, query] of WRONG_QUERIES) {
      const problem = await expectProblem(await ask(`${name}?${query}`), 400, 'invalid-request');
      expect(problem.errors, query).toMatchObject([{ location: 'query', field }]);
    }
  });

  it('shows nothing of another workspace', async () => {
    const headers = { authorization: `Bearer ${api.keys.other}` };
    const { totals } = await read<{ totals: Record<string, unknown> }>(name, { headers });
    // Facts of the calendar.
    const { days: _days, days_left: _left, ...others } = totals;
    const counts = Object.values(others).filter((value) => typeof value === 'number');
    expect(counts.filter((count) => count !== 0)).toEqual([]);
  });
});

describe('usage', () => {
  it('sums what was ingested', async () => {
    const { rows, totals, filters } = await read<UsageReport>('usage?group_by=day,session');
    expect(filters).toMatchObject({ group_by: ['day', 'session'], subagents: 'include', from: null });
    expect(rows.map(({ day, session, own }) => [day, session, own.responses, own.tokens_out])).toEqual([
      ['2026-01-01', 'first', 3, 101 + 103 + 105],
      ['2026-01-01', 'second', 2, 101 + 103],
    ]);
    // $3, $15 and $0.30 for a million tokens.
    expect(totals.own.cost_usd).toBe((5 * (10 * 3 + 1000 * 0.3) + 513 * 15) / 1e6);
    expect(totals).toMatchObject({ sessions: 2, messages: 10, user_messages: 5 });
  });

  it('lists what it can be grouped by', async () => {
    const problem = await expectProblem(await ask('usage?group_by=day,tool'), 400, 'invalid-request');
    expect(problem.errors?.[0]?.message).toContain('hour, day, week, month, model, repository');
  });

  it('truncates a long answer, and says so', async () => {
    const { rows, totals, truncated } = await read<UsageReport>('usage?group_by=session&limit=1');
    expect(rows).toHaveLength(1);
    expect(truncated).toBe(true);
    expect(totals.own.responses).toBe(5);
  });

  it('answers further breakdowns with the same rows as a request for each', async () => {
    const groups = ['day,model', 'session', ''];
    const query = groups.map((each) => `breakdown=${each}`).join('&');
    const { breakdowns = [], rows } = await read<UsageReport>(`usage?group_by=model&limit=1&${query}`);
    expect(rows).toHaveLength(1);
    expect(breakdowns).toHaveLength(groups.length);
    for (const [index, group] of groups.entries()) {
      const alone = await read<UsageReport>(`usage?limit=1&group_by=${group}`);
      const { filters, truncated } = alone;
      expect(breakdowns[index]).toEqual({ group_by: filters.group_by, rows: alone.rows, truncated });
    }
    expect('breakdowns' in (await read<UsageReport>('usage'))).toBe(false);
  });

  it('refuses unknown or too many breakdowns', async () => {
    const many = 'breakdown=day&'.repeat(13);
    for (const query of ['breakdown=colour', 'breakdown=day&breakdown=tool', many]) {
      const problem = await expectProblem(await ask(`usage?${query}`), 400, 'invalid-request');
      expect(problem.errors?.[0]?.field, query).toContain('breakdown');
    }
  });

  it('says title, start and kind of the session of each row', async () => {
    const { rows } = await read<UsageReport>('usage?group_by=day,session');
    const { sessions } = (await (await api.fetch('/v1/sessions')).json()) as SessionList;
    expect(rows).toHaveLength(2);
    for (const { session, session_title, session_start, is_subagent } of rows) {
      const known = sessions.find((each) => each.session_id === session);
      expect(session_start).toBe(known?.first_timestamp);
      expect([session_title, is_subagent]).toEqual([known?.title, false]);
    }
  });

  it('is shown with its session', async () => {
    const session = (await (await api.fetch('/v1/sessions/first')).json()) as SessionDetail;
    expect(session.usage.own).toMatchObject({ responses: 3, tokens_out: 309 });
    expect(session.usage.shared.responses).toBe(0);
  });
});

it('aborts a report that takes too long, and says so', async () => {
  const hasty = await createTestApi({ reportTimeoutMs: 50 });
  const blocker = await hasty.database.pool.connect();
  try {
    await blocker.query('BEGIN; LOCK TABLE recount.usage_day_rollup IN ACCESS EXCLUSIVE MODE');
    const response = await hasty.fetch('/v1/analytics/usage');
    expect(response.headers.get('retry-after')).toBe('60');
    await expectProblem(response, 503, 'report-timeout');
  } finally {
    await blocker.query('ROLLBACK');
    blocker.release();
    await hasty.close();
  }
});
