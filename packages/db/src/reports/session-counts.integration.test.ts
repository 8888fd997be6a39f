import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listSessions } from '../sessions/read-sessions.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet, type TestSession } from '../testing/insert-test-fleet.ts';
import {
  type ReportFilter,
  readModelChoiceReport,
  readModelsReport,
  readUsageReport,
  resolveReportFilter,
} from './index.ts';

const [OPUS, HAIKU] = ['claude-opus-5', 'claude-haiku-4-5'];

/** Two people, projects and models; forks that hold copies alone, a session with two models, and one without a response. */
const FLEET: TestSession[] = [
  {
    ...{ session_id: 'origin', person: 'max', project: '/app', models: [OPUS, HAIKU] },
    ...{ first_timestamp: '2026-05-04T10:00:00.000Z', last_timestamp: '2026-05-06T10:00:00.000Z' },
    responses: [
      { timestamp: '2026-05-04T10:00:00.000Z', model: OPUS, cost_usd: 1, copiedTo: ['fork', 'fork-elsewhere'] },
      { timestamp: '2026-05-04T10:30:00.000Z', model: HAIKU, cost_usd: 0.1, copiedTo: ['fork'] },
      { timestamp: '2026-05-06T10:00:00.000Z', model: HAIKU, cost_usd: 0.1 },
    ],
  },
  {
    ...{ session_id: 'fork', person: 'dina', project: '/app', models: [OPUS, HAIKU] },
    ...{ first_timestamp: '2026-05-04T10:00:00.000Z', last_timestamp: '2026-05-05T09:00:00.000Z' },
    responses: [{ timestamp: '2026-05-05T09:00:00.000Z', model: OPUS, cost_usd: 2 }],
  },
  {
    ...{ session_id: 'fork-elsewhere', person: 'dina', project: '/web', models: [OPUS] },
    ...{ first_timestamp: '2026-05-04T10:00:00.000Z', last_timestamp: '2026-05-04T10:00:00.000Z' },
  },
  {
    ...{ session_id: 'subagent', person: 'dina', project: '/web', models: [HAIKU], is_subagent: true },
    ...{ first_timestamp: '2026-05-05T09:10:00.000Z', last_timestamp: '2026-05-05T09:10:00.000Z' },
    responses: [{ timestamp: '2026-05-05T09:10:00.000Z', model: HAIKU, cost_usd: 0.2 }],
  },
  {
    ...{ session_id: 'unanswered', person: 'dina', project: '/web', models: [] },
    ...{ first_timestamp: '2026-05-05T12:00:00.000Z', last_timestamp: '2026-05-05T12:00:00.000Z' },
  },
];

let pool: Awaited<ReturnType<typeof createTestPool>>;

beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, FLEET);
});
afterAll(() => pool.close());

type NamedFilter = Partial<Pick<ReportFilter, 'from' | 'to' | 'person' | 'project' | 'model'>>;

const FILTERS: NamedFilter[] = [
  {},
  ...[
    { person: ['dina'] },
    { person: ['max'] },
    { project: ['/app'] },
    { project: ['/web'] },
    { model: [OPUS] },
    { model: [HAIKU] },
  ],
  ...[
    { person: ['dina'], model: [HAIKU] },
    { project: ['/web'], model: [OPUS] },
    { person: ['dina', 'max'], project: ['/app', '/nowhere'] },
    { model: [OPUS, HAIKU], project: ['/app'] },
    { model: [] },
  ],
  ...['04', '05', '06'].map((day) => ({ from: `2026-05-${day}T00:00:00.000Z`, to: `2026-05-${day}T23:59:59.999Z` })),
  { person: ['dina'], from: '2026-05-04T00:00:00.000Z', to: '2026-05-05T00:00:00.000Z' },
  { model: [HAIKU], from: '2026-05-05T00:00:00.000Z', to: '2026-05-06T00:00:00.000Z' },
];
const KEYS = ['model', 'person', 'project', 'day'] as const;
const COMPARISON = {
  prices: new Map() as never,
  requestSizes: [],
  isComparable: () => false,
  knownModels: [],
  isLaterGeneration: () => false,
};

const toFilter = async (part: Partial<ReportFilter>): Promise<ReportFilter> => ({
  ...(await resolveReportFilter(pool.database, TEST_WORKSPACE, { timeZone: 'UTC', subagents: 'include' })).filter,
  ...part,
});

interface Held {
  session_id: string;
  model: string;
  person: string;
  project: string;
  day: string;
}

/** Each response of the fleet that passes a filter, in each session that contains it. */
const listHeld = ({ from, to, ...filter }: NamedFilter): Held[] =>
  FLEET.flatMap(({ session_id, responses = [] }) =>
    responses.flatMap(({ timestamp, model, copiedTo = [] }) =>
      [session_id, ...copiedTo].map((id) => {
        const { person, project } = FLEET.find((each) => each.session_id === id) ?? {};
        const day = String(timestamp).slice(0, 10);
        return {
          session_id: id,
          model: String(model),
          person: String(person),
          project: String(project),
          day,
          timestamp,
        };
      }),
    ),
  ).filter(
    ({ timestamp, ...held }) =>
      (from == null || String(timestamp) >= from) &&
      (to == null || String(timestamp) < to) &&
      Object.entries(filter).every(([key, values]) => values?.includes(held[key as keyof Held])),
  );

const countBy = (held: readonly Held[], key: keyof Held): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(held, (each) => each[key])].map(([value, of]) => [
      value,
      new Set(of.map((each) => each.session_id)).size,
    ]),
  );
const toCounts = <Row extends { sessions: number }>(rows: readonly Row[], key: keyof Row): Record<string, number> =>
  Object.fromEntries(rows.map((row) => [String(row[key]), row.sessions]));

describe.each(FILTERS)('the sessions of %o', (part) => {
  const held = listHeld(part);
  const ids = new Set(held.map(({ session_id }) => session_id));

  it.each(KEYS)('are those that contain a response in usage by %s, and each once in its totals', async (key) => {
    const report = await readUsageReport(pool.database, await toFilter(part), { groupBy: [key], limit: 100 });
    expect(toCounts(report.rows, key)).toEqual(countBy(held, key));
    expect(report.totals.sessions).toBe(ids.size);
  });

  it('are the same in the reports of models, each once in the totals', async () => {
    const filter = await toFilter(part);
    const models = await readModelsReport(pool.database, filter, { limit: 100 });
    expect(toCounts(models.rows, 'model')).toEqual(countBy(held, 'model'));
    expect(models.totals).toMatchObject({ sessions: ids.size, models: models.rows.length });
    const choice = await readModelChoiceReport(pool.database, filter, { limit: 100 }, COMPARISON);
    // Only models that answered there are compared; copies are in the sessions alone.
    for (const { model, sessions } of choice.rows) expect(sessions).toBe(countBy(held, 'model')[model]);
  });

  it('are all in the list that a count leads to, beside those that were active without a response', async () => {
    const { person, project, model, from, to } = part;
    const page = { sort: 'last_timestamp', order: 'desc', limit: 100 } as const;
    const filter = { person, project, model, from: from ?? undefined, to: to ?? undefined };
    const { rows } = await listSessions(pool.database, TEST_WORKSPACE, filter, page);
    const listed = rows.map(({ session_id }) => session_id);
    expect(listed).toEqual(expect.arrayContaining([...ids]));
    const isTimed = from !== undefined;
    for (const id of listed) if (!ids.has(id)) expect(isTimed || id === 'unanswered', id).toBe(true);
  });
});
