import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  type BudgetRow,
  createBudget,
  type DeliveryRow,
  deleteDestination,
  deleteEndedDeliveries,
  enqueueMessages,
  listDeliveries,
  listDestinations,
  recordCrossings,
  retryDelivery,
} from '@recount/db';
import { SMTPServer } from 'smtp-server';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';
import { addDestination, type DestinationRequest, MissingSecretKeyError } from './add-destination.ts';
import type { AlertOptions } from './alert-options.ts';
import { AddressError, toBlockList } from './check-address.ts';
import { deliverMessages, runDeliveries } from './deliver-messages.ts';
import { createSecretBox } from './secret-box.ts';

const PLACE = { workspaceId: TEST_WORKSPACE, actor: 'key:k' as const };
/** After all messages are made, whatever the clock of the database says. */
const START_MS = Date.now() + 3_600_000;
const DAY_MS = 86_400_000;

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

const OPTIONS: AlertOptions = {
  secretBox: createSecretBox(randomBytes(32)),
  mailServer: undefined,
  allowed: toBlockList(['127.0.0.0/8']),
  timeoutMs: 10_000,
};

type Answer = (response: ServerResponse, count: number) => void;

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

const servers: Server[] = [];

/** A receiver that answers as told, and the URL of it. */
async function startReceiver(answer: Answer): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: await text(request) });
    answer(response, received.length);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/secret-path`, received };
}

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other';
const accept: Answer = (response) => response.writeHead(204).end();
const answerWith =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, headers).end('text of the receiver');

let names = 0;
async function add(request: { kind: 'slack' | 'webhook'; url: string } | { kind: 'email'; addresses: string[] }) {
  const named = { ...request, name: `destination ${names++}` } as DestinationRequest;
  const added = await addDestination(installation, OPTIONS, PLACE, named);
  if (typeof added === 'string') throw new Error(added);
  return added;
}

let messages = 0;
const enqueue = async (destinationId: string, payload: Record<string, unknown> = { text: 'hello' }) => {
  const message = { event: 'test', payload, uniqueKey: `message ${messages++}` };
  const [row] = await installation.database.withTransaction((transaction) =>
    enqueueMessages(transaction, TEST_WORKSPACE, [message], [destinationId]),
  );
  if (row === undefined) throw new Error('Nothing was enqueued');
  return row;
};

const deliver = (nowMs: number, options: Partial<AlertOptions> = {}, database = installation.database) =>
  deliverMessages({ database, now: () => nowMs, onReport: () => undefined }, TEST_WORKSPACE, {
    ...OPTIONS,
    ...options,
  });

async function find({ id }: { id: string }): Promise<DeliveryRow | undefined> {
  const rows = await listDeliveries(installation.database.database, TEST_WORKSPACE, {}, { limit: 500 });
  return rows.find((row) => row.id === id);
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  await installation.database.database.execute(
    `DELETE FROM recount.alert_deliveries WHERE workspace_id = '${TEST_WORKSPACE}'`,
  );
});

describe('a webhook', () => {
  it('gets a signed message, and the same id again after a failure', async () => {
    const { url, received } = await startReceiver((response, count) =>
      response.writeHead(count < 3 ? 500 : 200).end('text of the receiver'),
    );
    const { row, signingSecret = '' } = await add({ kind: 'webhook', url });
    expect(JSON.stringify(row)).not.toContain('secret-path');
    const message = await enqueue(row.id, { figure: 7 });
    await deliver(START_MS + 1000);
    const failed = await find(message);
    expect(failed).toMatchObject({
      ...{ state: 'waiting', attempts: 1, failure_reason: 'The receiver answered 500', ended_at: null },
    });
    const pauseMs = Date.parse(failed?.next_attempt_at ?? '') - START_MS - 1000;
    expect(pauseMs).toBeGreaterThanOrEqual(1500);
    expect(pauseMs).toBeLessThanOrEqual(2000);
    await deliver(START_MS + 1000 + pauseMs - 1);
    expect(received).toHaveLength(1);
    await deliver(START_MS + 10_000);
    await deliver(START_MS + 60_000);
    expect(await find(message)).toMatchObject({ state: 'sent', attempts: 3, failure_reason: null });
    await deliver(START_MS + DAY_MS);
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([message.id]));
    const [, , last] = received;
    expect(JSON.parse(last?.body ?? '')).toEqual({ type: 'test', timestamp: message.created_at, data: { figure: 7 } });
    const at = last?.headers['webhook-timestamp'];
    const signed = `${message.id}.${at}.${last?.body}`;
    const key = Buffer.from(signingSecret.replace('whsec_', ''), 'base64');
    const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    expect(last?.headers['webhook-signature']).toBe(expected);
    expect(at).toBe(String(Math.floor((START_MS + 60_000) / 1000)));
  });

  it.each<[string, Answer, string]>([
    ['redirects', answerWith(302, { location: 'http://127.0.0.1:1/' }), 'The receiver answered 302'],
    ['breaks the connection', (response) => response.socket?.destroy(), 'The connection failed: ECONNRESET'],
    ['wants another protocol', (response) => response.socket?.end(`${SWITCH}\r\n\r\n`), 'The receiver answered 101'],
    ['does not answer', () => undefined, 'The receiver did not answer in time'],
  ])('waits for another attempt if the receiver %s', async (_what, answer, reason) => {
    const { url, received } = await startReceiver(answer);
    const { row } = await add({ kind: 'webhook', url });
    const message = await enqueue(row.id);
    await deliver(START_MS + 1000, { timeoutMs: reason.includes('in time') ? 200 : 10_000 });
    expect(await find(message)).toMatchObject({ state: 'waiting', attempts: 1, failure_reason: reason });
    // On a busy machine the time may be up before it receives anything.
    if (!reason.includes('in time')) expect(received).toHaveLength(1);
  });

  it('accepts a status from a receiver whose body never ends', async () => {
    const { url } = await startReceiver((response) => void response.writeHead(200).write('…'));
    const message = await enqueue((await add({ kind: 'webhook', url })).row.id);
    await deliver(START_MS + 1000);
    expect(await find(message)).toMatchObject({ state: 'sent', attempts: 1 });
  });

  it('waits as long as the receiver asks', async () => {
    const { url } = await startReceiver(answerWith(429, { 'retry-after': '3600' }));
    const message = await enqueue((await add({ kind: 'webhook', url })).row.id);
    await deliver(START_MS + 1000);
    expect((await find(message))?.next_attempt_at).toBe(new Date(START_MS + 3_601_000).toISOString());
  });

  it('is given up after 17 attempts in about a day, or with 410, and tried again by hand', async () => {
    const { url, received } = await startReceiver((response, count) =>
      response.writeHead(count > 17 ? 410 : 503).end(),
    );
    const message = await enqueue((await add({ kind: 'webhook', url })).row.id);
    let nowMs = START_MS + 1000;
    for (let row = await find(message); row?.state === 'waiting'; row = await find(message)) {
      nowMs = Math.max(nowMs, Date.parse(row.next_attempt_at));
      await deliver(nowMs);
    }
    expect(await find(message)).toMatchObject({ state: 'failed', attempts: 17 });
    expect(nowMs - START_MS).toBeGreaterThan(DAY_MS / 2);
    expect(nowMs - START_MS).toBeLessThan(2 * DAY_MS);
    expect(received).toHaveLength(17);
    const retry = () =>
      installation.database.withTransaction((transaction) => retryDelivery(transaction, { ...PLACE, id: message.id }));
    expect([await retry(), await retry()]).toEqual([true, false]);
    await deliver(START_MS + DAY_MS);
    expect(await find(message)).toMatchObject({
      state: 'failed',
      attempts: 1,
      failure_reason: 'The receiver answered 410',
    });
    await deleteEndedDeliveries(installation.database.database, TEST_WORKSPACE, new Date(START_MS).toISOString());
    expect(await find(message)).toBeDefined();
    await deleteEndedDeliveries(
      installation.database.database,
      TEST_WORKSPACE,
      new Date(START_MS + 2 * DAY_MS).toISOString(),
    );
    expect(await find(message)).toBeUndefined();
  });

  it('gets a message again, with its id, if the process ended before the outcome was stored', async () => {
    const { url, received } = await startReceiver(accept);
    const message = await enqueue((await add({ kind: 'webhook', url })).row.id);
    const broken = new Proxy(installation.database.database, {
      get: (target, name) => {
        if (name === 'update') throw new Error('killed');
        return Reflect.get(target, name) as unknown;
      },
    });
    await expect(deliver(START_MS + 1000, {}, { ...installation.database, database: broken })).rejects.toThrow(
      'killed',
    );
    expect(await find(message)).toMatchObject({ state: 'waiting', attempts: 0 });
    await deliver(START_MS + 2000);
    expect(await find(message)).toMatchObject({ state: 'sent', attempts: 1 });
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([message.id, message.id]);
  });

  it('cannot be led to an internal address, neither when it is made nor later', async () => {
    const { url, received } = await startReceiver(accept);
    const request = { name: 'internal', kind: 'webhook' as const, url };
    const none = { ...OPTIONS, allowed: toBlockList([]) };
    await expect(addDestination(installation, none, PLACE, request)).rejects.toThrow(AddressError);
    // A name that resolves to a public address until it is stored.
    const { port } = new URL(url);
    const rebound = { ...request, name: 'rebound', url: `https://rebound.example:${port}/` };
    const isPublic = async () => [{ address: '1.1.1.1', family: 4 as const }];
    const added = await addDestination(installation, { ...none, resolve: isPublic }, PLACE, rebound);
    const message = await enqueue(typeof added === 'string' ? '' : added.row.id);
    const isInternal = async () => [{ address: '127.0.0.1', family: 4 as const }];
    await deliver(START_MS + 1000, { allowed: none.allowed, resolve: isInternal });
    expect((await find(message))?.failure_reason).toContain('internal address');
    expect(received).toEqual([]);
  });

  it('is not stored without a key, nor used without the same one', async () => {
    const { url, received } = await startReceiver(accept);
    const request = { name: 'no key', kind: 'slack' as const, url };
    const before = await listDestinations(installation.database.database, TEST_WORKSPACE);
    await expect(addDestination(installation, { ...OPTIONS, secretBox: undefined }, PLACE, request)).rejects.toThrow(
      MissingSecretKeyError,
    );
    expect(await listDestinations(installation.database.database, TEST_WORKSPACE)).toEqual(before);
    const message = await enqueue((await add({ kind: 'slack', url })).row.id);
    await deliver(START_MS + 1000, { secretBox: createSecretBox(randomBytes(32)) });
    expect((await find(message))?.failure_reason).toContain('RECOUNT_SECRET_KEY');
    expect(received).toEqual([]);
  });
});

