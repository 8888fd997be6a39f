import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { transcriptMessages } from '../schema/messages.ts';
import { copyToOtherTenant } from '../testing/copy-to-other-tenant.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet, type TestSession } from '../testing/insert-test-fleet.ts';
import {
  listExpensiveSessions,
  type ReportFilter,
  type ReportRequest,
  readApiErrorsReport,
  readBlocksReport,
  readCaveats,
  readCompactionsReport,
  readFilesReport,
  readFindingsReport,
  readMcpServersReport,
  readModelsReport,
  readPermissionDenialsReport,
  readProgramsReport,
  readPullRequestsReport,
  readReconciliationReport,
  readSessionsReport,
  readSessionUsage,
  readSkillsReport,
  readSubagentsReport,
  readToolsReport,
  readUsageReport,
  resolveReportFilter,
} from './index.ts';

const PULL_REQUEST = 'https://github.com/ada/app/pull/7';

const FLEET: TestSession[] = [
  {
    session_id: 'main',
    project: '/app',
    git_branch: 'main',
    agent_version: '2.0.1',
    title: 'Main',
    models: ['claude-opus-5'],
    first_timestamp: '2026-05-04T10:00:00.000Z',
    last_timestamp: '2026-05-04T11:00:00.000Z',
    duration_ms: 3_600_000,
    active_ms: 600_000,
    prompt_count: 3,
    turn_count: 2,
    total_messages: 20,
    tool_use_count: 9,
    tokens_in: 100,
    tokens_out: 50,
    cost_estimate_usd: 0.3000000003,
    reported_cost_usd: 0.5,
    responses: [
      {
        timestamp: '2026-05-04T10:05:00.000Z',
        git_branch: 'main',
        agent_version: '2.0.1',
        tokens_in: 10,
        tokens_out: 20,
        cache_read: 60,
        cache_write: 30,
        cache_write_1h: 5,
        thinking_tokens: 7,
        web_search_requests: 2,
        cost_usd: 0.1,
        cost_input_usd: 0.01,
        cost_output_usd: 0.02,
        cost_cache_read_usd: 0.03,
        cost_cache_write_usd: 0.02,
        cost_web_search_usd: 0.02,
      },
      // In binary, 0.1 + 0.2 is not 0.3.
      { timestamp: '2026-05-04T10:20:00.000Z', git_branch: 'topic', cost_usd: 0.2, tokens_out: 1, copiedTo: ['fork'] },
      {
        timestamp: '2026-05-04T10:50:00.000Z',
        git_branch: 'topic',
        cost_usd: 0.0000000003,
        tokens_out: 1,
        is_unfinalised: true,
        estimated_tokens_out: 400,
      },
    ],
    calls: [
      { tool_name: 'Bash', program: 'git', duration_ms: 10, output_bytes: 400 },
      { tool_name: 'Bash', program: 'git', duration_ms: 30, is_error: true },
      { tool_name: 'Bash', program: 'rm', is_denied: true, is_error: true, duration_ms: 1000 },
      { tool_name: 'Bash', program: 'npm', is_error: null, output_bytes: null },
      { tool_name: 'Read', file_path: '/app/a.ts', duration_ms: 5 },
      { tool_name: 'Edit', file_path: '/app/a.ts', duration_ms: 6 },
      { tool_name: 'Edit', file_path: '/app/a.ts', is_error: true },
      { tool_name: 'mcp__docs__search', mcp_server: 'docs' },
      { tool_name: 'mcp__docs__read', mcp_server: 'docs' },
      { tool_name: 'Task', subagent_type: 'explorer', subagent_id: 'a1', is_error: false },
      { tool_name: 'Task', subagent_type: 'explorer', is_denied: true, is_error: true },
      { tool_name: 'Skill', skill_name: 'release' },
      { tool_name: 'Read', file_path: '/app/copied.ts', is_own: false },
    ],
    events: [
      { kind: 'compaction', name: 'auto', details: { preTokens: 150_000 } },
      { kind: 'compaction', name: 'auto', details: { preTokens: 170_000 }, event_key: 'later' },
      { kind: 'compaction', name: 'manual', details: { preTokens: 'many' } },
      { kind: 'api_error', name: 'overloaded_error' },
      { kind: 'api_retry', name: 'overloaded_error', details: { retryInMs: 500 } },
      { kind: 'api_retry', name: 'overloaded_error', details: { retryInMs: 1000 } },
      { kind: 'pull_request', name: PULL_REQUEST, details: { number: 7, repository: 'ada/app' } },
      { kind: 'pull_request', name: PULL_REQUEST, timestamp: '2026-05-04T10:30:00.000Z' },
    ],
  },
  {
    session_id: 'sub',
    is_subagent: true,
    parent_session_id: 'main',
    agent_id: 'a1',
    project: '/app',
    models: ['claude-haiku-4-5'],
    first_timestamp: '2026-05-04T10:10:00.000Z',
    cost_estimate_usd: 0.05,
    unpriced_count: 1,
    responses: [
      {
        timestamp: '2026-05-04T10:10:00.000Z',
        agent_id: 'a1',
        model: 'claude-haiku-4-5',
        cost_usd: 0.05,
        tokens_out: 4,
      },
      { timestamp: null, agent_id: 'a1', model: 'brand-new', price_basis: 'unpriced', tokens_in: 11, tokens_out: 9 },
    ],
  },
  {
    session_id: 'fork',
    agent: 'codex',
    project: '/other',
    models: ['claude-opus-5'],
    initial_prompt: 'Carry on',
    first_timestamp: '2026-05-11T23:30:00.000Z',
    duration_ms: 60_000,
    active_ms: 60_000,
    prompt_count: 1,
    turn_count: 1,
    cost_estimate_usd: 0.6,
    reported_cost_usd: 0.6,
    responses: [
      { timestamp: '2026-05-11T23:30:00.000Z', cost_usd: 0.4, tokens_out: 8, model: null, price_basis: 'default' },
      { timestamp: null, cost_usd: 0, tokens_out: 16, model: null, price_basis: 'default' },
    ],
    calls: [{ tool_name: 'Read', file_path: '/app/a.ts', duration_ms: 7 }],
    events: [
      // A copy of the line in `main`, which is the earlier one.
      { kind: 'compaction', name: 'auto', details: { preTokens: 170_000 }, event_key: 'later' },
      { kind: 'pull_request', name: PULL_REQUEST, details: { number: 7, repository: 'ada/app' } },
      { kind: 'pull_request', name: `${PULL_REQUEST}0`, details: {} },
    ],
  },
];

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, FLEET);
  await insertMinutes([0, 1, 9, 30]);
  await copyToOtherTenant(pool, 'main');
});
afterAll(() => pool.close());

