import { readUsageReport, refreshTotals, verifyUsage } from '@recount/db';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { handleJob } from '../process/handle-job.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';
import { runTotals } from './refresh-totals.ts';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

it('updates the totals of new data until it is stopped', async () => {
  const { database } = installation;
  const end = new AbortController();
  const onFailure = vi.fn();
  const running = runTotals({ database, onFailure }, { signal: end.signal, intervalMs: 20 });
  const countStale = async () => (await database.pool.query('SELECT FROM recount.stale_days')).rowCount;
  const readTotal = async () =>
    (await database.pool.query('SELECT sum(responses)::int AS responses FROM recount.usage_hour_total')).rows[0]
      ?.responses;
  for (const [index, name] of ['one', 'two'].entries()) {
    await installation.receive(toTranscript(name, 6));
    await installation.work();
    await vi.waitFor(async () => expect(await countStale()).toBe(0));
    const filter = {
      workspaceId: TEST_WORKSPACE,
      from: null,
      to: null,
      timeZone: 'UTC',
      subagents: 'include' as const,
    };
    const { totals } = await readUsageReport(database.database, filter, { limit: 1 });
    expect(totals.sessions).toBe(index + 1);
    expect(totals.own.responses).toBeGreaterThan(0);
    expect(await readTotal()).toBe(totals.own.responses + totals.shared.responses);
  }
  end.abort();
  await running;
  expect(onFailure).not.toHaveBeenCalled();
});

/** Machines with their output tokens in the report by machine, with all totals refreshed; compares every table, too. */
async function readMachines(session: string): Promise<Record<string, number>> {
  const { database } = installation;
  const read = async () => {
    const filter = {
      ...{ workspaceId: TEST_WORKSPACE, from: '2020-01-01T00:00:00Z', to: '2021-01-01T00:00:00Z', timeZone: 'UTC' },
      subagents: 'include' as const,
    };
    const { rows } = await readUsageReport(database.database, filter, { groupBy: ['machine', 'model'], limit: 10 });
    return Object.fromEntries(rows.map(({ machine, own }) => [String(machine), own.tokens_out]));
  };
  const stale = await read();
  await refreshTotals(database, TEST_WORKSPACE);
  expect(await read(), session).toEqual(stale);
  const checks = await database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
  expect(checks.filter(({ missing, surplus }) => missing + surplus > 0)).toEqual([]);
  return stale;
}

const toAnswer = (session: string, day: number): string =>
  toLine(session, day, {
    type: 'assistant',
    timestamp: `2020-01-${String(day).padStart(2, '0')}T12:00:00.000Z`,
    message: {
      ...{ id: `msg_${session}${day}`, role: 'assistant', model: 'claude-sonnet-4-5', content: [] },
      usage: { input_tokens: 3, output_tokens: 20 },
    },
  });

it('attributes all days of a session to the first machine that is named, by whichever version', async () => {
  for (const [days, machine, expected] of [
    [5, undefined, { null: 100 }],
    [6, 'laptop', { laptop: 120 }],
    [7, 'desk', { laptop: 140 }],
  ] as const) {
    const lines = Array.from({ length: days }, (_, index) => toAnswer('moved', index + 1));
    await installation.receive(lines.join(''), machine === undefined ? {} : { machine });
    for (const job of await installation.listJobs()) {
      // So that most of the messages stay from the version before.
      const options = { maxLineBytes: 1024 * 1024, minCheckpointBytes: 0, maxOpenMessages: 2 };
      const outcome = await handleJob({ ...installation, onReport: () => undefined }, job, options);
      expect(outcome).toMatchObject({ status: 'done' });
    }
    expect(await readMachines('moved')).toEqual(expected);
  }
});

it('attributes a session to the machine that a duplicate names', async () => {
  await installation.receive(toAnswer('named', 6), { machine: 'laptop' });
  // A day without an answer has totals of its messages alone.
  const prompt = toLine('unnamed', 8, { timestamp: '2020-01-09T12:00:00.000Z' });
  await installation.receive(toAnswer('unnamed', 7) + prompt);
  await installation.work();
  expect(await readMachines('unnamed')).toEqual({ laptop: 20, null: 20 });
  await installation.receive(toAnswer('unnamed', 7) + prompt, { machine: 'server' });
  expect(await readMachines('unnamed')).toEqual({ laptop: 20, server: 20 });
});