describe('a crossed budget', () => {
  it('puts one message for each period into the outbox, with its crossings, and never again', async () => {
    await clearDestinations();
    const { url, received } = await startReceiver(accept);
    await add({ kind: 'slack', url });
    const rules = {
      thresholds: [50, 80],
      forecast_percent: null,
      anomaly_factor: null,
      destination_ids: null,
      filters: {},
    };
    const place = { period: 'month' as const, time_zone: 'UTC', unit: 'usd' as const };
    const crossing = { period_start: '2026-03-01', kind: 'threshold' as const, is_late: true, figure: 85 };
    const details = { amount: 100, unit: 'usd' as const, low: null, high: null, median: null };
    const record = () =>
      installation.database.withTransaction(async (transaction) => {
        const found = [50, 80].map((threshold) => ({ ...crossing, ...details, threshold }));
        return await recordCrossings(transaction, budget, found, new Date(START_MS).toISOString());
      });
    const budget = await installation.database.withTransaction(async (transaction) => {
      const made = { name: '<!channel> & co', amount: 100, ...rules, ...place };
      const created = await createBudget(transaction, TEST_WORKSPACE, made, 'system');
      if (typeof created === 'string') throw new Error(created);
      return created;
    });
    expect(await record()).toHaveLength(2);
    expect(await record()).toEqual([]);
    await deliver(START_MS + 1000);
    expect(received.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      {
        text: '*Budget &lt;!channel&gt; &amp; co: 80 % spent*\n$85.00 in the month from 2026-03-01 (UTC), of $100.00. It became known after the end of that time, from what was uploaded later.',
      },
    ]);
  });
});

