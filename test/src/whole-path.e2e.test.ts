import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateTranscript } from '@recount/bench/generate-transcript';
import { provideDashboard } from '@recount/cli/dashboard';
import type { SearchResultList, SessionDetail, UsageReport } from '@recount/contract';
import { createApiKey, ensureWorkspace } from '@recount/db';
import { startFauxqs } from 'fauxqs';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runRecount } from './chaos/run-recount.ts';
import type { SupervisedProcess } from './chaos/supervised-process.ts';
import { BROWSER_FLAGS, findBrowser } from './dashboard/browser.ts';
import { signIn } from './dashboard/sign-in.ts';
import { findFreePort } from './find-free-port.ts';
import { countFleet } from './independent-fleet-count.ts';
import { startTestBackend, type TestBackend } from './test-backend.ts';

const WORKSPACE = '01J0000000000000000000000A';
const SAMPLES = join(import.meta.dirname, '../../samples/claude-projects');
const SAMPLE = '5dd9f6f5-700b-4247-91dd-e1af3b04230e';
const GENERATED_BYTES = [7_000, 7_000, 7_000, 7_000, 900_000];
const STORES = ['folder', 's3'] as const;
/** Far longer than anything takes. */
const BROWSER_WAIT_MS = 120_000;

interface Upload {
  path: string;
  bytes: Buffer;
  transcriptId: string;
}

/** An installation of one API and one worker, which was killed among the uploads that it ingested. */
interface Installation {
  url: string;
  key: string;
  backend: TestBackend;
  /** For `recount` commands. */
  environment: Record<string, string>;
  uploads: Upload[];
  call(path: string, init?: RequestInit): Promise<Response>;
  read<Answer>(path: string): Promise<Answer>;
  send(path: string, bytes: Buffer): Promise<Response>;
  stop(): Promise<void>;
}

const executablePath = findBrowser() ?? '';
const installations = new Map<string, Installation>();

beforeAll(async () => {
  await provideDashboard(() => undefined);
  const transcripts = await listTranscripts();
  const started = STORES.map(async (store) => installations.set(store, await ingest(store, transcripts)));
  for (const result of await Promise.allSettled(started)) if (result.status === 'rejected') throw result.reason;
});
afterAll(async () => {
  await Promise.all([...installations.values()].map((installation) => installation.stop()));
});

/** The samples, a fork and a beginning of one of them, and generated ones of a size for groups and of a larger one. */
async function listTranscripts(): Promise<Pick<Upload, 'path' | 'bytes'>[]> {
  const transcripts: Pick<Upload, 'path' | 'bytes'>[] = [];
  for await (const name of glob('**/*.jsonl', { cwd: SAMPLES }))
    transcripts.push({ path: join(SAMPLES, name), bytes: await readFile(join(SAMPLES, name)) });
  const forked = transcripts.find(({ path }) => path.includes(SAMPLE));
  if (forked === undefined) throw new Error(`${SAMPLE} is no sample`);
  const fork = '77777777-700b-4247-91dd-e1af3b04230e';
  const text = forked.bytes.toString();
  transcripts.push({ path: forked.path.replace(SAMPLE, fork), bytes: Buffer.from(text.replaceAll(SAMPLE, fork)) });
  const beginning = text
    .split(/(?<=\n)/)
    .slice(0, 12)
    .join('');
  transcripts.unshift({ path: forked.path, bytes: Buffer.from(beginning) });
  for (const [index, targetBytes] of GENERATED_BYTES.entries()) {
    const sessionId = `00000000-0000-4000-8000-00000000000${index}`;
    const bytes = Buffer.concat([...generateTranscript({ seed: 40 + index, targetBytes, sessionId })]);
    transcripts.push({ path: `/home/a/.claude/projects/-home-a/${sessionId}.jsonl`, bytes });
  }
  return transcripts;
}