/** Messages of `main`, this many minutes after its start. */
async function insertMinutes(minutes: readonly number[]): Promise<void> {
  await pool.database.insert(transcriptMessages).values(
    minutes.map((minute, index) => ({
      workspace_id: TEST_WORKSPACE,
      row_set_id: 'transcript-main',
      id: `m${index}`,
      session_id: 'main',
      line_number: 1,
      ordinal: index,
      message_type: 'user' as const,
      timestamp: new Date(Date.UTC(2026, 4, 4, 10, minute)).toISOString(),
      has_text: true,
      has_thinking: false,
      has_tool_use: false,
      has_tool_result: false,
      metadata: {},
      is_sidechain: false,
      byte_offset: 0,
      byte_length: 1,
    })),
  );
}

async function toFilter(request: Partial<ReportRequest> = {}): Promise<ReportFilter> {
  const resolved = await resolveReportFilter(pool.database, TEST_WORKSPACE, {
    timeZone: 'UTC',
    subagents: 'include',
    ...request,
  });
  return resolved.filter;
}

const limit = 100;
const idleThresholdMs = 300_000;
const FINDING_THRESHOLDS = { minResultBytes: 100, minSessionCostUsd: 0.01, nowMs: Date.UTC(2026, 5) };

describe('usage', () => {
  const readUsage = async (request: Partial<ReportRequest> = {}) =>
    (await readUsageReport(pool.database, await toFilter(request), { limit })).totals;

  it('is summed exactly to the last digit', async () => {
    const { own, shared, sessions } = await readUsage({ sessionId: 'main' });
    expect(sessions).toBe(1);
    expect(own).toEqual({
      responses: 3,
      tokens_in: 10,
      tokens_out: 22,
      cache_read: 60,
      cache_write: 30,
      cache_write_1h: 5,
      thinking_tokens: 7,
      total_tokens: 122,
      cache_hit_ratio: 0.6,
      web_search_requests: 2,
      cost_usd: 0.3000000003,
      cost_by_class: { input: 0.01, output: 0.02, cache_read: 0.03, cache_write: 0.02, web_search: 0.02 },
      unfinalised: { responses: 1, tokens_out: 1, estimated_tokens_out: 400 },
      unpriced: { responses: 0, tokens: 0 },
      default_priced_responses: 0,
    });
    expect(shared.responses).toBe(0);
  });

  it('keeps shared usage apart', async () => {
    const { own, shared } = await readUsage({ sessionId: 'fork' });
    expect(own).toMatchObject({ responses: 2, tokens_out: 24, cost_usd: 0.4, default_priced_responses: 2 });
    expect(shared).toMatchObject({ responses: 1, tokens_out: 1, cost_usd: 0.2 });
    expect(await readSessionUsage(pool.database, TEST_WORKSPACE, 'fork')).toEqual({ own, shared });
  });

  it('counts every response of the workspace once', async () => {
    const { own, sessions } = await readUsage();
    expect(sessions).toBe(3);
    expect(own).toMatchObject({ responses: 7, tokens_out: 59, cost_usd: 0.7500000003 });
  });

  it.each<[Partial<ReportRequest>, number]>([
    [{ agent: 'codex' }, 2],
    [{ project: '/app' }, 5],
    [{ gitBranch: 'topic' }, 2],
    [{ model: 'claude-haiku-4-5' }, 1],
    [{ subagents: 'only' }, 2],
    [{ subagents: 'exclude' }, 5],
    [{ to: '2026-05-05' }, 4],
    [{ from: '2026-05-12', timeZone: 'Europe/Berlin' }, 1],
    [{ from: '2026-05-12' }, 0],
  ])('filters %j', async (request, responses) => {
    expect((await readUsage(request)).own.responses).toBe(responses);
  });

  it('is null if nothing has a price, and 0 if there is nothing', async () => {
    expect((await readUsage({ model: 'brand-new' })).own).toMatchObject({
      cost_usd: null,
      unpriced: { responses: 1, tokens: 20 },
    });
    expect((await readUsage({ from: '2030-01-01' })).own).toMatchObject({ cost_usd: 0, cache_hit_ratio: null });
  });

  it('groups by several keys, and says when there is more', async () => {
    const page = { groupBy: ['month', 'project'] as const, limit: 2 };
    const { rows, truncated, totals } = await readUsageReport(pool.database, await toFilter(), page);
    expect(rows.map(({ month, project, own }) => [month, project, own.responses])).toEqual([
      [null, '/app', 1],
      [null, '/other', 1],
    ]);
    expect(truncated).toBe(true);
    expect(totals.own.responses).toBe(7);
    const all = await readUsageReport(pool.database, await toFilter(), { ...page, limit: 4 });
    expect(all.truncated).toBe(false);
    expect(all.rows.slice(2).map(({ month, project }) => [month, project])).toEqual([
      ['2026-05', '/other'],
      ['2026-05', '/app'],
    ]);
  });
});