/** A budget of $100 a month, which sends to destinations, or to all. */
async function createTestBudget(name: string, destination_ids: string[] | null): Promise<BudgetRow> {
  const rules = { thresholds: [80], forecast_percent: null, anomaly_factor: null, filters: {}, destination_ids };
  const place = { period: 'month' as const, time_zone: 'UTC', unit: 'usd' as const };
  const created = await installation.database.withTransaction((transaction) =>
    createBudget(transaction, TEST_WORKSPACE, { name, amount: 100, ...rules, ...place }, 'system'),
  );
  if (typeof created === 'string') throw new Error(created);
  return created;
}

/** Records that budgets have reached 80 % of their amounts. */
async function cross(budgets: readonly BudgetRow[]): Promise<void> {
  const crossing = { period_start: '2026-03-01', kind: 'threshold' as const, is_late: false, figure: 85 };
  const details = { amount: 100, unit: 'usd' as const, low: null, high: null, median: null, threshold: 80 };
  for (const budget of budgets) {
    const recorded = await installation.database.withTransaction((transaction) =>
      recordCrossings(transaction, budget, [{ ...crossing, ...details }], new Date(START_MS).toISOString()),
    );
    expect(recorded).toHaveLength(1);
  }
}

async function clearDestinations(): Promise<void> {
  for (const table of ['budgets', 'alert_destinations']) {
    await installation.database.database.execute(
      `DELETE FROM recount.${table} WHERE workspace_id = '${TEST_WORKSPACE}'`,
    );
  }
}