async function startStore(kind: (typeof STORES)[number]) {
  if (kind === 'folder') return { settings: {}, stop: async () => undefined };
  const server = await startFauxqs({ port: 0, logger: false });
  server.createBucket('transcripts');
  const settings = {
    RECOUNT_RAW_STORE: 's3://transcripts/raw',
    S3_ENDPOINT: server.address,
    S3_REGION: 'us-east-1',
    S3_ACCESS_KEY_ID: 'test',
    S3_SECRET_ACCESS_KEY: 'test',
  };
  return { settings, stop: () => server.stop() };
}

async function ingest(
  kind: (typeof STORES)[number],
  transcripts: readonly Pick<Upload, 'path' | 'bytes'>[],
): Promise<Installation> {
  const store = await startStore(kind);
  const backend = await startTestBackend(`whole-path-${kind}`);
  const { database } = backend.database;
  await ensureWorkspace(database, WORKSPACE, 'default');
  const { key } = await createApiKey(database, { workspaceId: WORKSPACE, name: 'test', scopes: ['ingest', 'admin'] });
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const programs: SupervisedProcess[] = [await backend.start('api', { RECOUNT_PORT: String(port), ...store.settings })];
  const call = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } });
  const installation: Installation = {
    url,
    key,
    backend,
    environment: { ...backend.environment, ...store.settings },
    uploads: [],
    call,
    read: async <Answer>(path: string) => (await (await call(path)).json()) as Answer,
    send: (path, bytes) =>
      call(`/v1/transcripts?${new URLSearchParams({ path })}`, {
        method: 'POST',
        body: Uint8Array.from(bytes),
        headers: { 'content-type': 'application/x-ndjson' },
      }),
    async stop() {
      const crashes = programs.flatMap((program) => program.crashes);
      const exitCodes = await Promise.all(programs.map((program) => program.stop()));
      await backend.stop();
      await store.stop();
      expect({ crashes, exitCodes }).toEqual({ crashes: [], exitCodes: [0, 0] });
    },
  };
  for (const { path, bytes } of transcripts) {
    const answer = await installation.send(path, bytes);
    expect(answer.status).toBe(202);
    const { transcript_id: transcriptId } = (await answer.json()) as { transcript_id: string };
    installation.uploads.push({ path, bytes, transcriptId });
  }
  programs.push(await killInTheMiddle(backend, store.settings));
  await vi.waitFor(async () => expect(await countUningested(backend)).toBe(0));
  return installation;
}

/** Starts a worker, and kills it while it writes rows. */
async function killInTheMiddle(
  { database, start }: TestBackend,
  settings: Record<string, string>,
): Promise<SupervisedProcess> {
  const blocker = await database.pool.connect();
  try {
    await blocker.query('BEGIN');
    await blocker.query('LOCK TABLE recount.sessions IN EXCLUSIVE MODE');
    const worker = await start('worker', settings);
    await vi.waitFor(async () => {
      const { rows } = await database.pool.query(
        `SELECT count(*)::int AS waiting FROM pg_locks JOIN pg_database ON pg_database.oid = database
         WHERE NOT granted AND relation = 'recount.sessions'::regclass AND datname = current_database()`,
      );
      expect(rows[0].waiting).toBeGreaterThan(0);
    });
    await worker.kill(0);
    expect(await countUningested({ database })).toBeGreaterThan(1);
    return worker;
  } finally {
    await blocker.query('ROLLBACK');
    blocker.release();
  }
}

async function countUningested({ database }: Pick<TestBackend, 'database'>): Promise<number> {
  const { rows } = await database.pool.query(
    `SELECT count(*)::int AS count FROM recount.transcripts WHERE status NOT IN ('ingested', 'superseded')`,
  );
  return rows[0].count;
}

function get(store: string): Installation {
  const installation = installations.get(store);
  if (installation === undefined) throw new Error(`no installation with a ${store} store`);
  return installation;
}

