import { findLiveSession } from '@recount/db';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';
import { newStreamId, openLiveWriter } from './open-live-writer.ts';

const LIMITS = { maxOpenStreams: 10, maxBytes: 50_000_000 };
const HOURS = 20;
const STEPS_PER_HOUR = 10;
const RESPONSES_PER_STEP = 50;
const STEPS_PER_CONNECTION = 30;
const STEP_MS = 3_600_000 / STEPS_PER_HOUR;
const DAY_MS = 86_400_000;
/** Noon of tomorrow. By the database's clock, lines cannot arrive before the stream was opened. */
const START_MS = (Math.floor(Date.now() / DAY_MS) + 1.5) * DAY_MS;
const RESPONSES_PER_HOUR = STEPS_PER_HOUR * RESPONSES_PER_STEP;

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

/** Lines as Claude Code streams them, without times. */
const toAnswer = (index: number): string =>
  `${JSON.stringify({
    type: 'assistant',
    session_id: 's',
    message: {
      id: `msg_${index}`,
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text: `answer ${index}` }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 100, cache_read_input_tokens: 1000 },
    },
  })}\n`;

it(`a stream of ${HOURS} hours with reconnections has every response once, on the day of its arrival`, async () => {
  let nowMs = START_MS;
  const deps = { ...installation, now: () => nowMs };
  const streamId = newStreamId();
  let writer: Awaited<ReturnType<typeof openLiveWriter>> | undefined;
  let bytes = 0;
  for (let step = 0; step < HOURS * STEPS_PER_HOUR; step += 1) {
    nowMs = START_MS + step * STEP_MS;
    if (writer === undefined || step % STEPS_PER_CONNECTION === 0) {
      const stream = { workspaceId: TEST_WORKSPACE, uploaderKeyId: 'key', streamId, sessionId: 's' };
      writer = await openLiveWriter(deps, { ...stream, agent: 'claude-code', offset: bytes }, LIMITS);
    }
    const lines = Array.from({ length: RESPONSES_PER_STEP }, (_, index) => toAnswer(step * RESPONSES_PER_STEP + index));
    const chunk = Buffer.from(lines.join(''));
    await writer.append(chunk);
    await writer.flush();
    bytes += chunk.length;
  }
  await writer?.end({});
  const responses = HOURS * RESPONSES_PER_HOUR;
  const sums = { tokens_in: 10 * responses, tokens_out: 100 * responses, cache_read: 1000 * responses };
  const { database } = installation.database;
  expect(await findLiveSession(database, { workspaceId: TEST_WORKSPACE, sessionId: 's' })).toMatchObject({
    stream_count: 1,
    ...sums,
  });

  await installation.work();
  const { rows } = await installation.database.pool.query(
    `SELECT to_char("timestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, count(*)::int AS responses,
            sum(tokens_in)::int AS tokens_in
     FROM recount.usage_ledger GROUP BY 1 ORDER BY 1`,
  );
  const toDay = (dayMs: number, hours: number) => ({
    day: new Date(dayMs).toISOString().slice(0, 10),
    responses: hours * RESPONSES_PER_HOUR,
    tokens_in: 10 * hours * RESPONSES_PER_HOUR,
  });
  expect(rows).toEqual([toDay(START_MS, 12), toDay(START_MS + DAY_MS, 8)]);
});
