import { randomBytes } from 'node:crypto';
import { MULTIPART_TYPE, toMultipart } from '@recount/api/testing/multipart-body';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import type { BudgetHistory, BudgetList, DeliveryList, Reprice } from '@recount/contract';
import { createAlertOptions } from '@recount/ingest';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CompanyWorker, createCompanyWorker } from './company-worker.ts';
import {
  countFigures,
  type ExpectedCrossing,
  expectCrossings,
  FIRST_PRICES,
  LATER_PRICES,
  type MadeBudget,
  type Prices,
  selectSpent,
  selectTold,
  toNames,
  toUsd,
} from './expected-figures.ts';
import {
  addDays,
  DAY_COUNT,
  LARGE,
  MAX_DELAY_DAYS,
  MOVE,
  makeCompany,
  PERSON_COUNT,
  type Spent,
  TEAMS,
  toAlias,
  toEmail,
  toPeriodStart,
  toRepository,
  toTeam,
  toTranscript,
} from './made-company.ts';
import { type ReceivedMessage, type Receivers, startReceivers } from './receivers.ts';

/** Budgets and digests look at no time before they were made. */
const FIRST_DAY = addDays(new Date().toISOString().slice(0, 10), 1);
const LAST_DAY = addDays(FIRST_DAY, DAY_COUNT);
const REPRICED_ON = 33;
/** Days when a worker dies while it looks at budgets. */
const DEATHS = [17, REPRICED_ON, 50];
const MINUTE_MS = 60_000;

const NEVER = { forecast_percent: null, anomaly_factor: null, time_zone: 'UTC' };
const budget = (name: string, fields: Partial<MadeBudget> & Pick<MadeBudget, 'amount'>): MadeBudget => ({
  ...{ name, period: 'month', unit: 'usd', filters: {}, thresholds: [50, 80, 100], ...fields },
});
const BUDGETS = [
  budget('everything', { amount: 1100 }),
  budget('by week', { period: 'week', amount: 260, thresholds: [90, 100, 110] }),
  budget('by day', { period: 'day', amount: 44, thresholds: [75, 100] }),
  budget('tokens of a model', { unit: 'tokens', amount: 90_000_000, filters: { model: LARGE } }),
  budget('a repository', { period: 'week', amount: 50, filters: { repository: toRepository(2) } }),
  ...TEAMS.map((team) => budget(`team ${team}`, { period: 'week', amount: 42, filters: { team } })),
  ...[1, 3, 22].map((person) => budget(toEmail(person), { amount: 28, filters: { person: toEmail(person) } })),
];
const DIGESTS = [
  { name: 'the week', period: 'week' as const, filters: {} },
  { name: 'the month', period: 'month' as const, filters: {} },
  { name: 'a team', period: 'week' as const, filters: { team: MOVE.to } },
];

let api: TestApi;
let receivers: Receivers;
let worker: CompanyWorker;
let nowMs = Date.parse(FIRST_DAY);
let prices: Prices = FIRST_PRICES;
const company = makeCompany(FIRST_DAY);
const uploaded: Spent[] = [];
const told = new Map<string, ReceivedMessage>();

beforeAll(async () => {
  receivers = await startReceivers();
  const alerts = {
    secretKey: randomBytes(32),
    mailServer: { url: receivers.mailUrl, from: 'recount@acme.example' },
    privateNetworks: ['127.0.0.0/8'],
  };
  api = await createTestApi({ alerts }, () => ({ now: () => nowMs }));
  const { connectionString } = api;
  worker = createCompanyWorker({ connectionString, now: () => nowMs, alerts: createAlertOptions(alerts) });
});
afterAll(async () => {
  await api?.close();
  await receivers?.close();
});

