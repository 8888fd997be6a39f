import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sessions } from '../schema/transcripts.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import {
  listSessions,
  SESSION_SORTS,
  type SessionFilter,
  type SessionPage,
  type SessionRow,
  type SessionSort,
} from './read-sessions.ts';

const SESSION_COUNT = 60;
const PROMPTS = ['100% sure', '100 percent', 'a_b', 'aXb', 'C:\\temp', 'C:/temp', 'Grüße 😀'];

let pool: Awaited<ReturnType<typeof createTestPool>>;
let all: SessionRow[];

/** Few distinct values, so that every sort key has ties; a third of the sessions have no timestamps. */
function toSession(index: number): typeof sessions.$inferInsert {
  const firstMs = Date.UTC(2026, 0, 1) + (index % 7) * 3_600_000 + 123;
  return {
    workspace_id: TEST_WORKSPACE,
    session_id: `s${String((index * 37) % SESSION_COUNT).padStart(2, '0')}`,
    agent: 'claude-code',
    primary_transcript_id: 't',
    is_subagent: index % 5 === 0,
    parent_session_id: index % 5 === 0 ? 's01' : null,
    project: index % 4 === 0 ? null : `/home/ada/${index % 4}`,
    git_branch: index % 3 === 0 ? 'main' : 'topic',
    repository: [null, 'example.org/ada/Heron_Watch', 'example.org/ada/heronswatch'][index % 3] ?? null,
    models: index % 2 === 0 ? ['claude-opus-5', 'claude-haiku-4-5'] : [],
    initial_prompt: PROMPTS[index % PROMPTS.length] ?? null,
    first_timestamp: index % 3 === 0 ? null : new Date(firstMs).toISOString(),
    last_timestamp: index % 3 === 0 ? null : new Date(firstMs + (index % 4) * 60_000).toISOString(),
    cost_estimate_usd: index % 5 === 4 ? null : (index % 4) * 1e-10,
    tokens_out: (index % 3) * 2 ** 40,
    total_messages: index % 6,
    duration_ms: (index % 4) * 60_000,
  };
}

beforeAll(async () => {
  pool = await createTestPool();
  all = await pool.database
    .insert(sessions)
    .values(Array.from({ length: SESSION_COUNT }, (_, index) => toSession(index)))
    .returning();
  await pool.database.insert(sessions).values({ ...toSession(1), workspace_id: OTHER_WORKSPACE });
});
afterAll(() => pool.close());

async function readPages(filter: SessionFilter, page: SessionPage): Promise<SessionRow[]> {
  const found: SessionRow[] = [];
  for (let after: SessionPage['after']; ; ) {
    const { rows, next } = await listSessions(pool.database, TEST_WORKSPACE, filter, { ...page, after });
    expect(rows.length).toBe(next === undefined ? rows.length : page.limit);
    found.push(...rows);
    if (next === undefined) return found;
    after = next;
  }
}

function toSorted(sort: SessionSort, order: 'asc' | 'desc'): SessionRow[] {
  const toKey = (row: SessionRow): number => {
    const value = row[sort];
    if (value === null && sort === 'cost_estimate_usd') return -1;
    return typeof value === 'number' ? value : Date.parse(value ?? '1970-01-01T00:00:00Z');
  };
  const compare = (a: SessionRow, b: SessionRow): number =>
    toKey(a) - toKey(b) || (a.session_id < b.session_id ? -1 : 1);
  return all.toSorted((a, b) => (order === 'asc' ? compare(a, b) : compare(b, a)));
}

describe.each(SESSION_SORTS)('sorted by %s', (sort) => {
  it.each(['asc', 'desc'] as const)('by %s, pages of any size show each session once and in order', async (order) => {
    for (const limit of [1, 7, SESSION_COUNT, SESSION_COUNT + 1]) {
      expect(await readPages({}, { sort, order, limit })).toEqual(toSorted(sort, order));
    }
  });
});

