import { verifyUsage } from '@recount/db';
import { createPriceTable } from '@recount/prices';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';
import { rebuildUsage } from './rebuild-usage.ts';
import { repriceWorkspace } from './reprice-workspace.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

const toAnswer = (index: number, model: string) =>
  `${JSON.stringify({
    type: 'assistant',
    uuid: `uuid-${index}`,
    timestamp: `2026-01-01T00:00:0${index}.000Z`,
    message: {
      id: `msg_${String(index).padStart(24, '0')}`,
      role: 'assistant',
      model,
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'x' }],
      usage: { input_tokens: 1_000_000, output_tokens: 100_000 },
    },
  })}\n`;

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

const query = async (text: string) => (await installation.database.pool.query(text)).rows;

describe('repriceWorkspace', () => {
  it('mends history once a model has a price: entries, messages, ledger, roll-ups, sessions', async () => {
    await installation.receive(toAnswer(1, 'house-model-9') + toAnswer(2, 'claude-haiku-4-5'), {
      path: 'priced-later.jsonl',
    });
    await installation.work();
    const [before] = await query(
      'SELECT cost_estimate_usd::float8, unpriced_count, price_version FROM recount.sessions JOIN recount.transcripts USING (session_id, unpriced_count, cost_estimate_usd)',
    );
    expect(before).toMatchObject({ cost_estimate_usd: 1.5, unpriced_count: 1 });
    expect(await query('SELECT sum(unpriced_responses)::int AS count FROM recount.usage_rollup')).toEqual([
      { count: 1 },
    ]);

    const prices = createPriceTable({
      overrides: [{ model: 'house-model-*', inputUsdPerMillion: 0.5, outputUsdPerMillion: 5 }],
    });
    const done = await collect(repriceWorkspace(installation, TEST_WORKSPACE, prices));
    expect(done).toHaveLength(1);
    expect(await query('SELECT cost_estimate_usd::float8, unpriced_count FROM recount.sessions')).toEqual([
      { cost_estimate_usd: 2.5, unpriced_count: 0 },
    ]);
    expect(await query('SELECT cost_usd::float8 FROM recount.transcript_messages ORDER BY ordinal')).toEqual([
      { cost_usd: 1 },
      { cost_usd: 1.5 },
    ]);
    expect(
      await query('SELECT cost_usd::float8, price_basis, price_version FROM recount.usage_ledger ORDER BY timestamp'),
    ).toEqual([
      { cost_usd: 1, price_basis: 'override', price_version: prices.version },
      { cost_usd: 1.5, price_basis: 'list', price_version: prices.version },
    ]);
    expect(await query('SELECT sum(cost_units)::float8 AS units FROM recount.usage_rollup')).toEqual([
      { units: 2.5e10 },
    ]);

    expect(await collect(repriceWorkspace(installation, TEST_WORKSPACE, prices))).toEqual([]);
  });
});

describe('rebuildUsage', () => {
  it('makes derived rows that were changed by hand equal to a full recount again', async () => {
    const verify = () => installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
    const differing = async () => (await verify()).filter(({ missing, surplus }) => missing + surplus > 0);
    expect(await differing()).toEqual([]);
    await query('UPDATE recount.usage_ledger SET tokens_out = tokens_out + 1');
    await query("UPDATE recount.usage_rollup SET session_id = 'nobody'");
    await query("UPDATE recount.usage_day_rollup SET session_id = 'nobody'");
    await query('DELETE FROM recount.message_rollup');
    await query('UPDATE recount.message_day_rollup SET messages = messages + 1');
    expect((await differing()).map(({ table }) => table)).toEqual([
      'usage_ledger',
      'usage_rollup',
      'usage_day_rollup',
      'message_rollup',
      'message_day_rollup',
    ]);
    await collect(rebuildUsage(installation, TEST_WORKSPACE));
    expect(await differing()).toEqual([]);
  });
});
