import type { DismissalSubject } from '@recount/contract/choices';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../database/database.ts';
import { and, eq, sql } from '../drizzle.cjs';
import {
  addressFindings,
  dismissFindings,
  listAddressed,
  listDismissals,
  reopenFindings,
  restoreFindings,
} from '../findings/finding-decisions.ts';
import { writeFindings } from '../findings/write-findings.ts';
import { createPerson, deletePerson } from '../people/people.ts';
import type { FindingKindName } from '../schema/finding-decisions.ts';
import { findings } from '../schema/findings.ts';
import { sessions } from '../schema/transcripts.ts';
import { deleteSession } from '../sessions/delete-session.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet, type TestSession } from '../testing/insert-test-fleet.ts';
import { renameRepositories, undoRepositoryRename } from '../workspaces/repository-renames.ts';
import { type FindingsPage, type ReportRequest, readFindingsReport, resolveReportFilter } from './index.ts';
import { readAddressedReport } from './read-addressed-report.ts';
import { readWasteReport } from './read-waste-report.ts';

type Finding = Partial<typeof findings.$inferInsert> & Pick<typeof findings.$inferInsert, 'kind'>;

const decision = { workspaceId: TEST_WORKSPACE, actor: 'key:K1' } as const;
const at = (day: number, hour = 10): string => new Date(Date.UTC(2026, 4, day, hour)).toISOString();
/** Monday 2026-06-15. */
const NOW = Date.UTC(2026, 5, 15, 12);

/** Responses cost 1, 2, 4, 8 … so that each sum tells which ones it has. */
const FLEET: TestSession[] = [
  {
    ...{ session_id: 'a', repository: 'acme/heron', person: 'ada', first_timestamp: at(4), last_timestamp: at(4) },
    responses: [1, 2, 4, 8].map((cost_usd, index) => ({ cost_usd, timestamp: at(4, index) })),
    calls: [{ tool_name: 'Bash' }],
  },
  {
    ...{ session_id: 'b', repository: 'acme/owl', person: 'bob', first_timestamp: at(5), last_timestamp: at(5) },
    responses: [16, 32].map((cost_usd, index) => ({ cost_usd, timestamp: at(5, index) })),
    calls: [{ tool_name: 'Wait' }],
  },
];

const FINDINGS: (Finding & { session_id: string })[] = [
  { session_id: 'a', kind: 'repeated-call', tool_name: 'Bash', timestamp: at(4), response_keys: ['a-0', 'a-1'] },
  { session_id: 'a', kind: 'repeated-call', tool_name: 'Wait', timestamp: at(4), response_keys: ['a-1', 'a-2'] },
  { session_id: 'b', kind: 'repeated-call', tool_name: 'Wait', timestamp: at(5), response_keys: ['b-0'] },
  // After the same response as the second repeat, and after one that repeats nothing.
  { session_id: 'a', kind: 'cold-cache', timestamp: at(4, 2), cost_usd: 0.5, tokens: 5 },
  { session_id: 'a', kind: 'cold-cache', timestamp: at(4, 3), cost_usd: 0.25, tokens: 3 },
];

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, FLEET);
  await insertFindings(FINDINGS);
});
afterAll(() => pool.close());

async function insertFindings(all: readonly (Finding & { session_id: string })[]): Promise<void> {
  const rows = all.map((finding) => ({
    ...{ workspace_id: TEST_WORKSPACE, row_set_id: `transcript-${finding.session_id}`, is_subagent: false, times: 3 },
    ...finding,
  }));
  await pool.database.insert(findings).values(rows);
}

const toFilter = async (request: Partial<ReportRequest> = {}) => {
  const all = { timeZone: 'UTC', subagents: 'include' as const, ...request };
  return (await resolveReportFilter(pool.database, TEST_WORKSPACE, all)).filter;
};
async function find(page: Partial<FindingsPage>) {
  const thresholds = { minResultBytes: 40_000, minSessionCostUsd: 1000, nowMs: NOW };
  return await readFindingsReport(pool.database, await toFilter(), { limit: 50, ...thresholds, ...page });
}
const waste = async (groupBy: Parameters<typeof readWasteReport>[2]['groupBy'] = []) =>
  await readWasteReport(pool.database, await toFilter(), { groupBy, limit: 10 });

const dismiss = async (
  kind: FindingKindName,
  subjectType: DismissalSubject,
  subject: string,
  reason?: string,
  maxCount = 10,
) =>
  await pool.withTransaction((transaction) =>
    dismissFindings(transaction, decision, { kind, subjectType, subject, reason }, maxCount),
  );
