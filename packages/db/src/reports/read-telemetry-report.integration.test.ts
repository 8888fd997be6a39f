import type { TelemetryRecord } from '@recount/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deleteSession } from '../sessions/delete-session.ts';
import { storeTelemetry } from '../telemetry/telemetry-records.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { insertTestFleet } from '../testing/insert-test-fleet.ts';
import { type ReportRequest, resolveReportFilter } from './index.ts';
import { readTelemetryReport } from './read-telemetry-report.ts';

const at = (minute: number, day = 1): string => new Date(Date.UTC(2026, 2, day, 10, minute)).toISOString();

const toRecord = (
  sessionId: string,
  minute: number,
  tokens: number,
  changes: Partial<TelemetryRecord> = {},
): TelemetryRecord => ({
  agent: 'claude-code',
  kind: 'request',
  sessionId,
  requestId: null,
  model: 'claude-opus-5-5',
  purpose: null,
  timestampMs: Date.parse(at(minute)),
  inputTokens: tokens,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 1,
  person: null,
  machine: null,
  identity: `${sessionId} ${minute} ${tokens} ${changes.requestId ?? ''}`,
  ...changes,
});

const toResponse = (minute: number, tokens_in: number, changes: object = {}) => ({
  timestamp: at(minute),
  tokens_in,
  cost_usd: 1,
  model: 'claude-opus-5-5',
  ...changes,
});

let pool: Awaited<ReturnType<typeof createTestPool>>;
beforeAll(async () => {
  pool = await createTestPool();
  await insertTestFleet(pool, [
    {
      ...{ session_id: 'both', first_timestamp: at(0), person: 'ada', machine: 'laptop', repository: 'api' },
      responses: [
        toResponse(0, 10, { request_id: 'req_1' }),
        toResponse(1, 20, { provider_message_id: 'msg_2' }),
        toResponse(2, 30, { request_id: 'req_3' }),
        // Twice the same tokens, without any id.
        toResponse(3, 40),
        toResponse(4, 40),
        // Telemetry lost it.
        toResponse(5, 50, { cost_usd: 2 }),
      ],
    },
    {
      ...{ session_id: 'part', parent_session_id: 'both', is_subagent: true, first_timestamp: at(6), person: 'ada' },
      responses: [toResponse(6, 60)],
    },
    {
      ...{ session_id: 'metrics', first_timestamp: at(0), person: 'bob' },
      responses: [toResponse(0, 70), toResponse(1, 70)],
    },
    { session_id: 'fork of unseen', first_timestamp: at(0), person: 'eve' },
    {
      ...{ session_id: 'unseen', first_timestamp: at(0), person: 'eve' },
      responses: [toResponse(0, 80, { cost_usd: 4, copiedTo: ['fork of unseen'] })],
    },
    {
      session_id: 'silent',
      agent: 'codex',
      first_timestamp: at(0),
      responses: [toResponse(0, 90, { agent: 'codex' })],
    },
  ]);
  await storeTelemetry(pool.database, TEST_WORKSPACE, [
    toRecord('both', 0, 10, { requestId: 'req_1' }),
    toRecord('both', 1, 20, { requestId: 'msg_2' }),
    toRecord('both', 2, 31, { requestId: 'req_3' }),
    toRecord('both', 3, 40),
    toRecord('both', 4, 40),
    // A request of the sub-agent, under the session of the main conversation.
    toRecord('both', 6, 60),
    // In no transcript, for example a title.
    toRecord('both', 7, 5, { costUsd: 0.25, purpose: 'compact' }),
    toRecord('gone', 0, 100, { person: 'eve', machine: 'desktop', costUsd: 8 }),
    toRecord('gone', 1, 100, { person: 'eve', machine: 'desktop', costUsd: null, model: 'other' }),
    toRecord('metrics', 1, 140, { kind: 'sum', costUsd: null }),
    toRecord('metrics', 1, 0, { kind: 'sum', costUsd: 2, identity: 'cost' }),
    // A session with requests has its metrics twice.
    toRecord('both', 5, 1000, { kind: 'sum' }),
  ]);
});
afterAll(() => pool.close());