async function call<Answer>(path: string, method = 'GET', body?: unknown): Promise<Answer> {
  const json =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const answer = await api.fetch(path, { method, ...json });
  const content = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${content}`);
  return (content === '' ? undefined : JSON.parse(content)) as Answer;
}

const isWaiting = async (): Promise<boolean> =>
  (await call<DeliveryList>('/v1/deliveries?state=waiting')).deliveries.length > 0;

async function setUp(): Promise<void> {
  await putPrices();
  for (const name of TEAMS) await call('/v1/teams', 'POST', { name });
  for (let person = 0; person < PERSON_COUNT; person++) {
    const [email, team] = [toEmail(person), toTeam(person, FIRST_DAY, FIRST_DAY)];
    await call('/v1/people', 'POST', { display_name: email, email, names: [toAlias(person)], team });
  }
  const { signing_secret } = await call<{ signing_secret: string }>('/v1/destinations', 'POST', {
    ...{ kind: 'webhook', name: 'pager', url: receivers.webhookUrl },
  });
  receivers.setSecret(signing_secret);
  await call('/v1/destinations', 'POST', { kind: 'email', name: 'managers', addresses: ['boss@acme.example'] });
  for (const each of BUDGETS) await call('/v1/budgets', 'POST', { ...each, ...NEVER });
  for (const each of DIGESTS) await call('/v1/digests', 'POST', { ...each, time_zone: 'UTC' });
}

const putPrices = () =>
  call('/v1/prices', 'PUT', {
    overrides: Object.entries(prices).map(([model, { input, output }]) => ({
      ...{ model, inputUsdPerMillion: input, outputUsdPerMillion: output },
    })),
  });

/** Sends what is sent on a day, each person what is theirs. */
async function upload(day: string): Promise<void> {
  const sent = company.filter(({ sentOn }) => sentOn === day);
  uploaded.push(...sent);
  for (const [person, theirs] of Map.groupBy(sent, (each) => each.person)) {
    const sessions = [...new Set(theirs.map(({ session }) => session))];
    const parts = sessions.map((session) => ({
      filename: `${session}.jsonl`,
      content: toTranscript(uploaded.filter((each) => each.session === session)),
    }));
    const query = { person: toAlias(person), repository: `https://${toRepository(person)}.git` };
    const answer = await api.upload(toMultipart(parts), query, { headers: { 'content-type': MULTIPART_TYPE } });
    expect(answer.status).toBe(202);
  }
  await api.work();
}

async function movePerson(): Promise<void> {
  const { people } = await call<{ people: { id: string }[] }>(`/v1/people?search=${toEmail(MOVE.person)}`);
  const change = { team: MOVE.to, team_from: addDays(FIRST_DAY, MOVE.dayNumber) };
  await call(`/v1/people/${people[0]?.id}`, 'PATCH', change);
}

async function reprice(): Promise<void> {
  prices = LATER_PRICES;
  await putPrices();
  await call('/v1/prices/reprice', 'POST', {});
  await worker.reprice(async () => (await call<Reprice>('/v1/prices/reprice')).run?.state === 'done');
}

/** Delivers until nothing waits. What was refused is tried again a minute later by the clock. */
async function deliver(): Promise<Map<string, ReceivedMessage>> {
  await worker.deliver(async () => {
    nowMs += MINUTE_MS;
    return !(await isWaiting());
  });
  const added = new Map(receivers.messages.filter(({ id }) => !told.has(id)).map((message) => [message.id, message]));
  for (const [id, message] of added) told.set(id, message);
  return added;
}

const toWord = ({ start, threshold, isLate }: ExpectedCrossing): string =>
  `${start} ${threshold}${isLate ? ' late' : ''}`;
const toCrossing = (data: Record<string, unknown>): ExpectedCrossing => ({
  ...{ start: String(data.period_start), threshold: Number(data.threshold), isLate: data.is_late === true },
});
const round = (usd: unknown): number => Math.round(Number(usd) * 1e6);

interface UsageReport {
  rows: Record<string, unknown>[];
  totals: UsageFigures;
}
interface UsageFigures {
  sessions: number;
  own: { cost_usd: number; total_tokens: number };
}

