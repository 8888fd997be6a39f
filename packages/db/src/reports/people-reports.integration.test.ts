import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyUsage } from '../consistency/verify-usage.ts';
import { changePerson, createPerson, deletePerson, mergePerson, undoMerge } from '../people/people.ts';
import { createTeam } from '../people/teams.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { refreshTotals } from '../usage/refresh-totals.ts';
import type { Actor } from '../workspaces/audit-log.ts';
import { type ReportKey, type ReportRequest, readReport, readUsageReport, resolveReportFilter } from './index.ts';

const SCOPE = { workspaceId: TEST_WORKSPACE, actor: 'operator:test' as Actor };
/** Ben moves from Core to Web on this day, UTC. */
const MOVE = '2026-03-10';
const NAMES = ['maya@acme.test', 'Maya Chen', 'mchen', 'BEN', 'ben@acme.test', 'zoe', null];
const COUNT = 140;

interface Fact {
  name: string | null;
  timestamp: string | null;
  tokens: number;
}

/** The responses; the rules for them are written here again. */
const FACTS: Fact[] = Array.from({ length: COUNT }, (_, index) => ({
  name: NAMES[index % NAMES.length] ?? null,
  // Every 5 hours from before the move until after it; every 20th without a time.
  timestamp:
    index % 20 === 7 ? null : new Date(Date.parse('2026-02-26T00:05:00Z') + index * 5 * 3_600_000).toISOString(),
  tokens: 1000 + index,
}));
const toPerson = ({ name }: Fact): string | null => {
  if (name === null) return null;
  if (['maya@acme.test', 'maya chen', 'mchen'].includes(name.toLowerCase())) return 'Maya Chen';
  return ['ben', 'ben@acme.test'].includes(name.toLowerCase()) ? 'Ben Ode' : name;
};
const toTeam = (fact: Fact): string | null => {
  const person = toPerson(fact);
  if (person === 'Maya Chen') return 'Core';
  if (person !== 'Ben Ode') return null;
  return fact.timestamp === null || fact.timestamp >= `${MOVE}T00:00:00.000Z` ? 'Web' : 'Core';
};
const toCostCentre = (fact: Fact): string | null => ({ Core: '4711', Web: '0815' })[toTeam(fact) ?? ''] ?? null;

let pool: Awaited<ReturnType<typeof createTestPool>>;
let maya = '';
let ben = '';
beforeAll(async () => {
  pool = await createTestPool();
  // Two sessions for each name, so that sessions are on both sides of the move.
  const sessions = Map.groupBy(FACTS.entries(), ([index]) => `session-${index % (2 * NAMES.length)}`);
  await insertTestFleet(
    pool,
    [...sessions].map(([session_id, facts]) => {
      const [first] = facts;
      const times = facts.flatMap(([, { timestamp }]) => timestamp ?? []);
      return {
        ...{ session_id, person: first?.[1].name ?? null, agent: 'claude-code', first_timestamp: times[0] ?? null },
        responses: facts.map(([, { timestamp, tokens }]) => ({
          timestamp,
          tokens_out: tokens,
          cost_usd: tokens / 1000,
        })),
      };
    }),
  );
  await pool.withTransaction(async (transaction) => {
    await createTeam(transaction, SCOPE, { name: 'Core', costCentre: '4711' });
    await createTeam(transaction, SCOPE, { name: 'Web', costCentre: '0815' });
    maya = await createPerson(transaction, SCOPE, {
      ...{ displayName: 'Maya Chen', email: 'Maya@Acme.test', names: ['mchen'], team: 'core' },
    });
    ben = await createPerson(transaction, SCOPE, {
      displayName: 'Ben Ode',
      email: 'ben@acme.test',
      names: ['ben'],
      team: 'Core',
    });
    await changePerson(transaction, SCOPE, ben, { team: 'Web', teamFrom: MOVE });
  });
});
afterAll(() => pool.close());

