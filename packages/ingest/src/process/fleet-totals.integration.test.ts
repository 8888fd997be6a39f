import { deleteSession as deleteSessionRows, verifyUsage } from '@recount/db';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

type Line = Record<string, unknown>;

const toId = (prefix: string, index: number) => `${prefix}_${String(index).padStart(24, '0')}`;
const toTime = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/**
 * Two lines of one response, the first with a placeholder, with the results of its tool call between and after them.
 */
function toResponseLines(index: number): Line[] {
  const usage = { input_tokens: 3, cache_read_input_tokens: 100 + index, cache_creation_input_tokens: 7 };
  const line = (part: number, content: Line, message: object): Line => ({
    type: 'assistant',
    uuid: toId(`uuid${part}`, index),
    timestamp: toTime(10 * index + part),
    requestId: toId('req', index),
    cwd: '/home/ada/app',
    message: { id: toId('msg', index), role: 'assistant', model: 'claude-sonnet-4-5', content: [content], ...message },
  });
  return [
    line(0, { type: 'text', text: `answer ${index}` }, { usage: { ...usage, output_tokens: 1 } }),
    line(
      1,
      { type: 'tool_use', id: toId('toolu', index), name: 'Bash', input: { command: 'ls' } },
      { usage: { ...usage, output_tokens: 500 + index }, stop_reason: 'tool_use' },
    ),
    {
      type: 'user',
      uuid: toId('uuid2', index),
      timestamp: toTime(10 * index + 2),
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: toId('toolu', index), content: 'ok' }] },
    },
  ];
}

/** A file that repeats some of the responses' lines, in any order, as forks, resumes, side chains and copies do. */
interface MadeFile {
  name: number;
  /** Responses, with their lines in the order given by `order`. */
  responses: { index: number; order: readonly number[] }[];
  isFork: boolean;
}

function toText({ name, responses, isFork }: MadeFile): string {
  const mark: Line = isFork ? { forkedFrom: { sessionId: 'elsewhere', messageUuid: 'x' } } : {};
  const lines = responses.flatMap(({ index, order }) => {
    const of = toResponseLines(index);
    return order.map((position): Line => of[position] ?? {});
  });
  return lines.map((line) => `${JSON.stringify({ ...line, ...mark, sessionId: `session-${name}` })}\n`).join('');
}

async function readTotals() {
  const { pool } = installation.database;
  const [{ rows: usage }, { rows: tools }] = await Promise.all([
    pool.query(
      `SELECT count(*)::int AS responses, sum(tokens_in)::int AS tokens_in, sum(tokens_out)::int AS tokens_out,
              sum(cache_read)::int AS cache_read, sum(cost_usd)::text AS cost_usd FROM recount.usage_ledger`,
    ),
    pool.query(`SELECT coalesce(sum(calls), 0)::int AS calls FROM recount.tool_day_rollup`),
  ]);
  return { ...usage[0], ...tools[0] };
}

async function clear(): Promise<void> {
  const { rows } = await installation.database.pool.query('SELECT DISTINCT session_id FROM recount.transcripts');
  for (const { session_id } of rows) {
    await installation.database.withTransaction((transaction) =>
      deleteSessionRows(transaction, TEST_WORKSPACE, session_id),
    );
  }
}

const RESPONSES = 6;
const orderArbitrary = fc.shuffledSubarray([0, 1, 2], { minLength: 1 });
const fileArbitrary: fc.Arbitrary<MadeFile> = fc.record({
  name: fc.nat(3),
  responses: fc.array(fc.record({ index: fc.nat(RESPONSES - 1), order: orderArbitrary }), {
    minLength: 1,
    maxLength: 8,
  }),
  isFork: fc.boolean(),
});

describe('fleet totals', () => {
  it('are the same however a set of responses is split, repeated, interleaved and uploaded', async () => {
    // Complete responses in a single file give the expected result.
    await installation.receive(
      toText({
        name: 99,
        isFork: false,
        responses: Array.from({ length: RESPONSES }, (_, index) => ({ index, order: [0, 1, 2] })),
      }),
    );
    await installation.work();
    const expected = await readTotals();
    expect(expected).toMatchObject({ responses: RESPONSES, calls: RESPONSES });

    const filesArbitrary = fc.array(fileArbitrary, { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(filesArbitrary, fc.infiniteStream(fc.nat()), async (files, ranks) => {
        await clear();
        // Each response is complete in some file, whatever parts of it other files have.
        const whole = Array.from({ length: RESPONSES }, (_, index) => ({
          name: 10 + (index % 2),
          isFork: false,
          responses: [{ index, order: [0, 2, 1] }],
        }));
        const uploads = [...files, ...whole, ...files.slice(0, 2)]
          .map((file) => ({ file, rank: ranks.next().value ?? 0 }))
          .sort((a, b) => a.rank - b.rank);
        for (const { file, rank } of uploads) {
          await installation.receive(toText(file));
          if (rank % 2 === 0) await installation.work();
        }
        await installation.work();
        expect(await readTotals()).toEqual(expected);
        const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
        for (const check of checks) expect(check).toMatchObject({ missing: 0, surplus: 0 });
      }),
    );
  });
});
