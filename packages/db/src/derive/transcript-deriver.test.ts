import { type ParseOptions, ResumeError, streamTranscript, type TranscriptBatch } from '@recount/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { madeLines, toMadeTranscript } from '../testing/made-conversation.ts';
import type { DerivedRows, ReplacedRows } from './derived-rows.ts';
import { TranscriptDeriver } from './transcript-deriver.ts';

const ORIGIN = {
  ...{ workspaceId: 'w', sessionId: 's', rowSetId: 'r', agent: 'claude-code', priceVersion: '1' },
  ...{ isSubagent: false, isStream: false, sentRepository: null },
};

const toAnswer = (index: number, content: object[] = []) => ({
  ...{ type: 'assistant', sessionId: 's', uuid: `uuid-${index}`, timestamp: '2026-01-01T00:00:00.000Z' },
  message: {
    ...{ id: `msg_${String(index).padStart(24, '0')}`, role: 'assistant', model: 'm', content },
    usage: { input_tokens: 1, output_tokens: 1 },
  },
});

const toText = (lines: readonly object[]) => Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

async function derive(lines: readonly object[]) {
  const deriver = new TranscriptDeriver(ORIGIN);
  for await (const batch of streamTranscript('s', toText(lines))) {
    deriver.add(batch);
    if (batch.summary !== undefined) return deriver.finish(batch.summary);
  }
  throw new Error('The last batch has a summary');
}

it('leaves transcripts to SQL that have more responses or calls than it keeps in memory', async () => {
  const tool = { type: 'tool_use', id: 'toolu_000000000000000000000001', name: 'Bash', input: {} };
  const batches: TranscriptBatch[] = [];
  for await (const batch of streamTranscript('s', toText([toAnswer(1, [tool])]))) batches.push(batch);
  const [batch] = batches;
  if (batch?.summary === undefined) throw new Error('One batch holds all of a short transcript');
  const { summary, apiResponses, toolCalls } = batch;
  const repeat = <Row>(rows: readonly Row[], name: keyof Row, count: number): Row[] =>
    Array.from({ length: count }, (_, index) => rows.map((row) => ({ ...row, [name]: `${index}` }))).flat();
  const deriveMany = (responses: number, calls: number) => {
    const deriver = new TranscriptDeriver(ORIGIN);
    const many = { apiResponses: repeat(apiResponses, 'response_key', responses) };
    deriver.add({ ...batch, ...many, toolCalls: repeat(toolCalls, 'call_key', calls) });
    return deriver.finish(summary);
  };
  expect(deriveMany(20_000, 0)?.ledger).toHaveLength(20_000);
  expect(deriveMany(20_001, 0)).toBeUndefined();
  expect(deriveMany(0, 20_000)?.toolDayRollup).toMatchObject([{ calls: 20_000 }]);
  expect(deriveMany(0, 20_001)).toBeUndefined();
});

it('leaves a transcript to SQL if a failed call has the id of an earlier one that succeeded', async () => {
  const toCall = (index: number) => toAnswer(index, [{ type: 'tool_use', id: '1', name: 'Bash', input: {} }]);
  const toResult = (isError: boolean) => ({
    ...{ type: 'user', sessionId: 's' },
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: 'x', is_error: isError }] },
  });
  expect(await derive([toCall(1), toResult(false), toCall(2), toResult(false)])).toBeDefined();
  expect(await derive([toCall(1), toResult(false), toCall(2), toResult(true)])).toBeUndefined();
});

it('lists the days of its rows, and each response once', async () => {
  const rows = await derive([toAnswer(2), toAnswer(1), toAnswer(2)]);
  expect(rows?.days).toEqual(['2026-01-01T00:00:00.000Z']);
  expect(rows?.responseKeys).toEqual(rows?.ledger.map(({ response_key }) => response_key).sort());
  expect(rows?.responseKeys).toHaveLength(2);
});

/** The derived rows of a session as tables hold them. */
type Stored = Map<keyof DerivedRows, Map<string, object>>;

const TABLES = [
  ...(['usageRollup', 'messageRollup', 'usageDayRollup', 'messageDayRollup'] as const),
  ...(['toolDayRollup', 'fileDayRollup', 'findings', 'ledger'] as const),
];

