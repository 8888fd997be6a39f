import type { NewViewShare, Person, ShareList, UsageReport } from '@recount/contract';
import { REPORT_DIMENSIONS } from '@recount/contract/reports/report-dimensions';
import { changeWorkspaceSettings, createApiKey } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '../testing/test-api.ts';

const NOW = '2026-03-15T12:00:00.000Z';

let api: TestApi;

const toAnswer = (session: string, model: string, timestamp: string, inputTokens: number) => [
  {
    type: 'user',
    sessionId: session,
    uuid: `u-${session}`,
    timestamp,
    message: { role: 'user', content: 'A secret prompt' },
  },
  {
    ...{ type: 'assistant', sessionId: session, uuid: `a-${session}`, timestamp },
    message: {
      ...{ id: `msg_${session.padStart(24, '0')}`, role: 'assistant', model, stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'A secret answer' }],
      usage: { input_tokens: inputTokens, output_tokens: 10 },
    },
  },
];

async function upload(session: string, model: string, timestamp: string, inputTokens: number): Promise<void> {
  const lines = toAnswer(session, model, timestamp, inputTokens).map((line) => JSON.stringify(line));
  await api.upload(`${lines.join('\n')}\n`);
  await api.work();
}

beforeAll(async () => {
  api = await createTestApi({}, () => ({ now: () => Date.parse(NOW) }));
  await upload('march', 'claude-haiku-4-5', '2026-03-10T10:00:00.000Z', 1_000_000);
  await upload('february', 'claude-haiku-4-5', '2026-02-10T10:00:00.000Z', 2_000_000);
  await upload('evil', '<img src=x>', '2026-03-11T10:00:00.000Z', 500);
});
afterAll(() => api.close());

const send = (body: Record<string, unknown>) => {
  const headers = { 'content-type': 'application/json' };
  return api.fetch('/v1/shares', { method: 'POST', body: JSON.stringify(body), headers });
};

async function share(body: Record<string, unknown>): Promise<NewViewShare> {
  const response = await send(body);
  expect(response.status).toBe(201);
  return (await response.json()) as NewViewShare;
}

/** Like somebody without a key. */
const open = async (path: string): Promise<string> => {
  const response = await fetch(api.url + path);
  expect(response.status).toBe(200);
  return await response.text();
};

const readValues = (html: string): number[] =>
  [...html.matchAll(/<data value="([^"]+)"/g)].map(([, value]) => Number(value));

it('shows the figures of the reports for the same filters and time, with zone, time and caveats, and no texts', async () => {
  const view = { title: 'March <b>', kind: 'overview', period: 'this-month', time_zone: 'Pacific/Auckland' };
  const page = await fetch(api.url + (await share(view)).path);
  const html = await page.text();
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.headers.get('cache-control')).toBe('no-store');
  const query = 'from=2026-03-01&to=2026-03-17&time_zone=Pacific/Auckland&group_by=day&breakdown=model';
  const report = (await (await api.fetch(`/v1/analytics/usage?${query}`)).json()) as UsageReport;
  const { own, sessions } = report.totals;
  const { responses, tokens_in, tokens_out, cache_read, cache_write, cache_hit_ratio, cost_usd } = own;
  expect(cost_usd).toBeCloseTo(1.00005, 9);
  const expected = [cost_usd, sessions, responses, tokens_in, tokens_out, cache_read, cache_write, cache_hit_ratio];
  expect(readValues(html).slice(0, 8)).toEqual(expected);
  const rows = report.breakdowns?.[0]?.rows ?? [];
  for (const row of rows) expect(readValues(html)).toContain(row.own.tokens_in);
  expect(html).toContain('This month: 2026-03-01 until before 2026-03-17, in Pacific/Auckland');
  expect(html).toContain('Figures of 2026-03-16 01:00 Pacific/Auckland. Cost is an estimate at list prices');
  expect(html).toContain('1 response has no price');
  expect(html).toContain('March &lt;b&gt;');
  expect(html).not.toMatch(/secret|<img|<script|february|evil/);
});

it('shows a table, or one subject, of a fixed time', async () => {
  const time = { from: '2026-02-01', to: '2026-03-01' };
  const table = await open((await share({ title: 'Models', kind: 'table', table: 'models/models', ...time })).path);
  expect(readValues(table)).toContain(2_000_000);
  expect(table).not.toContain('&lt;img');
  const subject = { title: 'Haiku', kind: 'subject', subject: 'model', model: ['claude-haiku-4-5'] };
  const html = await open((await share(subject)).path);
  expect(readValues(html)).toContain(3_000_000);
  expect(html).toContain('All time, in UTC');
  expect(html).toContain('Model: claude-haiku-4-5');
});

