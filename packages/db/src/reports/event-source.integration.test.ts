import type { SessionEventKind } from '@recount/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { readApiErrorsReport, readCompactionsReport, readPullRequestsReport, resolveReportFilter } from './index.ts';

const limit = 50;
const TIMES = {
  never: null,
  april: '2026-04-30T23:59:59.999Z',
  may: '2026-05-10T10:00:00Z',
  june: '2026-06-01T00:00:00Z',
};
const PAIRS = Object.entries(TIMES).flatMap((one) => Object.entries(TIMES).map((other) => [one, other] as const));
const KINDS: readonly SessionEventKind[] = ['api_error', 'api_retry', 'compaction', 'pull_request', 'prompt'];

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(
    pool,
    ([0, 1] as const).map((copy) => ({
      session_id: `session-${copy}`,
      events: KINDS.flatMap((kind) =>
        PAIRS.map((pair) => {
          const name = pair.map(([month]) => month).join(' and ');
          return { kind, name, event_key: `${kind}/${name}`, timestamp: pair[copy][1] };
        }),
      ),
    })),
  );
});
afterAll(() => pool.close());

// Up to a hundred days are looked up by an index; more, or a start alone, are compared with all of the workspace.
it.each([
  ['2026-05-01', '2026-06-01', ['may and may', 'may and june', 'june and may', 'never and may', 'may and never']],
  [
    '2026-04-01',
    '2026-05-01',
    PAIRS.flatMap(([[one], [other]]) => (one === 'april' || other === 'april' ? [`${one} and ${other}`] : [])),
  ],
  [
    '2025-05-01',
    '2026-06-01',
    PAIRS.flatMap(([[one], [other]]) => (/april|may/.test(one + other) ? [`${one} and ${other}`] : [])),
  ],
  [undefined, undefined, PAIRS.map(([[one], [other]]) => `${one} and ${other}`)],
])('counts an event once from %s to %s, at the time of its first copy', async (from, to, expected) => {
  const request = { timeZone: 'UTC', subagents: 'include', from, to } as const;
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, request);
  const names = expected.toSorted();
  const errors = await readApiErrorsReport(pool.database, filter, { limit });
  expect(errors.rows.map(({ error }) => error).toSorted()).toEqual(names);
  expect(errors.totals).toMatchObject({ errors: names.length, retries: names.length });
  const compactions = await readCompactionsReport(pool.database, filter, { limit });
  expect(compactions.rows.map(({ trigger }) => trigger).toSorted()).toEqual(names);
  expect(compactions.totals.compactions).toBe(names.length);
  const pullRequests = await readPullRequestsReport(pool.database, filter, { limit });
  expect(pullRequests.rows.map(({ url }) => url).toSorted()).toEqual(names);
});