/** Runs with a dismissal, and restores it. */
async function withDismissal<Result>(
  [kind, type, subject]: [FindingKindName, DismissalSubject, string],
  run: () => Promise<Result>,
): Promise<Result> {
  const made = await dismiss(kind, type, subject);
  if (typeof made === 'string') throw new Error(made);
  const result = await run();
  expect(await pool.withTransaction((transaction) => restoreFindings(transaction, decision, made.id))).toBe(true);
  return result;
}

describe('dismissed findings', () => {
  it('leave the list and its figures, which say how many they are and what they cost', async () => {
    const { rows, totals, kinds } = await withDismissal(['repeated-call', 'tool', 'Wait'], () =>
      find({ kind: 'repeated-call' }),
    );
    expect(rows).toMatchObject([{ session_id: 'a', tool: 'Bash', cost_usd: 3, is_dismissed: false }]);
    expect(totals).toEqual({ findings: 1, dismissed_findings: 2 });
    // The response of 2 repeats a call that is not dismissed, too.
    expect(kinds).toMatchObject([
      { findings: 1, sessions: 1, cost_usd: 3, dismissed_findings: 2, dismissed_cost_usd: 20 },
    ]);
    expect((await find({ kind: 'repeated-call' })).kinds).toMatchObject([
      { findings: 3, sessions: 2, cost_usd: 23, dismissed_findings: 0, dismissed_cost_usd: 0 },
    ]);
  });

  it('are of one session, or of all sessions of a repository or a person', async () => {
    const listed = async (type: DismissalSubject, subject: string) =>
      await withDismissal(['repeated-call', type, subject], async () =>
        (await find({ kind: 'repeated-call' })).rows.map(({ session_id }) => session_id),
      );
    expect(await listed('session', 'a')).toEqual(['b']);
    expect(await listed('repository', 'acme/owl')).toEqual(['a', 'a']);
    expect(await listed('person', 'ada')).toEqual(['b']);
  });

  it('can be listed alone and with the others, with repository and person', async () => {
    const lists = await withDismissal(['repeated-call', 'person', 'ada'], async () => ({
      only: await find({ dismissed: 'only' }),
      all: await find({ dismissed: 'include' }),
    }));
    expect(lists.only.rows.map(({ session_id, cost_usd }) => [session_id, cost_usd])).toEqual([
      ['a', 6],
      ['a', 3],
    ]);
    expect(lists.only.rows[0]).toMatchObject({ repository: 'acme/heron', person: 'ada', is_dismissed: true });
    expect(lists.only.totals).toEqual({ findings: 2, dismissed_findings: 2 });
    expect(lists.all.totals).toEqual({ findings: 5, dismissed_findings: 2 });
    expect(lists.all.rows).toHaveLength(5);
  });

  it('are of a person by all names of their sessions, and are listed by the name of reports', async () => {
    const id = await pool.withTransaction((transaction) =>
      createPerson(transaction, decision, { displayName: 'Ada King', email: null, names: ['ADA'] }),
    );
    const { only, others } = await withDismissal(['repeated-call', 'person', 'Ada King'], async () => ({
      only: await find({ kind: 'repeated-call', dismissed: 'only' }),
      others: await waste(['person']),
    }));
    expect(only.rows.map(({ person }) => person)).toEqual(['Ada King', 'Ada King']);
    expect(others.rows).toMatchObject([
      { person: 'bob', dismissed_findings: 0 },
      { person: 'Ada King', dismissed_findings: 2 },
    ]);
    await pool.withTransaction((transaction) => deletePerson(transaction, decision, id));
  });

  it('follow their repository to its new name, and back when that is undone', async () => {
    const dismissed = async () =>
      (await find({ kind: 'repeated-call', dismissed: 'only' })).rows.map((row) => row.session_id);
    const nameOwl = (name: string) =>
      pool.database
        .update(sessions)
        .set({ repository: name })
        .where(and(eq(sessions.workspace_id, TEST_WORKSPACE), eq(sessions.session_id, 'b')));
    await withDismissal(['repeated-call', 'repository', 'acme/owl'], async () => {
      const change = (run: (transaction: Database) => Promise<unknown>) => pool.withTransaction(run);
      await change((transaction) => renameRepositories(transaction, decision, ['acme/owl'], 'acme/barn'));
      // A worker has not renamed the session yet.
      expect(await dismissed()).toEqual(['b']);
      await nameOwl('acme/barn');
      expect(await dismissed()).toEqual(['b']);
      await change((transaction) => undoRepositoryRename(transaction, decision, 'acme/owl'));
      await nameOwl('acme/owl');
      expect(await dismissed()).toEqual(['b']);
    });
  });

  it('leave potential waste, which with them is what it was before', async () => {
    const { totals: before } = await waste();
    // The repeated responses, and the cache of the one that repeats nothing.
    expect(before).toMatchObject({ findings: 5, waste_usd: 1 + 2 + 4 + 16 + 0.25, dismissed_usd: 0 });
    const wait = await withDismissal(['repeated-call', 'tool', 'Wait'], () => waste());
    // The cache after the response of 4 is no part of what is dismissed.
    expect(wait.totals).toMatchObject({ findings: 3, waste_usd: 3.75, dismissed_findings: 2, dismissed_usd: 19.5 });
    expect(wait.totals.waste_usd + wait.totals.dismissed_usd).toBe(before.waste_usd);
    const cache = await withDismissal(['cold-cache', 'session', 'a'], () => waste(['person']));
    expect(cache.totals).toMatchObject({ findings: 3, waste_usd: 23, dismissed_findings: 2, dismissed_usd: 0.25 });
    expect(cache.rows).toMatchObject([
      { person: 'bob', waste_usd: 16, dismissed_findings: 0 },
      { person: 'ada', waste_usd: 7, dismissed_findings: 2, dismissed_usd: 0.25 },
    ]);
    expect((await waste()).totals).toEqual(before);
  });

  it('are dismissed once, by the first who does so, for the last reason', async () => {
    const first = await dismiss('cold-cache', 'session', 'a', 'lunch');
    expect(await dismiss('cold-cache', 'session', 'a')).toEqual({ ...(first as object), isNew: false });
    await dismiss('cold-cache', 'session', 'a', 'breaks are fine');
    expect(await dismiss('cold-cache', 'session', 'unknown')).toBe('unknown-subject');
    expect(await dismiss('cold-cache', 'repository', 'acme')).toBe('unknown-subject');
    expect(await dismiss('repeated-call', 'tool', 'Read')).toBe('unknown-subject');
    expect(await dismiss('cold-cache', 'session', 'b', undefined, 1)).toBe('too-many');
    const { rows: log } = await pool.database.execute(
      sql`SELECT action, actor, details FROM recount.audit_log WHERE subjects[2] = 'a' ORDER BY id DESC LIMIT 1`,
    );
    const details = { kind: 'cold-cache', subject_type: 'session' };
    expect(log).toEqual([{ action: 'finding.dismiss', actor: 'key:K1', details }]);
    const [listed, ...others] = await listDismissals(pool.database, TEST_WORKSPACE);
    expect(listed).toMatchObject({ subject: 'a', title: 'a', reason: 'breaks are fine', dismissed_by: 'key:K1' });
    expect(others).toEqual([]);
    const restore = () =>
      pool.withTransaction((transaction) => restoreFindings(transaction, decision, listed?.id ?? ''));
    expect([await restore(), await restore()]).toEqual([true, false]);
  });
});

