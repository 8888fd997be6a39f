import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import type { Budget, BudgetHistory, DeliveryList } from '@recount/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toTranscript } from './made-company.ts';

const CLI = fileURLToPath(new URL('../../../apps/cli/bin/recount.mjs', import.meta.url));
const SECRET_KEY = randomBytes(32);
const NETWORKS = ['127.0.0.0/8'];

let api: TestApi;
let receiver: Server;
/** Ids of the messages that the receiver got, in order. */
const received: string[] = [];
/** Requests that wait for an answer; undefined if all are answered. */
let hanging: ServerResponse[] | undefined;
const workers: ChildProcess[] = [];

beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    await text(request);
    received.push(String(request.headers['webhook-id']));
    if (hanging === undefined) response.writeHead(204).end();
    else hanging.push(response);
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  api = await createTestApi({ alerts: { secretKey: SECRET_KEY, mailServer: undefined, privateNetworks: NETWORKS } });
});
afterAll(async () => {
  for (const worker of workers) await kill(worker);
  receiver.closeAllConnections();
  receiver.close();
  await api.close();
});

/** The program, with its loops over budgets and messages. */
function startWorker(): ChildProcess {
  const environment = {
    ...{ DATABASE_URL: api.connectionString, RECOUNT_RAW_STORE: api.storeDirectory },
    ...{ RECOUNT_SECRET_KEY: SECRET_KEY.toString('base64'), RECOUNT_ALERT_PRIVATE_NETWORKS: NETWORKS.join() },
  };
  const env = { PATH: process.env.PATH, HOME: api.storeDirectory, ...environment };
  const worker = spawn(process.execPath, [CLI, 'worker'], { env, stdio: 'ignore' });
  workers.push(worker);
  return worker;
}

/** Ends it with SIGKILL. */
async function kill(worker: ChildProcess): Promise<void> {
  if (worker.exitCode === null && worker.signalCode === null) {
    const ended = once(worker, 'exit');
    worker.kill('SIGKILL');
    await ended;
  }
}

/** Sessions of workers in the database that meet a condition. */
async function countSessions(condition: string): Promise<number> {
  const { rows } = await api.database.pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'recount worker' AND ${condition}`,
  );
  return rows[0]?.count ?? 0;
}

async function call<Answer>(path: string, body?: unknown): Promise<Answer> {
  const json = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const answer = await api.fetch(path, body === undefined ? {} : json);
  expect(answer.ok, path).toBe(true);
  return (await answer.json()) as Answer;
}

const makeBudget = (name: string): Promise<Budget> =>
  call('/v1/budgets', { name, amount: 1, thresholds: [50, 100], forecast_percent: null, anomaly_factor: null });

async function listThresholds({ id }: Budget): Promise<number[]> {
  const { crossings } = await call<BudgetHistory>(`/v1/budgets/${id}/history`);
  return crossings.map(({ threshold }) => threshold).sort((a, b) => a - b);
}

const listDeliveries = async () => (await call<DeliveryList>('/v1/deliveries')).deliveries;

/** A session of now that costs more than the amount of the budgets. */
async function spend(session: string): Promise<void> {
  const now = new Date().toISOString();
  const used = { person: 0, session, day: now.slice(0, 10), sentOn: now.slice(0, 10), model: 'claude-sonnet-4-5' };
  const transcript = toTranscript([{ ...used, tokensIn: 3_000_000, tokensOut: 300_000 }]);
  expect((await api.upload(transcript.replaceAll(/"timestamp":"[^"]+"/g, `"timestamp":"${now}"`))).status).toBe(202);
  await api.work();
}

/** Kills workers in the middle of a transaction that records a warning. Resolves when the database has ended it. */
async function killWhileRecording(lock: string, count: number): Promise<void> {
  const holder = await api.database.pool.connect();
  try {
    await holder.query(`BEGIN; ${lock}`);
    const started = Array.from({ length: count }, startWorker);
    // One of several has the budgets.
    await expect.poll(() => countSessions("wait_event_type = 'Lock' AND wait_event <> 'advisory'")).toBeGreaterThan(0);
    await Promise.all(started.map(kill));
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
  await expect.poll(() => countSessions('true')).toBe(0);
}

it('warns once of each threshold, and tells once, however often workers are killed while they record and send', async () => {
  await call('/v1/destinations', {
    ...{ kind: 'webhook', name: 'pager', url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` },
  });
  const budget = await makeBudget('everything');
  await spend('one');

  await killWhileRecording('SELECT FROM recount.budgets FOR UPDATE', 1);
  // After the warning is inserted, and before its message is.
  await killWhileRecording('LOCK TABLE recount.alert_deliveries IN EXCLUSIVE MODE', 2);
  expect([await listThresholds(budget), await listDeliveries(), received]).toEqual([[], [], []]);

  hanging = [];
  const sending = startWorker();
  await expect.poll(() => received.length).toBe(1);
  await kill(sending);
  await expect.poll(() => countSessions('true')).toBe(0);
  const [waiting, ...more] = await listDeliveries();
  expect(more).toEqual([]);
  expect(waiting).toMatchObject({ id: received[0], state: 'waiting', attempts: 0, event: 'budget.crossed' });
  expect(await listThresholds(budget)).toEqual([50, 100]);

  hanging = undefined;
  await spend('two');
  // Budgets are looked at in the order of their names.
  const last = await makeBudget('zero point');
  startWorker();
  startWorker();
  await expect.poll(async () => (await listDeliveries()).map(({ state }) => state)).toEqual(['sent', 'sent']);
  expect([await listThresholds(budget), await listThresholds(last)]).toEqual([
    [50, 100],
    [50, 100],
  ]);
  const ids = (await listDeliveries()).map(({ id }) => id);
  expect(received.toSorted()).toEqual([...ids, waiting?.id].toSorted());
});