it('shows potential waste as the reports have it, without sessions', async () => {
  const repeat = (index: number) => {
    const timestamp = `2026-03-09T10:0${index}:00.000Z`;
    const common = { sessionId: 'looping', timestamp, cwd: '/home/x/heron' };
    const use = { type: 'tool_use', id: `toolu_${index}`, name: 'Bash', input: { command: 'make' } };
    const usage = { input_tokens: 1_000_000, output_tokens: 1 };
    const model = 'claude-haiku-4-5';
    const message = {
      id: `msg_looping${index}`,
      role: 'assistant',
      model,
      stop_reason: 'tool_use',
      content: [use],
      usage,
    };
    const result = { type: 'tool_result', tool_use_id: use.id, content: 'A secret result' };
    return [
      { ...common, type: 'assistant', uuid: `use-${index}`, message },
      { ...common, type: 'user', uuid: `result-${index}`, message: { role: 'user', content: [result] } },
    ];
  };
  await api.upload(
    `${[1, 2, 3, 4]
      .flatMap(repeat)
      .map((line) => JSON.stringify(line))
      .join('\n')}\n`,
  );
  await api.work();
  const time = { from: '2026-03-09', to: '2026-03-10' };
  const html = await open((await share({ title: 'Waste', kind: 'insights', ...time })).path);
  const query = new URLSearchParams({ ...time, group_by: 'day' });
  const waste = (await (await api.fetch(`/v1/analytics/waste?${query}`)).json()) as {
    totals: Record<'waste_usd' | 'cost_usd' | 'waste_share' | 'findings', number>;
  };
  const { waste_usd, cost_usd, waste_share, findings } = waste.totals;
  expect(waste_usd).toBeGreaterThan(0);
  expect(readValues(html).slice(0, 4)).toEqual([waste_usd, cost_usd, waste_share, findings]);
  expect(html).toContain('Repeated calls');
  expect(html).toContain('heron');
  expect(html).not.toMatch(/secret|looping|<script/);
  await expectProblem(await send({ title: 'x', kind: 'insights', table: 'models/models' }), 400, 'invalid-request');
});

it('applies every filter that reports have, and shows a bar also for days without use', async () => {
  const time = { from: '2026-03-01', to: '2026-03-15' };
  for (const { name } of REPORT_DIMENSIONS) {
    const body = { title: name, kind: 'overview', [name]: 'matches nothing', ...time };
    const html = await open((await share(body)).path);
    expect(readValues(html).slice(0, 2), name).toEqual([0, 0]);
    expect(html).toContain(': matches nothing</p>');
  }
  const html = await open((await share({ title: 'Bars', kind: 'overview', ...time })).path);
  // From the first day until the latest that had any.
  expect(html.match(/<rect /g)?.length).toBeGreaterThanOrEqual(11);
});

it('makes the figures again when they are older than five minutes, and not before', async () => {
  const { path, id } = await share({ title: 'Growing', kind: 'overview', period: 'all' });
  await upload('later', 'claude-haiku-4-5', '2026-03-12T10:00:00.000Z', 4_000_000);
  expect(readValues(await open(path))).toContain(3_000_500);
  await api.database.pool.query(
    "UPDATE recount.session_shares SET page_at = now() - interval '6 minutes' WHERE id = $1",
    [id],
  );
  const pages = await Promise.all([open(path), open(path), open(path)]);
  for (const page of pages) expect(readValues(page)).toContain(7_000_500);
  expect(readValues(await open(path))).toContain(7_000_500);
});

it('is listed with its view, and ends when it is revoked', async () => {
  const { path, id, view, session_id } = await share({ title: 'Listed', kind: 'overview', period: '7d' });
  expect({ view, session_id }).toMatchObject({ view: { title: 'Listed', period: '7d' }, session_id: null });
  const { shares } = (await (await api.fetch('/v1/shares')).json()) as ShareList;
  expect(shares.find((each) => each.id === id)?.view).toEqual(view);
  expect(JSON.stringify(shares)).not.toContain(path.slice(-43));
  expect((await api.fetch(`/v1/shares/${id}`, { method: 'DELETE' })).status).toBe(204);
  await expectProblem(await fetch(api.url + path), 404, 'not-found');
  const { rows } = await api.database.pool.query('SELECT page FROM recount.session_shares WHERE id = $1', [id]);
  expect(rows).toEqual([{ page: null }]);
});