it('reports which figures are not exact', async () => {
  expect(await readCaveats(pool.database, await toFilter())).toEqual({
    unfinalised: { responses: 1, tokens_out: 1, estimated_tokens_out: 400, estimated_cost_usd: expect.any(Number) },
    unpriced: { responses: 1, tokens: 20, models: ['brand-new'] },
    default_priced_responses: 2,
    without_timestamp: 2,
    sessions: { without_usage: 0, output_only: 0 },
    disagreements: { responses: 0, cost_usd: 0, lowest_cost_usd: 0, highest_cost_usd: 0 },
  });
  expect(await readCaveats(pool.database, await toFilter({ from: '2026-05-11' }))).toEqual({
    unfinalised: { responses: 0, tokens_out: 0, estimated_tokens_out: 0, estimated_cost_usd: 0 },
    unpriced: { responses: 0, tokens: 0, models: [] },
    default_priced_responses: 1,
    without_timestamp: 2,
    sessions: { without_usage: 0, output_only: 0 },
    disagreements: { responses: 0, cost_usd: 0, lowest_cost_usd: 0, highest_cost_usd: 0 },
  });
});

it('lists models, unpriced ones with their counts', async () => {
  const { rows, totals } = await readModelsReport(pool.database, await toFilter(), { limit });
  expect(
    rows.map(({ model, is_priced, responses, sessions, cost_usd }) => [
      model,
      is_priced,
      responses,
      sessions,
      cost_usd,
    ]),
  ).toEqual([
    [null, true, 2, 1, 0.4],
    ['claude-opus-5', true, 3, 2, 0.3000000003],
    ['claude-haiku-4-5', true, 1, 1, 0.05],
    ['brand-new', false, 1, 1, null],
  ]);
  expect(rows[1]).toMatchObject({ first_used: '2026-05-04T10:00:00.000Z', last_used: '2026-05-04T10:45:00.000Z' });
  expect(totals).toMatchObject({ models: 4, sessions: 3, responses: 7 });
});