const toDigest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe.each(STORES)('an installation with a %s store, whose worker was killed', (store) => {
  it('has every byte that it acknowledged', async () => {
    const { uploads, call } = get(store);
    for (const { transcriptId, bytes } of uploads) {
      const raw = new Uint8Array(await (await call(`/v1/transcripts/${transcriptId}/raw`)).arrayBuffer());
      expect(toDigest(raw)).toBe(toDigest(bytes));
    }
  });

  it('answers a second upload with the first transcript', async () => {
    const { uploads, send } = get(store);
    for (const { path, bytes, transcriptId } of uploads.slice(0, 2))
      expect(await (await send(path, bytes)).json()).toMatchObject({ transcript_id: transcriptId, duplicate: true });
  });

  it('counts each response once, in HTTP, CLI and SQL as in an independent count', async () => {
    const { uploads, read, environment, backend } = get(store);
    const counted = countFleet(uploads.map(({ bytes }) => bytes));
    const figures = {
      responses: counted.responses,
      tokens_in: counted.tokensIn,
      tokens_out: counted.tokensOut,
      cache_read: counted.cacheRead,
      cache_write: counted.cacheWrite,
    };
    const { totals } = await read<UsageReport>('/v1/analytics/usage');
    expect(totals.own).toMatchObject(figures);
    const printed = await runRecount(['report', 'usage', '--json'], environment);
    expect(JSON.parse(printed.stdout)).toMatchObject({ totals: { own: totals.own } });
    const { rows } = await backend.database.pool.query(
      `SELECT sum(responses)::float8 AS responses, sum(tokens_in)::float8 AS tokens_in,
         sum(tokens_out)::float8 AS tokens_out, sum(cache_read)::float8 AS cache_read,
         sum(cache_write)::float8 AS cache_write, sum(cost_usd)::float8 AS cost_usd
       FROM analytics.daily_usage WHERE workspace_id = $1`,
      [WORKSPACE],
    );
    expect(rows).toEqual([{ ...figures, cost_usd: expect.closeTo(totals.own.cost_usd ?? 0, 8) }]);
  });

  it('finds a text by search', async () => {
    const { read } = get(store);
    const results = await vi.waitFor(async () => {
      const answer = await read<SearchResultList>('/v1/search?q=growing+pauses');
      expect(answer.waiting_sessions).toBe(0);
      return answer.results;
    });
    expect(results.map(({ session_id }) => session_id)).toContain(SAMPLE);
  });

  it('passes its own checks', async () => {
    const { environment } = get(store);
    const [verify, doctor] = await Promise.all([
      runRecount(['verify'], environment),
      runRecount(['doctor', '--checksums'], environment),
    ]);
    expect(verify).toMatchObject({ exitCode: 0 });
    expect(doctor).toMatchObject({ exitCode: 0 });
  });
});

it.skipIf(executablePath === '')('the dashboard shows the figures of the API in a browser', async () => {
  const { url, key, read } = get('s3');
  const browser = await chromium.launch({ executablePath, args: BROWSER_FLAGS, timeout: BROWSER_WAIT_MS });
  try {
    const context = await browser.newContext({ storageState: await signIn(url, key), locale: 'en-US' });
    context.setDefaultTimeout(BROWSER_WAIT_MS);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', ({ message }) => complaints.push(message));
    const { title } = await read<SessionDetail>(`/v1/sessions/${SAMPLE}`);
    const { totals } = await read<UsageReport>('/v1/analytics/usage');
    await page.goto(`${url}/?period=all`);
    await page
      .getByText(`$${(totals.own.cost_usd ?? 0).toFixed(2)}`)
      .first()
      .waitFor();
    await page.goto(`${url}/sessions/${SAMPLE}`);
    await page.getByRole('heading', { name: title }).waitFor();
    expect(complaints).toEqual([]);
  } finally {
    await browser.close();
  }
});
