import { createDatabasePool, lockSession, startReprice, verifyUsage } from '@recount/db';
import { waitForLocks } from '@recount/local-postgres/testing';
import { createPriceTable } from '@recount/prices';
import type { RawStore } from '@recount/storage';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rebuildUsage } from '../consistency/rebuild-usage.ts';
import { handleBatch } from '../process/handle-batch.ts';
import { handleJob } from '../process/handle-job.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import { deleteWorkspace } from './deletions.ts';
import { repriceWorkspace } from './reprice-workspace.ts';
import { followReprice } from './run-repricing.ts';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

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

describe('a workspace that is deleted while it runs', () => {
  const prices = createPriceTable({
    overrides: [{ model: 'claude-*', inputUsdPerMillion: 1, outputUsdPerMillion: 1 }],
  });
  const works = {
    reprice: (of: TestInstallation) => collect(repriceWorkspace(of, TEST_WORKSPACE, prices)),
    rebuild: (of: TestInstallation) => collect(rebuildUsage(of, TEST_WORKSPACE)),
  };

  it.each(['reprice', 'rebuild'] as const)('waits for a session in progress, and then ends it: %s', async (name) => {
    const doomed = await createTestInstallation();
    const other = createDatabasePool({ connectionString: doomed.database.pool.options.connectionString ?? '' });
    try {
      for (const session of ['a', 'b']) await doomed.receive(toTranscript(session, 4));
      await doomed.work();
      const order: string[] = [];
      const tasks: Promise<unknown>[] = [];
      await other.withTransaction(async (transaction) => {
        for (const session of ['a', 'b']) await lockSession(transaction, TEST_WORKSPACE, session);
        tasks.push(works[name](doomed).then((done) => order.push(`worked on ${done.length}`)));
        await waitForLocks(doomed, 1);
        tasks.push(deleteWorkspace(doomed, TEST_WORKSPACE).then(() => order.push('deleted')));
        await waitForLocks(doomed, 2);
      });
      await Promise.all(tasks);
      // The second one may find the workspace still existing, or gone.
      expect(order.toSorted()).toEqual(['deleted', expect.stringMatching(/^worked on [12]$/)]);
      const { rows } = await doomed.database.pool.query('SELECT count(*)::int AS count FROM recount.usage_ledger');
      expect(rows).toEqual([{ count: 0 }]);
    } finally {
      await other.close();
      await doomed.close();
    }
  });
});

const query = async (text: string) => (await installation.database.pool.query(text)).rows;