describe('sessions', () => {
  const page = { limit, idleThresholdMs };

  it('are counted by their start, with the distribution of their figures', async () => {
    const filter = await toFilter({ timeZone: 'Europe/Berlin', subagents: 'exclude' });
    const { rows, totals } = await readSessionsReport(pool.database, filter, { ...page, groupBy: ['day'] });
    expect(rows.map(({ day, sessions, cost_usd }) => [day, sessions, cost_usd])).toEqual([
      ['2026-05-04', 1, 0.3000000003],
      ['2026-05-12', 1, 0.6],
    ]);
    expect(totals).toMatchObject({
      sessions: 2,
      prompts: 4,
      turns: 3,
      messages: 20,
      tool_uses: 9,
      duration_ms: 3_660_000,
      active_ms: 660_000,
      cost_usd: 0.9000000003,
      own_cost_usd: 0.7000000003,
    });
    expect(totals.distribution.cost_usd).toEqual({
      p50: 0.3000000003,
      p90: 0.6,
      p99: 0.6,
      max: 0.6,
      mean: 0.45000000015,
    });
    expect(totals.distribution.active_ms).toMatchObject({ p50: 60_000, p99: 600_000 });
  });

  it('have no distribution if there are none', async () => {
    const { totals } = await readSessionsReport(pool.database, await toFilter({ from: '2027-01-01' }), page);
    expect(totals).toMatchObject({ sessions: 0, cost_usd: 0, distribution: { cost_usd: null, active_ms: null } });
  });

  it('are measured again with another idle threshold', async () => {
    const filter = await toFilter({ sessionId: 'main' });
    const { totals } = await readSessionsReport(pool.database, filter, { limit, idleThresholdMs: 8 * 60_000 });
    expect(totals.active_ms).toBe(9 * 60_000);
  });

  it('lists the most expensive first', async () => {
    const found = await listExpensiveSessions(pool.database, await toFilter(), { idleThresholdMs, top: 2 });
    expect(found).toMatchObject([
      { session_id: 'fork', title: 'Carry on', cost_usd: 0.6, own_cost_usd: 0.4, shared_cost_usd: 0.2 },
      { session_id: 'main', title: 'Main', cost_usd: 0.3000000003, first_timestamp: '2026-05-04T10:00:00.000Z' },
    ]);
    expect(found).toHaveLength(2);
  });
});