interface Mail {
  from: string;
  to: string[];
  source: string;
}

describe('e-mail', () => {
  let server: SMTPServer;
  const mails: Mail[] = [];
  let refused: string[] = [];

  beforeEach(async () => {
    mails.length = 0;
    refused = [];
    server = new SMTPServer({
      disabledCommands: ['STARTTLS', 'AUTH'],
      onRcptTo: ({ address }, _session, done) =>
        done(refused.includes(address) ? Object.assign(new Error('no such user'), { responseCode: 550 }) : null),
      onData: (stream, { envelope }, done) => {
        text(stream).then((source) => {
          const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
          mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), source });
          done();
        }, done);
      },
    });
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  const closeServer = () => new Promise<void>((resolve) => server.close(() => resolve()));
  afterEach(closeServer);

  const toOptions = (): Partial<AlertOptions> => {
    const { port } = server.server.address() as AddressInfo;
    return { mailServer: { url: `smtp://127.0.0.1:${port}`, from: 'recount@example.org' } };
  };

  it('reaches all recipients of a destination, with the message’s id', async () => {
    const { row } = await add({ kind: 'email', addresses: ['ada@example.org', 'bob@example.org'] });
    expect(row).toMatchObject({ hint: 'ada@example.org, bob@example.org', secret: null });
    const message = await enqueue(row.id);
    await deliver(START_MS + 1000, toOptions());
    expect(await find(message)).toMatchObject({ state: 'sent', attempts: 1 });
    const [mail, ...others] = mails;
    expect(others).toEqual([]);
    expect(mail).toMatchObject({ from: 'recount@example.org', to: ['ada@example.org', 'bob@example.org'] });
    expect(mail?.source).toContain(`Message-ID: <${message.id}@example.org>`);
    expect(mail?.source).toContain('Subject: Test of recount');
  });

  it('has the warnings of budgets that name it, and of budgets that name none', async () => {
    await clearDestinations();
    const chat = await startReceiver(accept);
    const other = await startReceiver(accept);
    const team = (await add({ kind: 'slack', url: chat.url })).row.id;
    const pager = (await add({ kind: 'webhook', url: other.url })).row.id;
    const managers = (await add({ kind: 'email', addresses: ['ada@example.org'] })).row.id;
    const toAll = await createTestBudget('to all', null);
    const toManagers = await createTestBudget('to managers', [managers]);
    const toTwo = await createTestBudget('to two', [team, pager]);
    const remove = (id: string) =>
      installation.database.withTransaction((transaction) => deleteDestination(transaction, { ...PLACE, id }));
    await expect(remove(managers)).rejects.toThrow('The budget to managers has no other destination');
    expect(await remove(pager)).toBe(true);
    await cross([toAll, toManagers, toTwo]);
    await deliver(START_MS + 1000, toOptions());
    const words = chat.received.map(({ body }) => /Budget (.*): 80 % spent/.exec(body)?.[1]);
    expect(words.sort()).toEqual(['to all', 'to two']);
    expect(other.received).toEqual([]);
    const subjects = mails.map(({ source }) => /^Subject: Budget (.*): 80/m.exec(source)?.[1]);
    expect(subjects.sort()).toEqual(['to all', 'to managers']);
  });

  it('waits for another attempt without a mail server, if it is down, or if it refuses', async () => {
    const options = toOptions();
    const message = await enqueue((await add({ kind: 'email', addresses: ['ada@example.org'] })).row.id);
    await deliver(START_MS + 1000);
    expect((await find(message))?.failure_reason).toContain('RECOUNT_SMTP_URL');
    refused = ['ada@example.org'];
    await deliver(START_MS + 60_000, options);
    expect((await find(message))?.failure_reason).toBe('The mail server did not accept it with 550 (EENVELOPE)');
    await closeServer();
    await deliver(START_MS + 120_000, options);
    expect(await find(message)).toMatchObject({ state: 'waiting', attempts: 3 });
    expect((await find(message))?.failure_reason).toMatch(
      /^The mail server did not accept it \((ESOCKET|ECONNECTION)\)$/,
    );
  });

  it('is not sent again to those who have it if others are refused', async () => {
    refused = ['bob@example.org'];
    const { row } = await add({ kind: 'email', addresses: ['ada@example.org', 'bob@example.org'] });
    const message = await enqueue(row.id);
    await deliver(START_MS + 1000, toOptions());
    expect(await find(message)).toMatchObject({ state: 'failed', failure_reason: expect.stringContaining('1 of 2') });
    expect(mails).toHaveLength(1);
  });
});