it('is listed with its title to readers who see no texts', async () => {
  const { id } = await share({ title: 'Of figures', kind: 'overview', period: '7d' });
  const change = { workspaceId: HOME_WORKSPACE, name: 'figures', scopes: ['figures' as const], person: null };
  const { key } = await createApiKey(api.database.database, change);
  const answer = await fetch(`${api.url}/v1/shares`, { headers: { authorization: `Bearer ${key}` } });
  const { shares } = (await answer.json()) as ShareList;
  expect(shares.find((each) => each.id === id)?.view?.title).toBe('Of figures');
});

it('has pseudonyms where the workspace hides names, and is made where admins see no texts', async () => {
  const upload = (person: string) =>
    api.upload(
      `${toAnswer(person, 'claude-haiku-4-5', NOW, 7)
        .map((line) => JSON.stringify(line))
        .join('\n')}\n`,
      {
        ...{ person, machine: `laptop of ${person}` },
      },
    );
  await Promise.all(['maya', 'noah'].map(upload));
  await api.work();
  const { database } = api.database;
  const named = await share({ title: 'Named', kind: 'overview' });
  expect(await open(named.path)).toMatch(/maya/);
  await changeWorkspaceSettings(database, HOME_WORKSPACE, { namesFromPeople: 5, textReaders: 'auditors' });
  try {
    const overview = await open((await share({ title: 'Team', kind: 'overview' })).path);
    expect(overview).not.toMatch(/maya|noah/);
    expect(overview.match(/person-[0-9a-f]{10}/g)?.length).toBeGreaterThanOrEqual(2);
    const subject = { title: 'One', kind: 'subject', subject: 'person', person: ['maya'] };
    const html = await open((await share(subject)).path);
    expect(html).not.toMatch(/maya/);
    expect(readValues(html)).toContain(7);
    // A page that was made before has them no longer, also within minutes.
    expect(await open(named.path)).not.toMatch(/maya|noah/);
    // Neither has one of a workspace whose people become too few: all names of sessions count until it knows people.
    const add = async (display_name: string): Promise<string> => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ display_name });
      return ((await (await api.fetch('/v1/people', { method: 'POST', headers, body })).json()) as Person).id;
    };
    await changeWorkspaceSettings(database, HOME_WORKSPACE, { namesFromPeople: 2 });
    expect(await open(named.path)).toMatch(/maya/);
    const maya = await add('maya');
    expect(await open(named.path)).not.toMatch(/maya|noah/);
    const noah = await add('noah');
    expect(await open(named.path)).toMatch(/maya/);
    expect((await api.fetch(`/v1/people/${noah}`, { method: 'DELETE' })).status).toBe(204);
    expect(await open(named.path)).not.toMatch(/maya|noah/);
    await api.fetch(`/v1/people/${maya}`, { method: 'DELETE' });
  } finally {
    await changeWorkspaceSettings(database, HOME_WORKSPACE, { namesFromPeople: null, textReaders: 'readers' });
  }
});

it('reads nothing but its view: the link is no key', async () => {
  const { path } = await share({ title: 'Only this', kind: 'overview', period: '7d' });
  const token = path.split('/').at(-1) ?? '';
  const answer = await fetch(`${api.url}/v1/sessions`, { headers: { authorization: `Bearer ${token}` } });
  await expectProblem(answer, 401, 'invalid-key');
  const other = await fetch(`${api.url}${path}?period=all&kind=table`);
  expect(await other.text()).toBe(await open(path));
});

it.each([
  { kind: 'table' },
  { kind: 'table', table: 'files/files' },
  { kind: 'table', table: 'reconciliation/session' },
  { kind: 'overview', table: 'models/models' },
  { kind: 'subject', subject: 'model' },
  { kind: 'overview', tool: 'Bash' },
  { kind: 'overview', period: '7d', from: '2026-01-01' },
  { kind: 'overview', from: '2026-02-01', to: '2026-01-01' },
  { kind: 'overview', session_id: 'march' },
])('refuses %j', async (view) => {
  await expectProblem(await send({ title: 'x', ...view }), 400, 'invalid-request');
});
