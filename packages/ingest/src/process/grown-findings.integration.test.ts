import { deleteSession as deleteSessionRows, verifyUsage } from '@recount/db';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

/** Little varies, so that much is repeated. */
interface MadeCall {
  tool: 'read' | 'edit' | 'shell';
  /** A part of its input, either the file, or the command. */
  input: number;
  /** Lines of other steps between the call and its result; null means that it never comes. */
  resultAfter: number | null;
  /** Null means that it succeeds. Three errors are of one length, where the last has the smallest hash. */
  error: 'abc' | 'abd' | 'xhl' | 'longer' | null;
  /** Another result of the second time, which comes that many lines later. */
  copyAfter: number | null;
  /** Calls of other responses have this id as well. */
  hasShortId: boolean;
  /** Another call on the same line, the same as this one; before an edit a read of the file. */
  isTwice: boolean;
  isSidechain: boolean;
  /** The number of times in a row. */
  times: number;
  pauseMinutes: number;
  cacheWrite: number;
  cacheRead: number;
}

const madeCall: fc.Arbitrary<MadeCall> = fc.record({
  tool: fc.constantFrom('read', 'read', 'read', 'edit', 'shell', 'shell'),
  input: fc.nat(1),
  resultAfter: fc.constantFrom(0, 0, 0, 0, 0, 1, 2, 9, null),
  error: fc.constantFrom(null, null, null, null, null, 'abc', 'abc', 'abd', 'xhl', 'longer'),
  copyAfter: fc.constantFrom(null, null, null, null, 1, 90, 150, 200),
  hasShortId: fc.constantFrom(false, false, false, false, true),
  isTwice: fc.constantFrom(false, false, false, true),
  isSidechain: fc.constantFrom(false, false, false, true),
  times: fc.integer({ min: 1, max: 9 }),
  pauseMinutes: fc.constantFrom(0, 0, 0, 1, 6, 70),
  cacheWrite: fc.constantFrom(0, 500, 900),
  cacheRead: fc.constantFrom(0, 400),
});

type Fields = Record<string, unknown>;

/** Lines of a session but for its name. */
function toLines(groups: readonly MadeCall[]): Fields[] {
  const calls = groups.flatMap(({ copyAfter, pauseMinutes, ...call }) =>
    Array.from({ length: call.times }, (_, time) => ({
      ...call,
      ...{ copyAfter: time === 1 ? copyAfter : null, pauseMinutes: time === 0 ? pauseMinutes : 0 },
    })),
  );
  const dueAt = new Map<number, Fields[]>();
  const lines: Fields[] = [];
  let timeMs = Date.UTC(2026, 0, 1, 20);
  const add = (fields: Fields): void => {
    timeMs += 1000;
    lines.push({ timestamp: new Date(timeMs).toISOString(), uuid: `uuid-${lines.length}`, ...fields });
    const due = dueAt.get(lines.length);
    dueAt.delete(lines.length);
    for (const result of due ?? []) add(result);
  };
  const addAfter = (count: number, fields: Fields): void => {
    dueAt.set(lines.length + count, [...(dueAt.get(lines.length + count) ?? []), fields]);
  };
  add({ type: 'user', message: { role: 'user', content: 'prompt' } });
  for (const [index, call] of calls.entries()) {
    timeMs += call.pauseMinutes * 60_000;
    const ids = (call.isTwice ? ['a', 'b'] : ['a']).map((part) =>
      call.hasShortId ? `call-${index % 3}-${part}` : `toolu_${String(index).padStart(20, '0')}${part}`,
    );
    const { isSidechain } = call;
    for (const id of ids) {
      const content = [
        { type: 'tool_result', tool_use_id: id, content: call.error ?? 'ok', is_error: call.error !== null },
      ];
      const result = { type: 'user', isSidechain, message: { role: 'user', content } };
      if (call.resultAfter !== null) addAfter(1 + call.resultAfter, result);
      if (call.copyAfter !== null) {
        const other = { ...content[0], content: 'xhl' };
        addAfter(1 + call.copyAfter, { ...result, message: { role: 'user', content: [other] } });
      }
    }
    add({ type: 'assistant', isSidechain, requestId: `req-${index}`, message: toAnswer(call, index, ids) });
  }
  return lines;
}

function toAnswer({ tool, input, cacheRead, cacheWrite }: MadeCall, index: number, ids: readonly string[]): Fields {
  const uses = {
    read: { name: 'Read', input: { file_path: `/file-${input}` } },
    edit: { name: 'Edit', input: { file_path: `/file-${input}`, old_string: 'a', new_string: 'b' } },
    shell: { name: 'Bash', input: { command: `make ${input}` } },
  };
  return {
    id: `msg_${String(index).padStart(24, '0')}`,
    role: 'assistant',
    model: index % 40 === 39 ? 'claude-opus-4-5' : 'claude-sonnet-4-5',
    content: ids.map((id, place) => ({
      type: 'tool_use',
      id,
      ...uses[place < ids.length - 1 && tool === 'edit' ? 'read' : tool],
    })),
    usage: {
      ...{ input_tokens: 3, output_tokens: 7 },
      ...{ cache_creation_input_tokens: cacheWrite, cache_read_input_tokens: cacheRead },
    },
    stop_reason: 'tool_use',
  };
}

