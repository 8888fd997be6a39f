import { deleteSession as deleteSessionRows, refreshTotals, verifyUsage } from '@recount/db';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

interface MadeLine {
  /** A note is an answer without usage (a message, but no API response). */
  kind: 'prompt' | 'answer' | 'note' | 'call' | 'result' | 'progress';
  /** Number of the API response or tool call. Other lines and other sessions may have the same. */
  index: number;
  /** Steps since 23:00, five an hour, four minutes apart; null if the line has no time. */
  step: number | null;
  tokensOut: number;
  isFinal: boolean;
  isFork: boolean;
  isSidechain: boolean;
}

const toId = (prefix: string, index: number) => `${prefix}_${String(index).padStart(24, '0')}`;
const toTime = (step: number) =>
  new Date(Date.UTC(2026, 0, 1, 23 + Math.floor(step / 5), 4 * (step % 5))).toISOString();

function toText(session: string, lines: readonly MadeLine[]): string {
  const first: MadeLine = {
    ...{ kind: 'prompt', index: 0, step: 0, tokensOut: 1 },
    ...{ isFinal: true, isFork: false, isSidechain: false },
  };
  return [first, ...lines]
    .map((line, number) => `${JSON.stringify({ ...toFields(session, line), uuid: `${session}-${number}` })}\n`)
    .join('');
}

function toFields(session: string, line: MadeLine): Record<string, unknown> {
  const { kind, index, step, tokensOut } = line;
  const envelope = {
    sessionId: session,
    isSidechain: line.isSidechain,
    ...(step !== null && { timestamp: toTime(step) }),
    ...(line.isFork && { forkedFrom: { sessionId: 'elsewhere', messageUuid: 'x' } }),
  };
  const toolUseId = toId('toolu', index);
  const result = { type: 'tool_result', tool_use_id: toolUseId, content: 'ok', is_error: tokensOut % 3 === 0 };
  const tool = tokensOut % 2 === 0 ? 'Read' : 'Bash';
  const input = tool === 'Read' ? { file_path: `/file-${index % 2}` } : { command: `program-${tokensOut % 3} x` };
  const message = {
    id: toId('msg', index),
    role: 'assistant',
    model: index % 3 === 0 ? 'claude-opus-4-5' : 'claude-sonnet-4-5',
    content: [kind === 'call' ? { type: 'tool_use', id: toolUseId, name: tool, input } : { type: 'text', text: 'x' }],
    usage: { input_tokens: 3, output_tokens: tokensOut },
    stop_reason: line.isFinal ? 'end_turn' : null,
  };
  const assistant = { type: 'assistant', requestId: toId('req', index), message };
  switch (kind) {
    case 'note':
      return { ...envelope, type: 'assistant', message: { ...message, id: toId('note', index), usage: undefined } };
    case 'prompt':
      return { ...envelope, type: 'user', message: { role: 'user', content: 'prompt' } };
    case 'result':
      return { ...envelope, type: 'user', message: { role: 'user', content: [result] } };
    case 'progress':
      return {
        ...envelope,
        type: 'progress',
        data: { type: 'agent_progress', message: { ...envelope, ...assistant } },
      };
    default:
      return { ...envelope, ...assistant };
  }
}

const madeLine: fc.Arbitrary<MadeLine> = fc.record({
  kind: fc.constantFrom('prompt', 'answer', 'answer', 'note', 'note', 'call', 'call', 'result', 'progress'),
  index: fc.nat(7),
  step: fc.option(
    fc.oneof({ weight: 5, arbitrary: fc.nat(99) }, { weight: 1, arbitrary: fc.constantFrom(160, 280, 400) }),
    { freq: 20 },
  ),
  tokensOut: fc.integer({ min: 1, max: 9 }),
  isFinal: fc.boolean(),
  isFork: fc.boolean(),
  isSidechain: fc.boolean(),
});

/** More responses than a checkpoint keeps open; other sessions may have them as well. */
const CLOSING_LINES = Array.from(
  { length: 70 },
  (_, index): MadeLine => ({
    ...{ kind: 'answer', index: 100 + index, step: Math.floor(index / 4), tokensOut: 5 },
    ...{ isFinal: true, isFork: false, isSidechain: false },
  }),
);

const SESSIONS = ['a', 'b', 'c'] as const;

const ROLLUP_TABLES = ['usage', 'usage_day', 'tool_day', 'file_day', 'message', 'message_day'].map(
  (name) => `${name}_rollup`,
);

async function query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return (await installation.database.pool.query(text, values)).rows;
}

async function upload(session: string, text: string): Promise<boolean> {
  const { transcript } = await installation.receive(text);
  await installation.work();
  const stored = await installation.find(transcript.id);
  expect(stored).toMatchObject({ session_id: session, status: 'ingested' });
  return stored?.row_set_id !== transcript.id;
}

async function readDerived() {
  const rollups = await Promise.all(
    ROLLUP_TABLES.map(async (table) => {
      const rows = await query(`SELECT to_jsonb(r)::text AS row FROM recount.${table} AS r ORDER BY 1`);
      return [table, rows.map(({ row }) => row)] as const;
    }),
  );
  const sessions = await query(
    'SELECT session_id, active_ms, total_messages, api_response_count FROM recount.sessions ORDER BY session_id',
  );
  return { ...Object.fromEntries(rollups), sessions };
}

async function expectVerified(): Promise<void> {
  for (const check of await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE))) {
    expect(check).toMatchObject({ missing: 0, surplus: 0 });
  }
}

async function clear(): Promise<void> {
  for (const session of SESSIONS) {
    await installation.database.withTransaction((transaction) =>
      deleteSessionRows(transaction, TEST_WORKSPACE, session),
    );
  }
}

it('roll-ups of sessions that grow, and share responses, equal the roll-ups of sessions uploaded whole', async () => {
  const growth = fc.record({
    session: fc.constantFrom(...SESSIONS),
    lines: fc.array(madeLine, { minLength: 1, maxLength: 6 }),
    closes: fc.constantFrom(false, false, false, true),
    isRefreshed: fc.boolean(),
  });
  let resumedCount = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(growth, { minLength: 1, maxLength: 9 }), async (growths) => {
      await clear();
      const all = new Map<string, MadeLine[]>();
      for (const { session, lines, closes, isRefreshed } of growths) {
        if (isRefreshed) await refreshTotals(installation.database, TEST_WORKSPACE);
        const grown = [...(all.get(session) ?? []), ...lines, ...(closes ? CLOSING_LINES : [])];
        all.set(session, grown);
        if (await upload(session, toText(session, grown))) resumedCount++;
        await expectVerified();
      }
      const derived = await readDerived();
      await clear();
      for (const [session, lines] of all) await upload(session, toText(session, lines));
      expect(derived).toEqual(await readDerived());
    }),
  );
  expect(resumedCount).toBeGreaterThan(0);
});

it('counts usage without a time once, if everything added has none either', async () => {
  await clear();
  const untimed = (kind: MadeLine['kind'], index: number): MadeLine => ({
    ...{ kind, index, step: null, tokensOut: 5 },
    ...{ isFinal: true, isFork: false, isSidechain: false },
  });
  const beginning = [untimed('answer', 1), untimed('note', 2), untimed('call', 3)];
  await upload('a', toText('a', beginning));
  expect(await upload('a', toText('a', [...beginning, untimed('note', 4), untimed('prompt', 5)]))).toBe(true);
  await expectVerified();
});