describe('reconciliation', () => {
  it('compares the agent’s total with ours, sub-agents included', async () => {
    const { rows, totals } = await readReconciliationReport(pool.database, await toFilter(), { limit });
    expect(rows).toMatchObject([
      {
        session_id: 'main',
        first_timestamp: '2026-05-04T10:00:00.000Z',
        reported_cost_usd: 0.5,
        computed_cost_usd: 0.3500000003,
        subagent_cost_usd: 0.05,
        difference_usd: -0.1499999997,
        unpriced_responses: 1,
      },
      { session_id: 'fork', difference_usd: 0, difference_ratio: 0 },
    ]);
    expect(totals).toMatchObject({ sessions: 2, sessions_within_one_percent: 1, reported_cost_usd: 1.1 });
  });
});

describe('tools', () => {
  it('are counted with errors, denials, output and durations', async () => {
    const page = { groupBy: ['tool'] as const, limit, percentiles: true };
    const { rows, totals } = await readToolsReport(pool.database, await toFilter(), page);
    expect(rows[0]).toEqual({
      tool: 'Bash',
      calls: 4,
      sessions: 1,
      results: 3,
      errors: 2,
      error_rate: 2 / 3,
      denied: 1,
      output_bytes: 600,
      estimated_tokens: 150,
      input_bytes: 40,
      duration_p50_ms: 30,
      duration_p95_ms: 1000,
      duration_mean_ms: 1040 / 3,
      timed_calls: 3,
    });
    expect(totals).toMatchObject({ calls: 13, sessions: 2, duration_p50_ms: 7 });
    const fast = await readToolsReport(pool.database, await toFilter(), { ...page, percentiles: false });
    expect(fast.totals).toEqual({ ...totals, duration_p50_ms: null, duration_p95_ms: null });
  });

  it('are counted by file', async () => {
    const { rows, totals } = await readFilesReport(pool.database, await toFilter(), { limit, sort: 'reads' });
    expect(
      rows.map(({ file_path, project, calls, reads, edits, errors }) => [
        file_path,
        project,
        calls,
        reads,
        edits,
        errors,
      ]),
    ).toEqual([
      ['/app/a.ts', '/app', 3, 1, 1, 1],
      ['/app/a.ts', '/other', 1, 1, 0, 0],
    ]);
    expect(totals).toMatchObject({ files: 2, calls: 4, reads: 2, edits: 1, sessions: 2 });
  });

  it('are counted by program', async () => {
    const { rows, totals } = await readProgramsReport(pool.database, await toFilter(), { limit });
    expect(
      rows.map(({ program, calls, errors, duration_p95_ms }) => [program, calls, errors, duration_p95_ms]),
    ).toEqual([
      ['git', 2, 1, 30],
      ['npm', 1, 0, null],
      ['rm', 1, 1, 1000],
    ]);
    expect(totals).toMatchObject({ programs: 3, calls: 4 });
  });

  it('are counted by MCP server and skill', async () => {
    const servers = await readMcpServersReport(pool.database, await toFilter(), { limit });
    expect(servers.rows).toMatchObject([{ mcp_server: 'docs', calls: 2, tools: 2 }]);
    const skills = await readSkillsReport(pool.database, await toFilter(), { limit });
    expect(skills.rows).toMatchObject([{ skill_name: 'release', calls: 1 }]);
    expect(skills.totals).toMatchObject({ skills: 1, calls: 1 });
  });

  it('are listed if one was denied', async () => {
    const { rows, totals } = await readPermissionDenialsReport(pool.database, await toFilter(), { limit });
    expect(rows).toEqual([
      { tool: 'Bash', program: 'rm', denied: 1, calls: 1, denial_rate: 1, sessions: 1 },
      { tool: 'Task', program: null, denied: 1, calls: 2, denial_rate: 0.5, sessions: 1 },
    ]);
    expect(totals).toEqual({ denied: 2, calls: 13, denial_rate: 2 / 13, sessions: 1 });
  });
});