describe('addressed findings', () => {
  /** Weeks of 100 dollars, with this much waste each, from a day of May on. */
  const toWeeks = (id: string, firstDay: number, costs: readonly number[]): [TestSession, Finding[]] => {
    const times = costs.map((_cost, week) => at(firstDay + 7 * week, 23));
    const responses = times.map((timestamp) => ({ cost_usd: 100, timestamp }));
    const session = { session_id: id, person: id, first_timestamp: times[0] ?? null, last_timestamp: times.at(-1) };
    return [
      { ...session, last_timestamp: times.at(-1) ?? null, responses },
      costs.map((cost_usd, week) => ({ kind: 'cold-cache', timestamp: times[week] ?? null, cost_usd })),
    ];
  };
  const read = async (request: Partial<ReportRequest>, nowMs = NOW) =>
    await readAddressedReport(pool.database, await toFilter(request), { limit: 10 }, nowMs);
  const address = async (since: string) =>
    await pool.withTransaction((transaction) =>
      addressFindings(transaction, decision, { kind: 'cold-cache', since, note: 'Shorter breaks' }),
    );

  // The others count all that their workspace has.
  let poolOfOthers: typeof pool;
  beforeAll(async () => {
    poolOfOthers = pool;
    pool = await createTestPool();
    // Sundays from 3 May on; with 14 June six weeks have ended before Monday 15 June.
    for (const [id, costs] of Object.entries({ cy: [10, 12, 11, 9, 2, 1, 3], di: [1, 1, 1, 1, 2, 9, 9] })) {
      const [session, found] = toWeeks(id, 3, costs);
      await insertTestFleet(pool, [session]);
      await insertFindings(found.map((finding) => ({ ...finding, session_id: id })));
    }
  });
  afterAll(async () => {
    await pool.close();
    pool = poolOfOthers;
  });

  it('compares complete weeks before and after the day', async () => {
    await address('2026-06-01');
    const { rows, weeks, totals } = await read({ person: 'cy' });
    expect(rows).toMatchObject([
      {
        ...{ kind: 'cold-cache', since: '2026-06-01', note: 'Shorter breaks', marked_by: 'key:K1' },
        // Weeks of 2 and 1, and of 1 and 3, are two of 21 pairs. 3 to 31 May; the week of the last response is over at the end of 14 June.
        before: { from: '2026-04-06', to: '2026-06-01', weeks: 5, findings: 5, waste_usd: 44, cost_usd: 500 },
        after: { from: '2026-06-01', to: '2026-06-15', weeks: 2, findings: 2, waste_usd: 4, cost_usd: 200 },
        ...{ outcome: 'fell', chance: expect.closeTo(2 / 21, 9), change: expect.closeTo(0.02 - 0.088, 9) },
      },
    ]);
    expect(weeks.filter(({ findings: count }) => count > 0).map((week) => [week.from, week.waste_share])).toEqual([
      ['2026-04-27', 0.1],
      ['2026-05-04', 0.12],
      ['2026-05-11', 0.11],
      ['2026-05-18', 0.09],
      ['2026-05-25', 0.02],
      ['2026-06-01', 0.01],
      ['2026-06-08', 0.03],
    ]);
    expect(totals).toEqual({ addressed: 1 });
  });

  it('says that it is too early, that there are too few data, or that it rose', async () => {
    const readOutcome = async (since: string, person: string, request: Partial<ReportRequest> = {}) => {
      await address(since);
      return (await read({ person, ...request })).rows[0]?.outcome;
    };
    expect(await readOutcome('2026-06-08', 'cy')).toBe('too-early');
    expect(await readOutcome('2026-05-11', 'cy')).toBe('too-little-data');
    expect(await readOutcome('2026-06-01', 'cy', { from: '2026-05-20' })).toBe('too-little-data');
    expect(await readOutcome('2026-06-01', 'cy', { to: '2026-06-12' })).toBe('too-early');
    expect(await readOutcome('2026-06-01', 'di')).toBe('rose');
    expect(await readOutcome('2026-06-20', 'cy')).toBe('too-early');
  });

  it('counts dismissed findings, and the days of the time zone', async () => {
    await address('2026-06-01');
    const { rows } = await withDismissal(['cold-cache', 'person', 'cy'], () => read({ person: 'cy' }));
    expect(rows).toMatchObject([{ before: { waste_usd: 44 }, after: { waste_usd: 4 } }]);
    // Sunday evening in UTC is Monday there, where 15 June is not over.
    const auckland = await read({ person: 'cy', timeZone: 'Pacific/Auckland' });
    expect(auckland.rows).toMatchObject([{ before: { waste_usd: 42 }, after: { waste_usd: 3 } }]);
  });

  it('are marked once, and can be reopened', async () => {
    await address('2026-06-01');
    await address('2026-06-02');
    expect(await listAddressed(pool.database, TEST_WORKSPACE)).toMatchObject([{ since: '2026-06-02' }]);
    const reopen = () => pool.withTransaction((transaction) => reopenFindings(transaction, decision, 'cold-cache'));
    expect([await reopen(), await reopen()]).toEqual([true, false]);
    expect((await read({})).rows).toEqual([]);
  });
});

it('leaves dismissals alone when findings are written again', async () => {
  await insertTestFleet(pool, [{ session_id: 'e', first_timestamp: at(5) }]);
  const listed = await withDismissal(['cold-cache', 'session', 'e'], async () => {
    await pool.withTransaction((transaction) => writeFindings(transaction, TEST_WORKSPACE, ['e']));
    return await listDismissals(pool.database, TEST_WORKSPACE);
  });
  expect(listed).toMatchObject([{ subject: 'e' }]);
  await pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'e'));
});