const report = async (groupBy: ReportKey[], request: Partial<ReportRequest> = {}, workspaceId = TEST_WORKSPACE) => {
  const whole = { subagents: 'include' as const, timeZone: 'UTC', ...request };
  const { filter, unmatched } = await resolveReportFilter(pool.database, workspaceId, whole);
  return { ...(await readUsageReport(pool.database, filter, { groupBy, limit: 1000 })), filter, unmatched };
};
const sumBy = (facts: readonly Fact[], toKey: (fact: Fact) => string | null): Map<string | null, number> => {
  const sums = new Map<string | null, number>();
  for (const fact of facts) sums.set(toKey(fact), (sums.get(toKey(fact)) ?? 0) + fact.tokens);
  return sums;
};
const toSums = async (key: ReportKey, request?: Partial<ReportRequest>) => {
  const { rows } = await report([key], request);
  return new Map(rows.map((row) => [(row as Record<string, unknown>)[key] as string | null, row.own.tokens_out]));
};
const sum = (facts: readonly Fact[]): number => facts.reduce((total, { tokens }) => total + tokens, 0);

const KEYS = [
  ['person', toPerson],
  ['team', toTeam],
  ['cost_centre', toCostCentre],
] as const;
/** With totals, without them, and with some. */
const STATES = {
  'without totals': () =>
    pool.pool.query(
      `INSERT INTO recount.stale_days SELECT $1, '2000-01-01Z'::timestamptz + n * interval '1 day' FROM generate_series(1, 300) AS n`,
      [TEST_WORKSPACE],
    ),
  'with totals': () => refreshTotals(pool, TEST_WORKSPACE),
  'with some totals': () =>
    pool.pool.query(`INSERT INTO recount.stale_days VALUES ($1, '2026-03-10Z'), ($1, '2026-03-12Z')`, [TEST_WORKSPACE]),
};

describe.each(Object.keys(STATES) as (keyof typeof STATES)[])('reports %s', (state) => {
  beforeAll(async () => {
    await STATES[state]();
  });

  it.each(KEYS)('by %s attribute each response once, and add up to the whole', async (key, toKey) => {
    expect(await toSums(key)).toEqual(sumBy(FACTS, toKey));
    const range = { from: '2026-03-05T11:00:00Z', to: '2026-03-14T02:30:00Z' };
    const within = FACTS.filter(
      ({ timestamp }) => timestamp !== null && timestamp >= range.from && timestamp < range.to,
    );
    expect(await toSums(key, range)).toEqual(sumBy(within, toKey));
    const { rows, totals } = await report([key, 'day'], { timeZone: 'America/St_Johns' });
    expect(rows.reduce((total, row) => total + row.own.tokens_out, 0)).toBe(sum(FACTS));
    expect(totals.own.tokens_out).toBe(sum(FACTS));
  });

  it.each(KEYS)('filtered by %s leave out the rest', async (key, toKey) => {
    const field = key === 'cost_centre' ? 'costCentre' : key;
    for (const [name, expected] of sumBy(FACTS, toKey)) {
      if (name === null) continue;
      const { totals, filter } = await report(['day'], { [field]: name });
      expect([name, totals.own.tokens_out]).toEqual([name, expected]);
      expect(filter[field]).toEqual([name]);
    }
  });

  it('count a session in both teams of its person, and once in total', async () => {
    const counted = new Map((await report(['team'])).rows.map(({ team, sessions }) => [team, sessions]));
    // Four sessions of Ben and six of Maya; Ben's are on both sides of the move.
    expect(counted).toEqual(
      new Map([
        ['Core', 10],
        ['Web', 4],
        [null, 4],
      ]),
    );
    expect((await report(['team'])).totals.sessions).toBe(14);
    expect(new Map((await report(['person'])).rows.map(({ person, sessions }) => [person, sessions]))).toEqual(
      new Map([
        ['Maya Chen', 6],
        ['Ben Ode', 4],
        ['zoe', 2],
        [null, 2],
      ]),
    );
  });
});

it('resolves a person by any of their names, whatever the case', async () => {
  for (const person of ['mchen', 'MAYA@acme.test', 'maya', 'Maya Chen'])
    expect((await report([], { person })).filter.person).toEqual(['Maya Chen']);
  const { unmatched, totals } = await report([], { team: 'Cora' });
  expect(totals.own.responses).toBe(0);
  expect(unmatched).toMatchObject([{ field: 'team', message: expect.stringContaining('did you mean Core?') }]);
});

