import { parsePriceFile } from '@recount/prices';
import { expect, it } from 'vitest';
import { repriceWorkspace } from '../maintenance/reprice-workspace.ts';
import { createTestInstallation, TEST_WORKSPACE } from '../testing/test-installation.ts';
import { changePriceSettings, readWorkspacePrices } from './workspace-prices.ts';

const toAnswer = (session: string, model: string): string =>
  `${JSON.stringify({
    ...{ type: 'assistant', sessionId: session, uuid: session, timestamp: '2026-12-20T00:00:00.000Z' },
    message: {
      ...{ id: `msg_${session.padStart(24, '0')}`, role: 'assistant', model, stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'x' }],
      usage: { input_tokens: 1_000_000, output_tokens: 0 },
    },
  })}\n`;

it('prices new transcripts by the file, stored ones with reprice, and the workspace’s own models by its own prices', async () => {
  const price = { litellm_provider: 'anthropic', output_cost_per_token: 1e-5 };
  const list = {
    'claude-novel-9': { ...price, input_cost_per_token: 3e-6 },
    'claude-own-9': { ...price, input_cost_per_token: 9e-6 },
  };
  const parsed = parsePriceFile(JSON.stringify(list), { source: '/etc/prices.json', date: '2026-12-05' });
  if ('refused' in parsed) throw new Error(parsed.refused);
  const installation = await createTestInstallation();
  try {
    const { database } = installation.database;
    await changePriceSettings(installation, TEST_WORKSPACE, {
      overrides: [{ model: 'claude-own-9', inputUsdPerMillion: 1, outputUsdPerMillion: 1 }],
    });
    const readCosts = async () =>
      (
        await installation.database.pool.query(
          'SELECT session_id, cost_usd::float8 AS usd, price_version FROM recount.usage_ledger ORDER BY session_id',
        )
      ).rows.map(({ session_id: session, usd, price_version: version }) => [session, usd, version.split('+').length]);

    await installation.receive(toAnswer('a', 'claude-novel-9'));
    await installation.work();
    await installation.receive(toAnswer('b', 'claude-novel-9'));
    await installation.receive(toAnswer('c', 'claude-own-9'));
    await installation.work({ priceSource: parsed });
    expect(await readCosts()).toEqual([
      ['a', null, 2],
      ['b', 3, 3],
      ['c', 1, 3],
    ]);

    const prices = await readWorkspacePrices(database, TEST_WORKSPACE, parsed.file);
    for await (const _done of repriceWorkspace(installation, TEST_WORKSPACE, prices));
    expect(await readCosts()).toEqual([
      ['a', 3, 3],
      ['b', 3, 3],
      ['c', 1, 3],
    ]);
  } finally {
    await installation.close();
  }
});
