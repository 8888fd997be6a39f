import {
  cancelReprice,
  createDatabasePool,
  lockSession,
  noteMaintenanceProgress,
  readReprice,
  replaceWorkspacePrices,
  startReprice,
  verifyUsage,
} from '@recount/db';
import { waitForLocks } from '@recount/local-postgres/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';
import { runRepricing } from './run-repricing.ts';

let installation: TestInstallation;
let working: AbortController;
let workers: Promise<void>[];
beforeEach(async () => {
  installation = await createTestInstallation();
  working = new AbortController();
  workers = [];
});
afterEach(async () => {
  working.abort();
  await Promise.all(workers);
  await installation.close();
});

const toAnswer = (id: string, model: string) =>
  `${JSON.stringify({
    type: 'assistant',
    uuid: `uuid-${id}`,
    timestamp: '2026-01-01T00:00:00.000Z',
    message: {
      id: `msg_${id.padStart(24, '0')}`,
      role: 'assistant',
      model,
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'x' }],
      usage: { input_tokens: 1_000_000, output_tokens: 0 },
    },
  })}\n`;

const receive = (sessionId: string, model: string) =>
  installation.receive(toAnswer(sessionId, model), { path: `${sessionId}.jsonl`, agent: 'claude-code', sessionId });

const setPrice = (model: string, usd: number) =>
  installation.database.withTransaction((transaction) =>
    replaceWorkspacePrices(
      transaction,
      TEST_WORKSPACE,
      {
        overrides: [{ model, startsAt: undefined, rates: { inputUsdPerMillion: usd, outputUsdPerMillion: usd } }],
      },
      'system',
    ),
  );

const queue = (models: string[] = []) => {
  const run = { workspaceId: TEST_WORKSPACE, models, actor: 'key:ada', runner: 'worker' } as const;
  return startReprice(installation.database.database, run);
};
const read = () => readReprice(installation.database.database, TEST_WORKSPACE);
const query = async (text: string) => (await installation.database.pool.query(text)).rows;
const readVersions = async () =>
  Object.fromEntries(
    (await query('SELECT session_id, price_version FROM recount.transcripts')).map((row) => [
      row.session_id,
      row.price_version,
    ]),
  );

/** Starts a worker; `signal` ends it as a shutdown does. */
function startWorker(signal: AbortSignal = working.signal): Promise<void> {
  const deps = { database: installation.database, onReport: () => undefined, onFailure: () => undefined };
  const worker = runRepricing(deps, { signal, intervalMs: 10 });
  workers.push(worker);
  return worker;
}

const waitUntilDone = () => vi.waitFor(async () => expect(await read()).toMatchObject({ state: 'done' }));

