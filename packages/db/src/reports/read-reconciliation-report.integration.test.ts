import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DatabasePool } from '../database/database.ts';
import { copyToOtherTenant } from '../testing/copy-to-other-tenant.ts';
import { createTestPool, OTHER_WORKSPACE, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { ingestTranscript } from '../testing/ingest-transcript.ts';
import { readReconciliationReport, resolveReportFilter } from './index.ts';

let pool: DatabasePool;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

const PARENT = '11111111-2222-4333-8444-555555555555';

/** A response that costs `outputTokens` times 15 millionths of a dollar. */
const toMessage = (id: number, outputTokens: number) => ({
  id: `msg_${String(id).padStart(24, '0')}`,
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  stop_reason: 'end_turn',
  content: [],
  usage: { input_tokens: 0, output_tokens: outputTokens },
});

async function ingest(
  transcriptId: string,
  path: string,
  lines: readonly object[],
  workspaceId = TEST_WORKSPACE,
): Promise<void> {
  const bytes = Buffer.from(lines.map((line) => `${JSON.stringify({ sessionId: PARENT, ...line })}\n`).join(''));
  await ingestTranscript(pool, { workspaceId, transcriptId }, { path, bytes });
}

it('does not treat a transcript of another workspace as a sub-agent’s', async () => {
  const lone = '22222222-2222-4333-8444-555555555555';
  const timestamp = '2026-02-01T00:00:00.000Z';
  const answer = { type: 'assistant', timestamp, message: toMessage(11, 100_000) };
  const told = {
    type: 'progress',
    timestamp,
    data: { type: 'agent_progress', agentId: 'a1', message: { type: 'assistant', message: toMessage(12, 200_000) } },
  };
  const total = { type: 'result', timestamp, total_cost_usd: 4.5 };
  const lines = [answer, told, total].map((line) => ({ ...line, sessionId: lone }));
  for (const workspaceId of [TEST_WORKSPACE, OTHER_WORKSPACE]) {
    await ingest('01J00000000000000000000021', `app/${lone}.jsonl`, lines, workspaceId);
  }
  const ofSubagent = { ...answer, isSidechain: true, agentId: 'a1', message: toMessage(12, 200_000), sessionId: lone };
  await ingest('01J00000000000000000000022', `app/${lone}/subagents/agent-a1.jsonl`, [ofSubagent], OTHER_WORKSPACE);
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, {
    timeZone: 'UTC',
    subagents: 'include',
    from: '2026-02-01',
    to: '2026-02-28',
  });
  const { rows } = await readReconciliationReport(pool.database, filter, { limit: 10 });
  expect(rows).toMatchObject([{ session_id: lone, computed_cost_usd: 4.5, subagent_cost_usd: 0, difference_usd: 0 }]);
});

it('counts a sub-agent’s response once if its parent’s transcript contains it too', async () => {
  const timestamp = '2026-01-01T00:00:00.000Z';
  const toProgress = (id: number, outputTokens: number) => ({
    type: 'progress',
    timestamp,
    data: {
      type: 'agent_progress',
      agentId: 'a1',
      message: { type: 'assistant', message: toMessage(id, outputTokens) },
    },
  });
  await ingest('01J00000000000000000000011', `app/${PARENT}.jsonl`, [
    { type: 'assistant', timestamp, message: toMessage(1, 100_000) },
    toProgress(2, 200_000),
    toProgress(3, 400_000),
    { type: 'result', timestamp, total_cost_usd: 22.5 },
  ]);
  await ingest('01J00000000000000000000012', `app/${PARENT}/subagents/agent-a1.jsonl`, [
    { type: 'assistant', timestamp, isSidechain: true, agentId: 'a1', message: toMessage(2, 200_000) },
    { type: 'assistant', timestamp, isSidechain: true, agentId: 'a1', message: toMessage(4, 800_000) },
  ]);
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, {
    timeZone: 'UTC',
    subagents: 'include',
    to: '2026-01-31',
  });
  const expected = [{ session_id: PARENT, computed_cost_usd: 22.5, subagent_cost_usd: 12, difference_usd: 0 }];
  expect((await readReconciliationReport(pool.database, filter, { limit: 10 })).rows).toMatchObject(expected);
  await copyToOtherTenant(pool, PARENT);
  expect((await readReconciliationReport(pool.database, filter, { limit: 10 })).rows).toMatchObject(expected);
});

it('sums what the figures of several sub-agents lack', async () => {
  const session = '33333333-2222-4333-8444-555555555555';
  const timestamp = '2026-03-01T00:00:00.000Z';
  const lines = [
    { type: 'assistant', timestamp, sessionId: session, message: toMessage(21, 100_000) },
    { type: 'result', timestamp, sessionId: session, total_cost_usd: 1.5 },
  ];
  await ingest('01J00000000000000000000031', `app/${session}.jsonl`, lines);
  for (const number of [1, 2]) {
    const placeholder = { ...toMessage(21 + number, number), stop_reason: null };
    const line = { type: 'assistant', timestamp, isSidechain: true, agentId: `a${number}`, sessionId: session };
    await ingest(`01J0000000000000000000004${number}`, `app/${session}/subagents/agent-a${number}.jsonl`, [
      { ...line, message: placeholder },
    ]);
  }
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, {
    timeZone: 'UTC',
    subagents: 'include',
    from: '2026-03-01',
  });
  const { rows } = await readReconciliationReport(pool.database, filter, { limit: 10 });
  expect(rows).toMatchObject([{ session_id: session, unfinalised_responses: 2, subagent_cost_usd: 0.000045 }]);
});