describe('sub-agents and events', () => {
  it('attributes sub-agents to the type that the call names, and to their parent', async () => {
    const page = { groupBy: ['session'] as const, limit };
    const { rows } = await readSubagentsReport(pool.database, await toFilter(), page);
    expect(rows).toMatchObject([
      {
        session: 'main',
        subagent_type: 'explorer',
        calls: 2,
        denied: 1,
        parents: 1,
        subagents: 1,
        responses: 2,
        cost_usd: 0.05,
        mean_cost_usd: 0.05,
        unpriced: { responses: 1, tokens: 20 },
      },
    ]);
    expect(rows).toHaveLength(1);
  });

  it('counts compactions by trigger, and copies once', async () => {
    const { rows, totals } = await readCompactionsReport(pool.database, await toFilter(), { limit });
    expect(rows).toEqual([
      { trigger: 'auto', compactions: 2, sessions: 1, pre_tokens_p50: 150_000, pre_tokens_max: 170_000 },
      { trigger: 'manual', compactions: 1, sessions: 1, pre_tokens_p50: null, pre_tokens_max: null },
    ]);
    expect(totals.compactions).toBe(3);
  });

  it('counts API errors and retries', async () => {
    const page = { groupBy: ['day'] as const, limit };
    const { rows } = await readApiErrorsReport(pool.database, await toFilter(), page);
    expect(rows).toEqual([
      { day: '2026-05-04', error: 'overloaded_error', errors: 1, retries: 2, sessions: 1, retry_wait_ms: 1500 },
    ]);
  });

  it('gives pull requests the cost of their sessions, sub-agents included; totals count a session once', async () => {
    const { rows, totals } = await readPullRequestsReport(pool.database, await toFilter(), { limit });
    expect(rows).toMatchObject([
      { url: PULL_REQUEST, number: 7, repository: 'ada/app', sessions: 2, responses: 7, cost_usd: 0.7500000003 },
      { url: `${PULL_REQUEST}0`, number: null, repository: null, sessions: 1, cost_usd: 0.4 },
    ]);
    expect(rows[0]).toMatchObject({
      first_linked: '2026-05-04T10:00:00.000Z',
      last_linked: '2026-05-11T23:30:00.000Z',
    });
    expect(totals).toMatchObject({
      pull_requests: 2,
      sessions: 2,
      cost_usd: 0.7500000003,
      mean_cost_usd: 0.3750000002,
    });
    const first = await readPullRequestsReport(pool.database, await toFilter({ to: '2026-05-05' }), { limit });
    expect(first.rows).toMatchObject([{ url: PULL_REQUEST, sessions: 1, cost_usd: 0.3500000003 }]);
  });
});