describe('runRepricing', () => {
  it('touches only transcripts that use the model, and states the sums before and after', async () => {
    await receive('first', 'house-model-9');
    await receive('second', 'House-Model-9');
    await receive('third', 'claude-haiku-4-5');
    // A copy in another session counts once.
    const copy = toAnswer('third', 'claude-haiku-4-5').replace('uuid-third', 'uuid-fork');
    await installation.receive(copy, { path: 'fork.jsonl', agent: 'claude-code', sessionId: 'fork' });
    await installation.work();
    const before = await readVersions();
    await setPrice('house-model-*', 2);
    await queue(['HOUSE-model*']);
    startWorker();
    await waitUntilDone();
    expect(await read()).toMatchObject({
      ...{ models: ['HOUSE-model*'], actor: 'key:ada', done: 2, total: 2, failureReason: null },
      before: { responses: 3, unpriced_responses: 2, cost_usd: 1 },
      after: { responses: 3, unpriced_responses: 0, cost_usd: 5 },
    });
    const after = await readVersions();
    expect(after.third).toBe(before.third);
    expect(after.first).not.toBe(before.first);
    const tables = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
    expect(tables.filter(({ missing, surplus }) => missing + surplus > 0)).toEqual([]);
    await queue(['house-model-9']);
    await waitUntilDone();
    expect(await read()).toMatchObject({ done: 0, before: { cost_usd: 5 }, after: { cost_usd: 5 } });
    const [{ count }] = await query(
      "SELECT count(*)::int AS count FROM recount.audit_log WHERE action = 'usage.reprice' AND actor = 'key:ada'",
    );
    expect(count).toBe(2);
  });

  it('runs one at a time, and cancels it between two transcripts, which keeps what it has done', async () => {
    for (const session of ['a', 'b']) await receive(session, 'house-model-9');
    await installation.work();
    await setPrice('house-model-9', 2);
    const other = createDatabasePool({ connectionString: installation.database.pool.options.connectionString ?? '' });
    try {
      await other.withTransaction(async (transaction) => {
        // Whichever comes first is done, the other one waits here.
        const { rows } = await installation.database.pool.query(
          'SELECT session_id FROM recount.transcripts ORDER BY id DESC LIMIT 1',
        );
        await lockSession(transaction, TEST_WORKSPACE, rows[0].session_id);
        expect(await queue()).toBeDefined();
        expect(await queue()).toBeUndefined();
        startWorker();
        await waitForLocks(installation, 1);
        expect(await queue()).toBeUndefined();
        expect(await read()).toMatchObject({ state: 'running' });
        expect(await cancelReprice(installation.database.database, TEST_WORKSPACE, 'key:bob')).toBe(true);
        expect(await cancelReprice(installation.database.database, TEST_WORKSPACE, 'key:bob')).toBe(false);
      });
      await vi.waitFor(async () => {
        const rows = await query("SELECT FROM recount.transcripts WHERE price_version LIKE '%+%'");
        expect(rows).toHaveLength(2);
      });
      expect(await read()).toMatchObject({ state: 'cancelled', after: null });
    } finally {
      await other.close();
    }
    expect(await queue()).toBeDefined();
    await waitUntilDone();
    expect(await read()).toMatchObject({ after: { cost_usd: 4 } });
  });

  it('goes back to the queue when its worker stops, and another worker continues it', async () => {
    for (const session of ['a', 'b']) await receive(session, 'house-model-9');
    await installation.work();
    await setPrice('house-model-9', 2);
    const stopping = new AbortController();
    const other = createDatabasePool({ connectionString: installation.database.pool.options.connectionString ?? '' });
    try {
      await other.withTransaction(async (transaction) => {
        for (const session of ['a', 'b']) await lockSession(transaction, TEST_WORKSPACE, session);
        await queue();
        const stopped = startWorker(stopping.signal);
        await waitForLocks(installation, 1);
        stopping.abort();
        void stopped;
      });
      await Promise.all(workers);
      expect(await read()).toMatchObject({ state: 'queued', before: { cost_usd: 0 }, done: 1 });
    } finally {
      await other.close();
    }
    startWorker();
    await waitUntilDone();
    expect(await read()).toMatchObject({ done: 2, total: 2, before: { cost_usd: 0 }, after: { cost_usd: 4 } });
  });

  it('continues the run of a worker that was killed, and lets that one change nothing any more', async () => {
    await receive('a', 'house-model-9');
    await installation.work();
    await setPrice('house-model-9', 2);
    const runId = (await queue()) ?? '';
    await query("UPDATE recount.maintenance_checks SET state = 'running', done_count = 3");
    startWorker();
    await vi.waitFor(async () =>
      expect(await query("SELECT FROM pg_stat_activity WHERE query LIKE '%maintenance_checks%'")).not.toEqual([]),
    );
    expect(await read()).toMatchObject({ state: 'running', done: 3 });
    await query("UPDATE recount.maintenance_checks SET seen_at = now() - interval '31 seconds'");
    await waitUntilDone();
    expect(await read()).toMatchObject({ done: 4, total: 4, after: { cost_usd: 2 } });
    const killed = { workspaceId: TEST_WORKSPACE, kind: 'reprice', runId } as const;
    const progress = { step: 'transcripts', done: 1, total: 1 };
    expect(await noteMaintenanceProgress(installation.database.database, killed, progress)).toBe(false);
  });

  it('does not take over the run of a process that does it itself; after 30 seconds of silence another may start', async () => {
    const run = { workspaceId: TEST_WORKSPACE, models: [], actor: 'operator:ada', runner: 'process' } as const;
    const { database } = installation.database;
    expect(await startReprice(database, run)).toBeDefined();
    expect(await queue()).toBeUndefined();
    await query("UPDATE recount.maintenance_checks SET seen_at = now() - interval '31 seconds'");
    expect(await read()).toMatchObject({ state: 'interrupted' });
    expect(await queue()).toBeDefined();
  });

  it('ends with the prices that hold at its end, if they change while it runs', async () => {
    await receive('a', 'house-model-9');
    await installation.work();
    await setPrice('house-model-9', 2);
    const other = createDatabasePool({ connectionString: installation.database.pool.options.connectionString ?? '' });
    try {
      await other.withTransaction(async (transaction) => {
        await lockSession(transaction, TEST_WORKSPACE, 'a');
        await queue();
        startWorker();
        await waitForLocks(installation, 1);
        await setPrice('house-model-9', 3);
      });
    } finally {
      await other.close();
    }
    await waitUntilDone();
    expect(await read()).toMatchObject({ after: { cost_usd: 3 } });
  });
});
