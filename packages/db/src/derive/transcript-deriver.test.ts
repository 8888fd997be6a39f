import { streamTranscript, type TranscriptBatch } from '@recount/core';
import { expect, it } from 'vitest';
import { TranscriptDeriver } from './transcript-deriver.ts';

const ORIGIN = {
  ...{ workspaceId: 'w', sessionId: 's', rowSetId: 'r', agent: 'claude-code', priceVersion: '1' },
  ...{ isSubagent: false, isStream: false },
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