async function readReport(query: Record<string, string>): Promise<UsageReport> {
  return await call(`/v1/analytics/usage?${new URLSearchParams({ limit: '1000', time_zone: 'UTC', ...query })}`);
}

const toShort = ({ sessions, own }: UsageFigures) => [sessions, own.total_tokens, round(own.cost_usd)];
const toCounted = (spent: readonly Spent[]) => {
  const { units, tokens, sessions } = countFigures(spent, prices);
  return [sessions, tokens, round(toUsd(units))];
};

interface DigestData {
  name: string;
  from: string;
  to: string;
  filters: Record<string, string>;
  totals: { sessions: number; total_tokens: number; cost_usd: number };
  groups: { by: 'repository' | 'person' | 'model'; rows: DigestRow[] }[];
}
interface DigestRow {
  name: string;
  cost_usd: number;
  total_tokens: number;
}

/** A digest has the figures of the API at this moment, and those counted from what was sent. */
async function checkDigest(data: DigestData): Promise<void> {
  const { name, from, to, filters, totals, groups } = data;
  const within = uploaded.filter(({ day }) => day >= from && day < to);
  const meant = selectSpent(within, filters, FIRST_DAY);
  const short = [totals.sessions, totals.total_tokens, round(totals.cost_usd)];
  expect({ name, from, short }).toEqual({ name, from, short: toCounted(meant) });
  const { totals: reported } = await readReport({ from, to, ...filters });
  expect({ name, from, short }).toEqual({ name, from, short: toShort(reported) });
  expect(groups.map(({ by }) => by)).toEqual(['repository', 'person', 'model']);
  for (const { by, rows } of groups)
    for (const row of rows) {
      const [, ...counted] = toCounted(meant.filter((each) => toNames(each, FIRST_DAY)[by] === row.name));
      expect([by, row.name, row.total_tokens, round(row.cost_usd)]).toEqual([by, row.name, ...counted]);
    }
}

/** The digests that are due on a day: at half past eleven at night, the period that ended by half past five. */
const listDueDigests = (today: string): string[] =>
  DIGESTS.flatMap(({ name, period }) =>
    toPeriodStart(period, today) === today ? [`${name} ${toPeriodStart(period, addDays(today, -1))}`] : [],
  ).sort();

it('warns forty people in six teams exactly once each, over sixty days, and reports what the API says', async () => {
  await setUp();
  const known = new Map(BUDGETS.map(({ name }) => [name, new Set<string>()]));
  const history = new Map<string, string[]>(BUDGETS.map(({ name }) => [name, []]));
  const counts = { crossings: 0, late: 0, digests: 0, told: 0 };
  for (let number = 0; number < DAY_COUNT + MAX_DELAY_DAYS + 2; number++) {
    const today = addDays(FIRST_DAY, number);
    nowMs = Date.parse(`${today}T23:30:00Z`);
    if (number === MOVE.dayNumber) await movePerson();
    await upload(today);
    if (number === REPRICED_ON) await reprice();
    if (DEATHS.includes(number)) await worker.evaluateBudgetsAndDie(number % BUDGETS.length);
    // Some days, two workers at a time.
    await worker.evaluateBudgets(BUDGETS.length, number % 5 === 0 ? 2 : 1);
    await worker.sendDigests(DIGESTS.length);
    const added = [...(await deliver()).values()];

    const moment = { spent: uploaded, prices, today, firstDay: FIRST_DAY };
    const warnings = added.filter(({ type }) => type === 'budget.crossed').map(({ data }) => data);
    for (const each of BUDGETS) {
      const expected = expectCrossings(each, moment, known.get(each.name) ?? new Set());
      history.get(each.name)?.push(...expected.map((crossing) => `${today} ${toWord(crossing)}`));
      const own = warnings.filter(({ budget_name: name }) => name === each.name);
      const words = own.map((data) => toWord(toCrossing(data))).sort();
      expect({ today, name: each.name, words }).toEqual({
        ...{ today, name: each.name, words: selectTold(expected).map(toWord).sort() },
      });
      for (const { period_start: start, figure } of own) {
        const ofPeriod = uploaded.filter(({ day }) => toPeriodStart(each.period, day) === start);
        const { units, tokens } = countFigures(selectSpent(ofPeriod, each.filters, FIRST_DAY), prices);
        expect(round(figure)).toBe(round(each.unit === 'usd' ? toUsd(units) : tokens));
      }
      counts.crossings += expected.length;
      counts.late += expected.filter(({ isLate }) => isLate).length;
      counts.told += own.length;
    }
    const digests = added.filter(({ type }) => type === 'digest.due').map(({ data }) => data as unknown as DigestData);
    expect(digests.map(({ name, from }) => `${name} ${from}`).sort()).toEqual(listDueDigests(today));
    for (const digest of digests) await checkDigest(digest);
    counts.digests += digests.length;
  }
  await checkHistory(history);
  await checkReports();
  await checkDeliveries(counts.told + counts.digests);
  console.log(JSON.stringify({ ...counts, responses: uploaded.length, ...toTotals() }));
  expect(counts.late).toBeGreaterThan(10);
  expect([...known.values()].every(({ size }) => size > 0)).toBe(true);
}, 3_600_000);