it('continues in the right place if a session was deleted in between', async () => {
  const page = { sort: 'cost_estimate_usd', order: 'desc', limit: 10 } as const;
  const { rows, next } = await listSessions(pool.database, TEST_WORKSPACE, {}, page);
  const [expected] = toSorted(page.sort, page.order).slice(10, 11);
  expect(rows).toHaveLength(10);
  expect(next?.sessionId).toBe(rows.at(-1)?.session_id);
  const after = next && { ...next, sessionId: `${next.sessionId}-gone` };
  const rest = await listSessions(pool.database, TEST_WORKSPACE, {}, { ...page, after });
  // Descending. The cursor is now before the session itself, which therefore comes again.
  expect(rest.rows[0]?.session_id).toBe(next?.sessionId);
  expect(rest.rows[1]).toEqual(expected);
});

describe('filters', () => {
  const list = (filter: SessionFilter) => readPages(filter, { sort: 'last_timestamp', order: 'asc', limit: 9 });
  const expectSame = async (filter: SessionFilter, isExpected: (row: SessionRow) => boolean) => {
    const expected = toSorted('last_timestamp', 'asc').filter(isExpected);
    expect(expected.length).toBeGreaterThan(0);
    expect(expected.length).toBeLessThan(SESSION_COUNT);
    expect(await list(filter)).toEqual(expected);
  };

  it.each(['100%', 'a_b', 'C:\\temp', '%', '_', '\\', '100% SURE', 'grüße', '😀'])(
    'takes %s of a prompt literally, in any case',
    async (prompt) => {
      await expectSame({ prompt }, (row) => row.initial_prompt?.toLowerCase().includes(prompt.toLowerCase()) ?? false);
    },
  );

  it('finds sessions of a project, a branch, a repository, a model, a parent', async () => {
    await expectSame({ project: ['/home/ada/2'] }, (row) => row.project === '/home/ada/2');
    await expectSame({ branch: ['main'] }, (row) => row.git_branch === 'main');
    await expectSame(
      { repository: ['example.org/ada/Heron_Watch'] },
      (row) => row.repository?.endsWith('Heron_Watch') ?? false,
    );
    await expectSame({ model: ['claude-haiku-4-5'] }, (row) => row.models.includes('claude-haiku-4-5'));
    const projects = ['/home/ada/2', '/home/ada/1'];
    await expectSame({ project: projects }, (row) => projects.includes(row.project ?? ''));
    const models = ['claude-haiku-4-5', 'claude-opus-4-5', 'none'];
    await expectSame({ model: models }, (row) => row.models.some((model) => models.includes(model)));
    expect(await list({ model: [] })).toEqual([]);
    expect(await list({ project: [] })).toEqual([]);
    await expectSame({ parentSessionId: 's01' }, (row) => row.parent_session_id === 's01');
    await expectSame({ isSubagent: false }, (row) => !row.is_subagent);
    expect(await list({ agent: ['codex'] })).toEqual([]);
    expect(await list({ agent: ['claude-code'], prompt: '' })).toHaveLength(SESSION_COUNT);
  });

  it('finds sessions with activity in a time range', async () => {
    const from = '2026-01-01T02:01:00.123Z';
    const to = '2026-01-01T04:00:00.123Z';
    await expectSame({ from }, (row) => row.last_timestamp !== null && row.last_timestamp >= from);
    await expectSame({ from: '1960-01-01T00:00:00Z' }, (row) => row.last_timestamp !== null);
    await expectSame({ to }, (row) => row.first_timestamp !== null && row.first_timestamp < to);
    await expectSame(
      { from, to, branch: ['topic'] },
      (row) =>
        row.git_branch === 'topic' &&
        row.last_timestamp !== null &&
        row.first_timestamp !== null &&
        row.last_timestamp >= from &&
        row.first_timestamp < to,
    );
  });
});

it('never shows a session of another workspace', async () => {
  const page = { sort: 'last_timestamp', order: 'desc', limit: 100 } as const;
  expect((await listSessions(pool.database, OTHER_WORKSPACE, {}, page)).rows).toHaveLength(1);
  expect((await listSessions(pool.database, 'nobody', {}, page)).rows).toEqual([]);
});