describe('repriceWorkspace', () => {
  it('updates history once a model has a price, in entries, messages, ledger, roll-ups, sessions', async () => {
    await installation.receive(toAnswer(1, 'house-model-9') + toAnswer(2, 'claude-haiku-4-5'), {
      path: 'priced-later.jsonl',
      agent: 'claude-code',
      sessionId: 'priced-later',
    });
    await installation.work();
    const [before] = await query(
      'SELECT cost_estimate_usd::float8, unpriced_count, price_version FROM recount.sessions JOIN recount.transcripts USING (workspace_id, session_id, unpriced_count, cost_estimate_usd)',
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

describe('repriceWorkspace, for a session that grows afterwards', () => {
  it('leaves no cost at the old rates in what the session continues from', async () => {
    const one = await createTestInstallation();
    const upload = { path: 'growing.jsonl', agent: 'claude-code', sessionId: 'growing' };
    const prices = createPriceTable({
      overrides: [{ model: 'house-model-*', inputUsdPerMillion: 0.5, outputUsdPerMillion: 5 }],
    });
    const work = async (table: typeof prices) => {
      for (const job of await one.listJobs()) {
        // So that most of the responses stay from the version before.
        const options = { maxLineBytes: 1024 * 1024, minCheckpointBytes: 0, maxOpenMessages: 2, prices: table };
        expect(await handleJob({ ...one, onReport: () => undefined }, job, options)).toEqual({ status: 'done' });
      }
    };
    const readCosts = async () =>
      (
        await one.database.pool.query(`
          SELECT s.cost_estimate_usd::float8 AS session, t.cost_estimate_usd::float8 AS transcript, t.unpriced_count,
            (SELECT sum(cost_usd)::float8 FROM recount.usage_ledger) AS ledger
          FROM recount.sessions AS s JOIN recount.transcripts AS t ON t.workspace_id = s.workspace_id AND t.id = s.primary_transcript_id`)
      ).rows;
    try {
      const toText = (count: number) =>
        Array.from({ length: count }, (_, index) => toAnswer(index + 1, 'house-model-9')).join('');
      await one.receive(toText(6), upload);
      await work(createPriceTable({ overrides: [] }));
      expect(await collect(repriceWorkspace(one, TEST_WORKSPACE, prices))).toHaveLength(1);
      await one.receive(toText(8), upload);
      await work(prices);
      expect(await readCosts()).toEqual([{ session: 8, transcript: 8, unpriced_count: 0, ledger: 8 }]);
      const verified = await one.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
      expect(verified.every(({ missing, surplus }) => missing + surplus === 0)).toBe(true);
    } finally {
      await one.close();
    }
  });
});

describe('repriceWorkspace, for a response of several requests', () => {
  it('prices each request by its own size, as ingestion does, and what is billed apart', async () => {
    const usage = (input: number, output: number) => ({ input_tokens: input, output_tokens: output });
    const line = {
      ...{ type: 'assistant', uuid: 'loop', timestamp: '2026-02-01T00:00:00.000Z' },
      message: {
        ...{
          id: 'msg_ServerToolLoop0000000000',
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          stop_reason: 'end_turn',
        },
        content: [{ type: 'text', text: 'x' }],
        usage: {
          ...usage(400_000, 2000),
          iterations: [
            { type: 'compaction', ...usage(150_000, 0) },
            { type: 'message', ...usage(150_000, 1000) },
            { type: 'message', ...usage(250_000, 1000) },
          ],
        },
      },
    };
    const one = await createTestInstallation();
    const costs = async () =>
      (
        await one.database.pool.query(
          'SELECT source, cost_usd::float8 AS cost, request_tokens FROM recount.usage_ledger ORDER BY source',
        )
      ).rows;
    try {
      await one.receive(`${JSON.stringify(line)}\n`, { path: 'loop.jsonl', agent: 'claude-code', sessionId: 'loop' });
      await one.work();
      const expected = [
        { source: 'compaction', cost: 0.45, request_tokens: null },
        {
          source: 'message',
          cost: 0.45 + 0.015 + 1.5 + 0.0225,
          request_tokens: [
            [150_000, 1000, 0, 0, 0, 0],
            [250_000, 1000, 0, 0, 0, 0],
          ],
        },
      ];
      expect(await costs()).toEqual(expected);
      const other = createPriceTable({
        overrides: [{ model: 'other', inputUsdPerMillion: 1, outputUsdPerMillion: 1 }],
      });
      expect(await collect(repriceWorkspace(one, TEST_WORKSPACE, other))).toHaveLength(1);
      expect(await costs()).toEqual(expected);
      const verified = await one.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
      expect(verified.every(({ missing, surplus }) => missing + surplus === 0)).toBe(true);
    } finally {
      await one.close();
    }
  });
});

describe('repriceWorkspace, while a transcript is being ingested at the previous rates', () => {
  it.each(['by itself', 'in a group'])('reprices that one as well, %s', async (way) => {
    const name = way === 'by itself' ? 'alone' : 'grouped';
    const upload = { path: `${name}.jsonl`, agent: 'claude-code', sessionId: name };
    const { transcript } = await installation.receive(toAnswer(7, 'house-model-9'), upload);
    const jobs = await installation.listJobs();
    const { promise: isReading, resolve: notify } = Promise.withResolvers<void>();
    const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
    const get: RawStore['get'] = async (...object) => {
      notify();
      await mayGoOn;
      return await installation.rawStore.get(...object);
    };
    const deps = { ...installation, rawStore: { ...installation.rawStore, get }, onReport: () => undefined };
    const options = { maxLineBytes: 1024, prices: createPriceTable({ overrides: [] }) };
    const ingesting =
      name === 'alone' ? handleJob(deps, jobs[0] ?? expect.fail(), options) : handleBatch(deps, jobs, options);
    await isReading;
    const prices = createPriceTable({
      overrides: [{ model: 'house-model-*', inputUsdPerMillion: 2, outputUsdPerMillion: 20 }],
    });
    const repricing = collect(repriceWorkspace(installation, TEST_WORKSPACE, prices));
    await vi.waitFor(async () => {
      const waiting = await query(
        `SELECT FROM pg_stat_activity WHERE query LIKE '%transactionid%' AND state = 'idle' AND datname = current_database()`,
      );
      expect(waiting).not.toEqual([]);
    });
    goOn();
    await ingesting;
    expect(await repricing).toContainEqual(expect.objectContaining({ transcriptId: transcript.id }));
    expect(await query('SELECT DISTINCT price_version FROM recount.transcripts')).toEqual([
      { price_version: prices.version },
    ]);
    const verified = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
    expect(verified.every(({ missing, surplus }) => missing + surplus === 0)).toBe(true);
  });
});

describe('rebuildUsage', () => {
  it('restores derived rows that were changed by hand to the rows of a full recount', async () => {
    const upload = { path: 'counted.jsonl', agent: 'claude-code', sessionId: 'counted' };
    await installation.receive(toAnswer(1, 'claude-haiku-4-5') + toAnswer(2, 'claude-haiku-4-5'), upload);
    await installation.work();
    const verify = () => installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
    const differing = async () => (await verify()).filter(({ missing, surplus }) => missing + surplus > 0);
    expect(await differing()).toEqual([]);
    await query('UPDATE recount.usage_ledger SET tokens_out = tokens_out + 1');
    await query(`UPDATE recount.usage_ledger SET response_key = 'nobody'
      WHERE response_key = (SELECT min(response_key) FROM recount.usage_ledger)`);
    // A session of that name in another workspace is irrelevant here.
    await query("INSERT INTO recount.workspaces (id, name) VALUES ('elsewhere', 'elsewhere')");
    await query(`INSERT INTO recount.sessions
      SELECT (jsonb_populate_record(s, '{"workspace_id": "elsewhere", "session_id": "nobody"}')).*
      FROM recount.sessions AS s LIMIT 1`);
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

it('a run of reprice and one of rebuild leave one entry each in the audit log, whatever they change', async () => {
  for (const session of ['of-one', 'of-another']) {
    const line = toAnswer(session.length % 10, 'claude-haiku-4-5');
    await installation.receive(line, { path: `${session}.jsonl`, agent: 'claude-code', sessionId: session });
  }
  await installation.work();
  await query("UPDATE recount.transcripts SET price_version = 'old'");
  const read = () => query("SELECT actor, action FROM recount.audit_log WHERE actor LIKE 'operator:%' ORDER BY id");
  const task = { workspaceId: TEST_WORKSPACE, models: [], actor: 'operator:ada' } as const;
  const runId = await startReprice(installation.database.database, { ...task, runner: 'process' });
  const run = { ...task, models: [], kind: 'reprice', runId: runId ?? '', done: 0, before: undefined } as const;
  const deps = { ...installation, onFailure: (reason: string) => expect.fail(reason) };
  const repriced = await followReprice(deps, { ...run, models: [] }, { signal: new AbortController().signal });
  expect(repriced?.transcripts).toBeGreaterThan(1);
  await collect(rebuildUsage(installation, TEST_WORKSPACE, 'operator:bob'));
  expect(await read()).toEqual([
    { actor: 'operator:ada', action: 'usage.reprice' },
    { actor: 'operator:bob', action: 'usage.rebuild' },
  ]);
});