const toTotals = () => {
  const { units, tokens, sessions } = countFigures(uploaded, prices);
  return { sessions, tokens, usd: toUsd(units), refused: receivers.refused.length, mails: receivers.mails.length };
};

/** The history over HTTP has each warning once, at its day. */
async function checkHistory(expected: ReadonlyMap<string, readonly string[]>): Promise<void> {
  const { budgets } = await call<BudgetList>('/v1/budgets');
  expect(budgets.map(({ name }) => name).sort()).toEqual([...expected.keys()].sort());
  for (const { id, name } of budgets) {
    const words: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: BudgetHistory = await call(`/v1/budgets/${id}/history?limit=50${query}`);
      for (const crossing of page.crossings)
        words.push(`${crossing.crossed_at.slice(0, 10)} ${toWord(toCrossing(crossing))}`);
      cursor = page.next_cursor;
    }
    expect({ name, words: words.sort() }).toEqual({ name, words: [...(expected.get(name) ?? [])].sort() });
  }
}

async function checkReports(): Promise<void> {
  const range = { from: FIRST_DAY, to: LAST_DAY };
  expect(toShort((await readReport(range)).totals)).toEqual(toCounted(uploaded));
  for (const by of ['person', 'team', 'repository', 'model'] as const) {
    const { rows } = await readReport({ ...range, group_by: by });
    const counted = Map.groupBy(uploaded, (each) => toNames(each, FIRST_DAY)[by]);
    expect(rows.map((row) => String(row[by])).sort()).toEqual([...counted.keys()].sort());
    for (const row of rows) {
      const { own } = row as unknown as UsageFigures;
      const [, ...expected] = toCounted(counted.get(String(row[by])) ?? []);
      expect([by, row[by], own.total_tokens, round(own.cost_usd)]).toEqual([by, row[by], ...expected]);
    }
  }
}

/** Each message reached both receivers once, those that were refused included. */
async function checkDeliveries(count: number): Promise<void> {
  expect(receivers.faults).toEqual([]);
  expect(receivers.refused.length).toBeGreaterThan(5);
  const ids = receivers.messages.map(({ id }) => id);
  expect([ids.length, new Set(ids).size]).toEqual([count, count]);
  const mails = receivers.mails.map(({ id }) => id);
  expect([mails.length, new Set(mails).size]).toEqual([count, count]);
  expect((await call<DeliveryList>('/v1/deliveries?state=failed')).deliveries).toEqual([]);
  expect(api.logLines.filter((line) => line.includes('"level":50'))).toEqual([]);
  expect(await api.countTranscripts()).toBeGreaterThan(1500);
}
