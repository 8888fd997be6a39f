import { createTestApi, HOME_WORKSPACE, type TestApi } from '@recount/api/testing/test-api';
import { startReprice } from '@recount/db';
import { runRepricing } from '@recount/ingest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let api: TestApi;

const toAnswer = (session: string, model: string) =>
  `${JSON.stringify({
    ...{ type: 'assistant', sessionId: session, uuid: session, timestamp: '2026-01-01T00:00:00.000Z' },
    message: {
      ...{ id: `msg_${session.padStart(24, '0')}`, role: 'assistant', model, stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'x' }],
      usage: { input_tokens: 1_000_000, output_tokens: 0 },
    },
  })}\n`;

beforeAll(async () => {
  api = await createTestApi();
  await api.upload(toAnswer('house', 'house-model'));
  await api.upload(toAnswer('haiku', 'claude-haiku-4-5'));
  await api.work();
});
afterAll(() => api.close());

async function run(environment: Record<string, string>, ...commandArguments: string[]) {
  const context = createFakeContext({ environment });
  const exitCode = await runCommandLine(context, commandArguments);
  return { exitCode, err: context.err() };
}

const here = (...given: string[]) => run({ DATABASE_URL: api.connectionString }, ...given, '--workspace', 'home');
const onServer = (...given: string[]) => run({ RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin }, ...given);
const price = (usd: string) => ['prices', 'set', 'house-model', '--input', usd, '--output', '1', '--yes'];

describe('recount reprice', () => {
  it('works on a database, only on what uses the model, and says what the costs were and are', async () => {
    const set = await here(...price('2'));
    expect(set.err).toMatch(/1 transcript priced at .+\nAll costs: \$1\.00 → \$3\.00; unpriced responses: 1 → 0\.\n$/);
    expect((await here('reprice', '--model', 'HOUSE*')).err).toMatch(/0 transcripts priced at/);
    expect((await here('reprice')).err).toMatch(/1 transcript priced at .+\nAll costs: \$3\.00 → \$3\.00/);
  });

  it('lets the workers of a server do it, and waits', async () => {
    const worker = new AbortController();
    const deps = {
      database: api.database,
      onReport: () => undefined,
      onFailure: (reason: string) => expect.fail(reason),
    };
    const working = runRepricing(deps, { signal: worker.signal, intervalMs: 20 });
    const { exitCode, err } = await onServer(...price('4'));
    expect(exitCode).toBe(0);
    expect(err).toMatch(/1 transcript priced\.\nAll costs: \$[\d.]+ → \$5\.00/);
    worker.abort();
    await working;
  });

  it('refuses to run beside another one, and names who started it', async () => {
    const other = { workspaceId: HOME_WORKSPACE, models: [], actor: 'key:ada', runner: 'worker' } as const;
    await startReprice(api.database.database, other);
    expect(await here('reprice')).toEqual({ exitCode: 1, err: expect.stringContaining('started by key:ada') });
    expect(await onServer('reprice')).toEqual({ exitCode: 1, err: expect.stringContaining('already queued') });
    await api.fetch('/v1/prices/reprice', { method: 'DELETE' });
  });
});
