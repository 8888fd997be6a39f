import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ReportRequest, resolveReportFilter } from '../filters/report-filter.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { BLOCK_MS, readBlocksReport } from './read-blocks-report.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const START_MS = Date.parse('2026-03-28');

interface Response {
  atMs: number;
  model: string;
  tokens_out: number;
}

interface Session {
  session_id: string;
  agent: 'claude-code' | 'amp';
  project: string;
  responses: Response[];
}

/**
 * Deterministic. A third of the sessions have a response every few hours, so that some days have an empty block between
 * two others; some sessions have a gap of days.
 */
function makeFleet(): Session[] {
  let state = 7;
  const next = (below: number): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
  return Array.from({ length: 18 }, (_, index) => {
    let atMs = START_MS + next(70) * HOUR_MS;
    const stepMs = [11 * MINUTE_MS, 130 * MINUTE_MS, 320 * MINUTE_MS][index % 3] ?? 0;
    return {
      session_id: `session-${index}`,
      agent: index % 6 === 5 ? 'amp' : 'claude-code',
      project: index % 2 === 0 ? '/even' : '/odd',
      responses: Array.from({ length: 9 }, (_, number) => {
        atMs += Math.floor((stepMs * (50 + next(100))) / 100) + (next(30) === 0 ? 2 * 24 * HOUR_MS : 0);
        return { atMs, model: `model-${next(3)}`, tokens_out: index * 100 + number };
      }),
    };
  });
}

const FLEET = makeFleet();
const toIso = (ms: number): string => new Date(ms).toISOString();

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(
    pool,
    FLEET.map(({ responses, ...session }, index) => ({
      ...session,
      responses: [
        // Neither starts a block.
        { timestamp: null, tokens_out: 1 },
        ...responses.map(({ atMs, ...response }, number) => ({
          ...response,
          agent: session.agent,
          timestamp: toIso(atMs),
          copiedTo: number === 4 && index > 0 ? [`session-${index - 1}`] : [],
        })),
      ],
    })),
  );
});
afterAll(() => pool.close());

/** By the definition, from individual responses. */
function expectBlocks(
  { agent, project, model, from, to }: Partial<ReportRequest>,
  beforeMs = Number.POSITIVE_INFINITY,
) {
  const ofAgent = FLEET.filter((session) => agent === undefined || session.agent === agent);
  const times = ofAgent.flatMap(({ responses }) => responses.map(({ atMs }) => atMs)).sort((a, b) => a - b);
  const starts: number[] = [];
  for (const atMs of times) {
    if (atMs >= (starts.at(-1) ?? 0) + BLOCK_MS) starts.push(Math.floor(atMs / HOUR_MS) * HOUR_MS);
  }
  const isAsked = (startMs: number): boolean =>
    (from === undefined || startMs >= Date.parse(from)) && (to === undefined || startMs < Date.parse(to));
  return starts.filter(isAsked).flatMap((startMs) => {
    const responses = ofAgent
      .filter((session) => project === undefined || session.project === project)
      .flatMap(({ session_id, responses }) => responses.map((response) => ({ ...response, session_id })))
      .filter(({ atMs }) => atMs >= startMs && atMs < Math.min(startMs + BLOCK_MS, beforeMs))
      .filter((response) => model === undefined || response.model === model);
    if (responses.length === 0) return [];
    return [{ start: toIso(startMs), end: toIso(startMs + BLOCK_MS), ...sum(responses) }];
  });
}

const sum = (responses: readonly (Response & { session_id: string })[]) => ({
  sessions: new Set(responses.map(({ session_id }) => session_id)).size,
  models: [...new Set(responses.map(({ model }) => model))].sort(),
  responses: responses.length,
  tokens_out: responses.reduce((total, { tokens_out }) => total + tokens_out, 0),
});

const REQUESTS: Partial<ReportRequest>[] = [
  {},
  { from: '2026-03-29T03:15:00.000Z' },
  { to: '2026-03-30T22:00:00.000Z' },
  { from: '2026-03-28T21:00:00.000Z', to: '2026-03-31T00:00:00.000Z' },
  { agent: 'amp' },
  { agent: 'claude-code', from: '2026-03-29T00:00:00.000Z' },
  { project: '/odd' },
  { model: 'model-1', to: '2026-03-30T00:00:00.000Z' },
];

it.each(REQUESTS)('blocks of %j contain the responses of their five hours, on every page', async (request) => {
  const expected = expectBlocks(request);
  expect(expected.length).toBeGreaterThan(3);
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, {
    timeZone: 'Asia/Kathmandu',
    subagents: 'include',
    ...request,
  });
  const all = await readBlocksReport(pool.database, filter, { limit: 1000 });
  expect(
    all.rows.map(({ start, end, sessions, models, responses, tokens_out }) => ({
      start,
      end,
      sessions,
      models,
      responses,
      tokens_out,
    })),
  ).toEqual(expected);
  const total = (name: 'responses' | 'tokens_out') => expected.reduce((whole, block) => whole + block[name], 0);
  expect(all.totals).toMatchObject({
    blocks: expected.length,
    responses: total('responses'),
    tokens_out: total('tokens_out'),
  });
  for (const limit of [1, 2, 3, expected.length - 1]) {
    const page = await readBlocksReport(pool.database, filter, { limit });
    expect(page).toEqual({ ...all, rows: all.rows.slice(0, limit), truncated: true });
  }
});

it('blocks of a team contain the responses of the days when their people were in it', async () => {
  await pool.pool.query('UPDATE recount.sessions SET person = project WHERE workspace_id = $1', [TEST_WORKSPACE]);
  const request = { timeZone: 'UTC', subagents: 'include' } as const;
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, request);
  const endsBefore = '2026-03-30T00:00:00.000Z';
  const ofTeam = { ...filter, attributed: [{ name: '/odd', startsAt: '-infinity', endsBefore }] };
  const expected = expectBlocks({ project: '/odd' }, Date.parse(endsBefore));
  expect(expected.length).toBeGreaterThan(3);
  const all = await readBlocksReport(pool.database, ofTeam, { limit: 1000 });
  expect(all.rows).toMatchObject(expected);
  expect(all.totals.blocks).toBe(expected.length);
  const page = await readBlocksReport(pool.database, ofTeam, { limit: 2 });
  expect(page).toEqual({ ...all, rows: all.rows.slice(0, 2), truncated: true });
});
