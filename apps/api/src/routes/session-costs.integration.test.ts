import type { SessionCosts, UsageReport } from '@recount/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toLine } from '../testing/transcript-lines.ts';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

const toAnswer = (index: number, text: string, stopReason: string | null, usage: object) =>
  toLine('costly', index, {
    message: {
      ...{ id: `msg_01${'B'.repeat(20)}${index}`, role: 'assistant', model: 'claude-sonnet-4-5' },
      ...{ stop_reason: stopReason, content: [{ type: 'text', text }], usage },
    },
  });

it('lists what a session cost by class, and what an answer that broke off would cost more', async () => {
  const whole = {
    ...{ input_tokens: 1000, output_tokens: 100, cache_read_input_tokens: 2000 },
    server_tool_use: { web_search_requests: 1 },
  };
  // 400 bytes of text are estimated as 100 tokens, but one is counted.
  const lines = [
    toAnswer(1, 'x', 'end_turn', whole),
    toAnswer(3, 'y'.repeat(400), null, { input_tokens: 10, output_tokens: 1 }),
  ];
  await api.upload(lines.join(''));
  await api.work();
  const costs = (await (await api.fetch('/v1/sessions/costly/costs')).json()) as SessionCosts;
  const parts = costs.parts.map(({ token_class, responses, tokens, cost_usd }) => [
    ...[token_class, responses, tokens, cost_usd],
  ]);
  expect(parts).toEqual([
    ['input', 2, 1010, 0.00303],
    ['output', 2, 101, 0.001515],
    ['cache_read', 1, 2000, 0.0006],
  ]);
  expect(costs.most_expensive.map(({ line_number, cost_usd, is_own }) => [line_number, cost_usd, is_own])).toEqual([
    [1, 0.0151, true],
    [2, 0.000045, true],
  ]);
  expect(costs.unfinalised_estimate_usd).toBeCloseTo(99 * 15e-6, 10);
  expect(costs.other_cost_usd).toBeCloseTo(0.01, 10);
  for (const report of ['usage', 'models', 'sessions']) {
    const answer = await api.fetch(`/v1/analytics/${report}`);
    const { caveats } = (await answer.json()) as Pick<UsageReport, 'caveats'>;
    expect(caveats.unfinalised.estimated_cost_usd, report).toBeCloseTo(99 * 15e-6, 10);
  }
});