it('puts both filters together, and the time of the day in UTC decides', async () => {
  const { totals } = await report([], { person: 'ben', team: 'Web', timeZone: 'Asia/Kolkata' });
  expect(totals.own.tokens_out).toBe(
    sum(FACTS.filter((fact) => toPerson(fact) === 'Ben Ode' && toTeam(fact) === 'Web')),
  );
});

it('has the same figures by person and team in the daily usage of the views', async () => {
  const { rows } = await pool.pool.query<{ person: string; team: string; cost_centre: string; tokens: number }>(
    `SELECT person, team, cost_centre, sum(tokens_out)::float8 AS tokens FROM analytics.daily_usage
     WHERE workspace_id = $1 GROUP BY 1, 2, 3`,
    [TEST_WORKSPACE],
  );
  const toId = (fact: Fact) => [toPerson(fact), toTeam(fact), toCostCentre(fact)].join();
  expect(new Map(rows.map((row) => [[row.person, row.team, row.cost_centre].join(), row.tokens]))).toEqual(
    sumBy(FACTS, toId),
  );
});

it.each([['changes'], ['waste'], ['sessions'], ['tools']] as const)('can group %s by team', async (name) => {
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, {
    ...{ subagents: 'include', timeZone: 'UTC', team: 'Core', from: '2026-03-01' },
  });
  const query = { group_by: ['team', 'cost_centre', 'person'], limit: 10, top: 1, idle_threshold_ms: 1 };
  const context = {
    nowMs: Date.parse('2026-04-01'),
    readModelComparison: () => Promise.reject(new Error('not needed')),
  };
  const { rows } = await readReport(name, pool.database, filter, query as never, context);
  for (const row of rows) expect(row).toMatchObject({ team: 'Core', cost_centre: '4711' });
});

it('follows a merge, and its undoing, immediately', async () => {
  const expected = new Map([['Maya Chen', sum(FACTS.filter(({ name }) => name !== null && name !== 'zoe'))]]);
  const readPeople = async () => new Map([...(await toSums('person'))].filter(([person]) => person?.includes(' ')));
  const before = await readPeople();
  await pool.withTransaction((transaction) => mergePerson(transaction, SCOPE, { id: ben, into: maya }));
  expect(await readPeople()).toEqual(expected);
  expect((await toSums('team')).get('Web')).toBeUndefined();
  await pool.withTransaction((transaction) => undoMerge(transaction, SCOPE, ben));
  expect(await readPeople()).toEqual(before);
  expect(await toSums('team')).toEqual(sumBy(FACTS, toTeam));
});

it('takes along those merged before, each of whom can be separated again', async () => {
  const { withTransaction } = pool;
  const readMaya = async () => (await toSums('person')).get('Maya Chen');
  const before = await toSums('person');
  const zoe = await withTransaction((t) => createPerson(t, SCOPE, { displayName: 'Zoe Park', names: ['zoe'] }));
  await withTransaction((t) => mergePerson(t, SCOPE, { id: zoe, into: ben }));
  await withTransaction((t) => mergePerson(t, SCOPE, { id: ben, into: maya }));
  expect(await readMaya()).toEqual(sum(FACTS.filter(({ name }) => name !== null)));
  await withTransaction((t) => undoMerge(t, SCOPE, ben));
  expect(await readMaya()).toEqual(sum(FACTS.filter(({ name }) => name !== null && !/^ben/i.test(name))));
  await withTransaction((t) => undoMerge(t, SCOPE, zoe));
  await withTransaction((t) => deletePerson(t, SCOPE, zoe));
  expect(await toSums('person')).toEqual(before);
});

it('shows the names of a deleted person again, and leaves all derived rows as they are', async () => {
  const verify = () => pool.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
  const before = await verify();
  await pool.withTransaction(async (transaction) => {
    const zoe = await createPerson(transaction, SCOPE, { displayName: 'Zoe Park', names: ['zoe'], costCentre: '99' });
    await deletePerson(transaction, SCOPE, zoe);
  });
  expect(await toSums('person')).toEqual(sumBy(FACTS, toPerson));
  expect(await verify()).toEqual(before);
});

it('shows nothing of it to another workspace', async () => {
  const { filter, unmatched } = await report(['team'], { team: 'Core' }, OTHER_WORKSPACE);
  expect(filter.people).toBeUndefined();
  expect(unmatched).toMatchObject([{ message: 'No team matches "Core": the workspace has no teams yet.' }]);
});