describe('blocks', () => {
  const hours = (...timestamps: string[]) =>
    timestamps.map((time, index) => ({ timestamp: `2026-07-${time}:00.000Z`, tokens_out: 2 ** index, cost_usd: 1 }));

  // A separate database, because its responses must not count in other reports.
  let pool: Awaited<ReturnType<typeof createTestPool>>;
  beforeAll(async () => {
    pool = await createTestPool();
    await insertTestFleet(pool, [
      {
        session_id: 'blocks',
        agent: 'amp',
        project: '/blocks',
        // The first block ends at 15:00; the second begins with the next response after it.
        responses: [
          ...hours('01T10:50', '01T14:59', '01T15:00', '01T19:30', '01T20:10', '02T09:05'),
          { timestamp: null, tokens_out: 1000 },
        ],
      },
    ]);
    await copyToOtherTenant(pool, 'blocks');
  });
  afterAll(() => pool.close());

  const read = async (request: Partial<ReportRequest> = {}) => {
    const { rows, totals } = await readBlocksReport(pool.database, await toFilter(request), { limit });
    return { blocks: rows.map(({ start, end, tokens_out }) => [start, end, tokens_out]), totals, rows };
  };

  it('begin at the hour of the first response after the previous one’s end', async () => {
    const { blocks, totals, rows } = await read({ agent: 'amp' });
    expect(blocks).toEqual([
      ['2026-07-01T10:00:00.000Z', '2026-07-01T15:00:00.000Z', 3],
      ['2026-07-01T15:00:00.000Z', '2026-07-01T20:00:00.000Z', 12],
      ['2026-07-01T20:00:00.000Z', '2026-07-02T01:00:00.000Z', 16],
      ['2026-07-02T09:00:00.000Z', '2026-07-02T14:00:00.000Z', 32],
    ]);
    expect(totals).toMatchObject({ blocks: 4, responses: 6, cost_usd: 6 });
    expect(rows[0]).toMatchObject({ sessions: 1, models: ['claude-opus-5'] });
  });

  it('are whole, and the same for any time range', async () => {
    const request = { agent: 'amp', from: '2026-07-01T14:00:00Z', to: '2026-07-01T20:00:00Z' };
    expect((await read(request)).blocks).toEqual([['2026-07-01T15:00:00.000Z', '2026-07-01T20:00:00.000Z', 12]]);
    expect((await read({ agent: 'amp', from: '2027-01-01' })).totals).toMatchObject({ blocks: 0, responses: 0 });
  });
});

// They are read by different statements. Up to a hundred days, rows are looked up by the sessions and events of the
// time.
it.each<[string, (filter: ReportFilter) => Promise<unknown>]>([
  ['usage by project', (filter) => readUsageReport(pool.database, filter, { groupBy: ['project', 'model'], limit })],
  ['sessions', (filter) => readSessionsReport(pool.database, filter, { limit, idleThresholdMs })],
  [
    'sessions by day',
    (filter) => readSessionsReport(pool.database, filter, { groupBy: ['day'], limit, idleThresholdMs }),
  ],
  ['expensive sessions', (filter) => listExpensiveSessions(pool.database, filter, { idleThresholdMs, top: 10 })],
  ['sub-agents', (filter) => readSubagentsReport(pool.database, filter, { limit })],
  ['sub-agents by project', (filter) => readSubagentsReport(pool.database, filter, { groupBy: ['project'], limit })],
  ['compactions', (filter) => readCompactionsReport(pool.database, filter, { groupBy: ['project'], limit })],
  ['API errors', (filter) => readApiErrorsReport(pool.database, filter, { limit })],
  ['pull requests', (filter) => readPullRequestsReport(pool.database, filter, { limit })],
  ['findings', (filter) => readFindingsReport(pool.database, filter, { limit, ...FINDING_THRESHOLDS })],
  ['reconciliation', (filter) => readReconciliationReport(pool.database, filter, { limit })],
  ['caveats', (filter) => readCaveats(pool.database, filter)],
])('%s of a month equal a year’s with the same sessions', async (_name, read) => {
  for (const request of [{}, { project: '/app' }, { subagents: 'exclude' }] as const) {
    const month = await read(await toFilter({ ...request, from: '2026-05-01', to: '2026-06-01' }));
    expect(month).toEqual(await read(await toFilter({ ...request, from: '2025-06-01', to: '2026-06-01' })));
  }
});
