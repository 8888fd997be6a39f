import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lines/json.ts';
import { readTranscript, toJsonLines } from '../../testing/agent-transcripts.ts';

const SESSION = '4b2f4b1e-0000-4000-8000-000000000009';
const START = Date.UTC(2026, 9, 1, 10);
const at = (second: number) => new Date(START + second * 1000).toISOString();
const answer = (second: number, input: number, output: number, fields: JsonObject = {}): JsonObject => ({
  ...{ type: 'assistant', sessionId: SESSION, uuid: `a-${second}`, timestamp: at(second), version: '2.1.332' },
  message: {
    ...{
      id: `msg_${String(second).padStart(24, '0')}`,
      role: 'assistant',
      model: 'claude-opus-5-5',
      stop_reason: 'end_turn',
    },
    ...{ content: 'x', usage: { input_tokens: input, output_tokens: output } },
  },
  ...fields,
});
const modelUsage = (input: number, output: number, model = 'claude-opus-5-5[1m]') => ({
  [model]: { inputTokens: input, outputTokens: output, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 },
});
const state = (usage: JsonObject, fields: JsonObject = {}): JsonObject => ({
  ...{ type: 'cost-state', sessionId: SESSION, totalCostUSD: 1, modelUsage: usage },
  ...fields,
});
const mismatches = async (...lines: JsonObject[]) => {
  const { errors, warnings, notices } = await readTranscript(toJsonLines(lines));
  expect([...errors, ...notices]).toEqual([]);
  return warnings.map(({ code, error }) => `${code}: ${error}`);
};

describe('the total that Claude Code states', () => {
  it('may be larger than what the lines show, not smaller', async () => {
    expect(await mismatches(answer(1, 10, 5), state(modelUsage(10, 5)))).toEqual([]);
    expect(await mismatches(answer(1, 10, 5), state(modelUsage(500, 70)))).toEqual([]);
    expect(await mismatches(answer(1, 10, 5), answer(2, 30, 7), state(modelUsage(40, 5)))).toEqual([
      'total_mismatch: Output tokens of claude-opus-5-5: 5 stated, 12 counted',
    ]);
  });

  it('counts a response once, however many lines and totals there are', async () => {
    const lines = [answer(1, 10, 1), answer(1, 10, 5), answer(1, 10, 5), state(modelUsage(10, 5))];
    expect(await mismatches(...lines, answer(2, 30, 7), state(modelUsage(40, 12)), answer(3, 1, 1))).toEqual([]);
  });

  it('is the last one', async () => {
    const lines = [answer(1, 10, 5), state(modelUsage(10, 4)), answer(2, 30, 7), state(modelUsage(40, 11))];
    expect(await mismatches(...lines)).toEqual([
      'total_mismatch: Output tokens of claude-opus-5-5: 11 stated, 12 counted',
    ]);
  });

  it('begins at its stated start, because a run that was killed stated none', async () => {
    const killed = [answer(1, 10, 5), answer(100, 30, 7)];
    expect(await mismatches(...killed, state(modelUsage(30, 7), { startTime: START + 50_000 }))).toEqual([]);
    expect(await mismatches(...killed, state(modelUsage(30, 6), { startTime: START + 50_000 }))).toHaveLength(1);
  });

  it('says nothing about copied lines, or after it began again without saying when', async () => {
    const copied = answer(1, 10, 5, { forkedFrom: { sessionId: 's', messageUuid: 'm' } });
    expect(await mismatches(copied, state(modelUsage(1, 1)))).toEqual([]);
    expect(
      await mismatches(answer(1, 10, 5), state(modelUsage(10, 5)), answer(2, 2, 2), state(modelUsage(2, 2))),
    ).toEqual([]);
  });

  it('is compared as a whole if it names models in another way', async () => {
    const bedrock = (output: number) => state(modelUsage(10, output, 'us.anthropic.claude-opus-5-5-v1:0'));
    expect(await mismatches(answer(1, 10, 5), bedrock(5))).toEqual([]);
    expect(await mismatches(answer(1, 10, 5), bedrock(4))).toEqual([
      'total_mismatch: Output tokens of all models: 4 stated, 5 counted',
    ]);
  });

  it('is compared for sessions of any length', async () => {
    const many = Array.from({ length: 1500 }, (_, index) => answer(index, 1, 2));
    const { warnings } = await readTranscript(toJsonLines([...many, state(modelUsage(1500, 2999))]));
    expect(warnings.map(({ error }) => error)).toEqual(['Output tokens of claude-opus-5-5: 2999 stated, 3000 counted']);
  });

  it('is in the results of a stream as well', async () => {
    const stream = (line: JsonObject) =>
      ({ ...line, sessionId: undefined, session_id: SESSION }) as unknown as JsonObject;
    const result = { type: 'result', subtype: 'success', total_cost_usd: 1, result: 'x', modelUsage: modelUsage(9, 5) };
    expect(await mismatches(stream(answer(1, 10, 5)), stream(result))).toEqual([
      'total_mismatch: Input tokens of claude-opus-5-5: 9 stated, 10 counted',
    ]);
  });
});

describe('the results of a resumed session’s stream', () => {
  it('add up what each states about itself', async () => {
    const result = (whole: number, own: number): JsonObject => ({
      ...{
        type: 'result',
        subtype: 'success',
        session_id: SESSION,
        uuid: `r-${whole}`,
        result: 'x',
        total_cost_usd: whole / 10,
      },
      modelUsage: modelUsage(whole, whole),
      model_usage_since_last_result: { 'claude-opus-5-5': { inputTokens: own, outputTokens: own, costUSD: own / 10 } },
    });
    const { metadata } = await readTranscript(toJsonLines([result(15, 5), result(22, 7)]));
    expect(metadata.reportedTotals).toMatchObject({ source: 'result', cost_usd: 1.2, tokens_in: 12, tokens_out: 12 });
  });
});