async function report(
  groupBy: Parameters<typeof readTelemetryReport>[2]['groupBy'],
  request: Partial<ReportRequest> = {},
) {
  const base = { timeZone: 'UTC', subagents: 'include' as const, ...request };
  const { filter } = await resolveReportFilter(pool.database, TEST_WORKSPACE, base);
  return await readTelemetryReport(pool.database, filter, { groupBy, limit: 100 });
}

describe('the report on telemetry', () => {
  it('matches requests by id and else by tokens, and names what only one side has', async () => {
    const { totals, only_in_telemetry } = await report(['day']);
    expect(only_in_telemetry).toEqual([{ agent: 'claude-code', purpose: 'compact', requests: 1, cost_usd: 0.25 }]);
    expect(totals).toEqual({
      telemetry_sessions: 3,
      missing_sessions: 1,
      requests: 9,
      matched_requests: 6,
      differing_requests: 1,
      telemetry_only_requests: 3,
      transcript_only_requests: 1,
      unseen_sessions: 1,
      unseen_responses: 1,
      telemetry_tokens: 10 + 20 + 31 + 40 + 40 + 60 + 5 + 200 + 140,
      transcript_tokens: 10 + 20 + 30 + 40 + 40 + 50 + 60 + 140,
      telemetry_cost_usd: 6 + 0.25 + 8 + 2,
      transcript_cost_usd: 5 + 2 + 1 + 2,
      missing_cost_usd: 8,
      telemetry_only_cost_usd: 8.25,
      transcript_only_cost_usd: 2,
      unseen_cost_usd: 4,
    });
  });

  it('has a row for each group, with the person and the machine that telemetry names for missing sessions', async () => {
    const { rows } = await report(['person', 'machine']);
    const list = rows.map(({ person, machine, requests, missing_sessions, unseen_sessions }) => [
      ...[person, machine, requests, missing_sessions, unseen_sessions],
    ]);
    expect(list).toEqual([
      ['eve', 'desktop', 2, 1, 0],
      // The sub-agent's session names no machine.
      ['ada', 'laptop', 6, 0, 0],
      ['bob', null, 0, 0, 0],
      ['ada', null, 1, 0, 0],
      ['eve', null, 0, 0, 1],
    ]);
    const models = await report(['model']);
    expect(models.rows.map(({ model, telemetry_cost_usd }) => [model, telemetry_cost_usd])).toEqual([
      ['claude-opus-5-5', 16.25],
      ['other', null],
    ]);
  });

  it('finds a request and its response on both sides of the time asked for', async () => {
    // The request is at minute 2, the response of the same id as well; only the later half is asked for.
    const { totals } = await report(['day'], { from: at(3), to: at(7) });
    expect(totals).toMatchObject({
      requests: 3,
      matched_requests: 3,
      transcript_only_requests: 1,
      missing_sessions: 0,
    });
  });

  it.each([
    [{ person: ['ada'] }, { requests: 7, missing_sessions: 0, unseen_sessions: 0 }],
    [{ sessionId: 'both' }, { requests: 6, missing_sessions: 0, telemetry_cost_usd: 5.25 }],
    [{ subagents: 'only' as const }, { requests: 1, matched_requests: 1 }],
    [{ repository: ['api'] }, { requests: 6, missing_sessions: 0 }],
    [{ agent: ['codex'] }, { requests: 0, telemetry_cost_usd: 0, unseen_sessions: 0 }],
  ])('applies the filter %j', async (request, expected) => {
    expect((await report(['day'], request)).totals).toMatchObject(expected);
  });

  it('groups by the days of the time zone', async () => {
    const { rows } = await report(['day'], { timeZone: 'Pacific/Kiritimati' });
    expect(rows.map(({ day }) => day)).toEqual(['2026-03-02']);
  });

  it('loses what telemetry says about a session with the session', async () => {
    const { totals: before } = await report(['day']);
    await insertTestFleet(pool, [{ session_id: 'short', first_timestamp: at(0), responses: [toResponse(0, 10)] }]);
    await storeTelemetry(pool.database, TEST_WORKSPACE, [toRecord('short', 0, 10)]);
    expect((await report(['day'])).totals).toMatchObject({ telemetry_sessions: before.telemetry_sessions + 1 });
    await pool.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'short'));
    expect((await report(['day'])).totals).toEqual(before);
  });
});