/** Copies in another session are of the same responses, and are credited where they are older. */
function toText(session: string, lines: readonly Fields[], minutesLater = 0): string {
  return lines
    .map((line) => {
      const timestamp = new Date(Date.parse(String(line.timestamp)) + minutesLater * 60_000).toISOString();
      return `${JSON.stringify({ ...line, sessionId: session, timestamp })}\n`;
    })
    .join('');
}

async function upload(text: string): Promise<boolean> {
  const { transcript } = await installation.receive(text);
  await installation.work();
  const stored = await installation.find(transcript.id);
  expect(stored?.status).toBe('ingested');
  return stored?.row_set_id !== transcript.id;
}

async function readFindings(): Promise<unknown[]> {
  const { rows } = await installation.database.pool.query<{ row: string }>(
    `SELECT (to_jsonb(f) - 'row_set_id')::text AS row FROM recount.findings AS f ORDER BY 1`,
  );
  return rows.map(({ row }) => row);
}

async function expectVerified(): Promise<void> {
  for (const check of await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE))) {
    expect(check).toMatchObject({ missing: 0, surplus: 0 });
  }
}

async function clear(): Promise<void> {
  for (const session of ['grown', 'copy']) {
    await installation.database.withTransaction((transaction) =>
      deleteSessionRows(transaction, TEST_WORKSPACE, session),
    );
  }
}

it('findings of a session that grew, split anywhere, equal the findings of one uploaded whole', async () => {
  const session = fc.record({
    calls: fc.array(madeCall, { minLength: 30, maxLength: 45, size: 'max' }),
    /** Places of the cuts, where the first leaves more messages than a checkpoint keeps open. */
    cuts: fc.array(fc.double({ min: 0.7, max: 1, noNaN: true }), { minLength: 2, maxLength: 5 }),
    copy: fc.option(
      fc.record({ from: fc.nat(250), count: fc.integer({ min: 1, max: 60 }), minutesLater: fc.constantFrom(-9999, 1) }),
    ),
  });
  let resumedCount = 0;
  await fc.assert(
    fc.asyncProperty(session, async ({ calls, cuts, copy }) => {
      await clear();
      const lines = toLines(calls);
      const ends = [...cuts.map((cut) => Math.floor(cut * lines.length)), lines.length].sort((a, b) => a - b);
      const uploadCopy = async (): Promise<void> => {
        if (copy === null) return;
        const from = copy.from % lines.length;
        await upload(toText('copy', lines.slice(from, from + copy.count), copy.minutesLater));
      };
      for (const [index, end] of ends.entries()) {
        if (index === 2) await uploadCopy();
        if (await upload(toText('grown', lines.slice(0, end)))) resumedCount++;
        await expectVerified();
      }
      const found = await readFindings();
      await clear();
      await upload(toText('grown', lines));
      await uploadCopy();
      expect(found).toEqual(await readFindings());
    }),
  );
  expect(resumedCount).toBeGreaterThan(0);
});

const FAILED: MadeCall = {
  ...{ tool: 'shell', input: 0, resultAfter: 0, error: 'abc', copyAfter: null, times: 3, hasShortId: true },
  ...{ isTwice: false, isSidechain: false, pauseMinutes: 0, cacheWrite: 0, cacheRead: 0 },
};

/** More messages than a checkpoint keeps open, without errors. */
const OTHERS = Array.from({ length: 147 }, (_, index): MadeCall => {
  const tool = index % 2 === 0 ? 'read' : 'edit';
  return { ...FAILED, tool, error: null, times: 1, hasShortId: false };
});

const countErrors = async (): Promise<number> =>
  (await readFindings()).filter((finding) => String(finding).includes('repeated-error')).length;

it('compares errors again if a call of another response has an earlier one’s id and text', async () => {
  await clear();
  const lines = toLines([FAILED, ...OTHERS, { ...FAILED, times: 1, error: 'xhl' }]);
  await upload(toText('grown', lines.slice(0, -2)));
  expect(await countErrors()).toBe(1);
  expect(await upload(toText('grown', lines))).toBe(true);
  await expectVerified();
  expect(await countErrors()).toBe(0);
});

it('does not join errors of different lengths to one run if a later text makes them equal', async () => {
  await clear();
  const longer: MadeCall = { ...FAILED, error: 'longer' };
  const ofOneLength: MadeCall = { ...FAILED, error: 'xhl', hasShortId: false };
  // Ids of the longer ones come again, with the text of those before them, which is the least of each id's texts.
  const lines = toLines([ofOneLength, longer, ...OTHERS, { ...FAILED, error: 'xhl' }]);
  await upload(toText('grown', lines.slice(0, -6)));
  expect(await countErrors()).toBe(2);
  expect(await upload(toText('grown', lines))).toBe(true);
  await expectVerified();
  expect(await countErrors()).toBe(3);
});