/** True if a row is replaced by rows of a session that grew. */
function isReplaced(row: Record<string, unknown>, table: keyof DerivedRows, replaced: ReplacedRows): boolean {
  if (table === 'findings') return true;
  if (table === 'ledger') return replaced.responseKeys.includes(String(row.response_key));
  const toDay = (time: unknown): string => String(time).slice(0, 10);
  const buckets = replaced.buckets.map((bucketMs) => new Date(bucketMs).toISOString());
  if ('bucket_start' in row) return row.bucket_start === null || buckets.includes(String(row.bucket_start));
  const day = row.first_bucket_start;
  return day === null || buckets.map(toDay).includes(toDay(day));
}

function store(stored: Stored, rows: DerivedRows): Stored {
  const { replaces } = rows;
  return new Map(
    TABLES.map((table) => {
      const kept = [...(stored.get(table)?.values() ?? [])].filter(
        (row) => replaces !== undefined && !isReplaced(row as Record<string, unknown>, table, replaces),
      );
      const all = [...kept, ...rows[table]].map((row) => [toRowText(row), row] as const);
      expect(new Set(all.map(([text]) => text)).size).toBe(all.length);
      return [table, new Map(all.sort())];
    }),
  );
}

const toRowText = (row: object): string =>
  JSON.stringify(
    Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1)),
    (_key, value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value),
  );

async function parse(deriver: TranscriptDeriver, text: string, options: ParseOptions) {
  let checkpoint: Uint8Array | undefined;
  for await (const batch of streamTranscript('s', Buffer.from(text), options)) {
    deriver.add(batch);
    checkpoint ??= batch.checkpoint;
    if (batch.summary !== undefined)
      return { rows: deriver.finish(batch.summary), state: deriver.toState(), checkpoint };
  }
  throw new Error('The last batch has a summary');
}

it('gives the rows of one parse if the transcript grows, from any line on, any number of times', async () => {
  let continuedCount = 0;
  const growth = fc.tuple(madeLines, fc.array(fc.nat(), { minLength: 1, maxLength: 4 }), fc.constantFrom(0, 2, 8, 128));
  await fc.assert(
    fc.asyncProperty(growth, async ([lines, places, maxMessagesInCheckpoint]) => {
      const texts = toMadeTranscript('s', lines).split(/(?<=\n)/);
      const options = { makeCheckpoint: true, maxMessagesInCheckpoint };
      const cuts = [...new Set(places.map((place) => place % texts.length))].sort((one, other) => one - other);
      let [start, stored, before]: [number, Stored, Awaited<ReturnType<typeof parse>> | undefined] = [
        0,
        new Map(),
        undefined,
      ];
      for (const end of [...cuts, texts.length]) {
        const { state, checkpoint } = before ?? {};
        const deriver = state && checkpoint && TranscriptDeriver.continue(ORIGIN, state);
        const text = texts.slice(start, end).join('');
        if (deriver !== undefined) {
          try {
            const grown = await parse(deriver, text, { ...options, resumeFrom: checkpoint });
            if (grown.rows === undefined) return;
            stored = store(stored, grown.rows);
            before = grown;
            continuedCount++;
          } catch (error) {
            if (!(error instanceof ResumeError)) throw error;
            return;
          }
        } else {
          before = await parse(new TranscriptDeriver(ORIGIN), texts.slice(0, end).join(''), options);
          if (before.rows === undefined) return;
          stored = store(new Map(), before.rows);
        }
        start = end;
        const whole = await parse(new TranscriptDeriver(ORIGIN), texts.slice(0, end).join(''), options);
        if (whole.rows === undefined) throw new Error('Everything is derived of a small transcript');
        expect(stored).toEqual(store(new Map(), whole.rows));
        expect(before.rows?.session).toEqual(whole.rows.session);
      }
    }),
  );
  expect(continuedCount).toBeGreaterThan(0);
});

it('derives nothing from a state of another version', () => {
  expect(TranscriptDeriver.continue(ORIGIN, Buffer.from('another version'))).toBeUndefined();
});