it('sends what waits as long as the worker runs', async () => {
  const ended = new AbortController();
  const { url, received } = await startReceiver((response) => {
    response.writeHead(200).end();
  });
  const message = await enqueue((await add({ kind: 'webhook', url })).row.id);
  const reports: unknown[] = [];
  const deps = {
    database: installation.database,
    onReport: (report: unknown) => {
      reports.push(report);
      ended.abort();
    },
    onFailure: (reason: string) => ended.abort(reason),
  };
  await runDeliveries(deps, OPTIONS, { signal: ended.signal, intervalMs: 10 });
  expect(reports).toMatchObject([{ deliveryId: message.id, state: 'sent', attempts: 1 }]);
  expect(received).toHaveLength(1);
});

it('sends to each receiver, also later, while others hang', async () => {
  const ended = new AbortController();
  const asked = Promise.withResolvers<void>();
  const hanging = await startReceiver(() => asked.resolve());
  const stuck = (await add({ kind: 'webhook', url: hanging.url })).row.id;
  for (let count = 0; count < 120; count++) await enqueue(stuck);
  const well = await startReceiver(accept);
  const other = (await add({ kind: 'webhook', url: well.url })).row.id;
  const deps = { database: installation.database, onReport: () => sent.resolve(), onFailure: () => undefined };
  let sent = Promise.withResolvers<void>();
  const message = await enqueue(other);
  const running = runDeliveries(deps, { ...OPTIONS, timeoutMs: 3_600_000 }, { signal: ended.signal, intervalMs: 10 });
  await asked.promise;
  await sent.promise;
  sent = Promise.withResolvers<void>();
  const later = await enqueue(other);
  await sent.promise;
  ended.abort();
  await running;
  expect(well.received.map(({ headers }) => headers['webhook-id'])).toEqual([message.id, later.id]);
  expect(hanging.received).toHaveLength(1);
});

it('goes to the next message after a failure, and tries a mail server no longer than it may take', async () => {
  const { url, received } = await startReceiver((response, count) => response.writeHead(count === 1 ? 500 : 204).end());
  const { row } = await add({ kind: 'webhook', url });
  const messages = [await enqueue(row.id), await enqueue(row.id)];
  await deliver(START_MS + 1000);
  await deliver(START_MS + 1001);
  expect(received.map(({ headers }) => headers['webhook-id'])).toEqual(messages.map(({ id }) => id));
  // It greets, and then says a word now and then, and never all.
  const slow = createTcpServer((socket) => {
    socket.write('220 hello\r\n');
    const timer = setInterval(() => socket.write('250-wait\r\n'), 20);
    socket.on('error', () => undefined).on('close', () => clearInterval(timer));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void slow.close());
  await once(slow, 'listening');
  const mail = await enqueue((await add({ kind: 'email', addresses: ['ada@example.org'] })).row.id);
  const { port } = slow.address() as AddressInfo;
  const mailServer = { url: `smtp://127.0.0.1:${port}`, from: 'recount@example.org' };
  await deliver(START_MS + 2000, { mailServer, timeoutMs: 500 });
  expect(await find(mail)).toMatchObject({ state: 'waiting', attempts: 1 });
});

it('waits for no receiver once the worker stops, and keeps what was not sent', async () => {
  const ended = new AbortController();
  const { url, received } = await startReceiver(() => ended.abort());
  const destination = (await add({ kind: 'webhook', url })).row.id;
  const waiting = [];
  for (let count = 0; count < 10; count++) waiting.push(await enqueue(destination));
  const deps = { database: installation.database, onReport: () => undefined, onFailure: () => undefined };
  await runDeliveries(deps, { ...OPTIONS, timeoutMs: 3_600_000 }, { signal: ended.signal });
  expect(received.length).toBeLessThan(waiting.length);
  for (const message of waiting) expect(await find(message)).toMatchObject({ state: 'waiting', attempts: 0 });
});
