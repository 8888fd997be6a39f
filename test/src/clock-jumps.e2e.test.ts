import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApiKey, ensureWorkspace } from '@recount/db';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { runRecount } from './chaos/run-recount.ts';
import type { SupervisedProcess } from './chaos/supervised-process.ts';
import { findFreePort } from './find-free-port.ts';
import { type Program, startTestBackend, type TestBackend } from './test-backend.ts';

const WORKSPACE = '01J0000000000000000000000A';
const WAIT = { interval: 200 };
/** Each session gets a version at each offset; the clock is right at the end. */
const OFFSETS = ['+0', '+1d', '+0', '-1d', '+0'] as const;
const OFFSETS_MS = { '+0': 0, '+1d': 86_400_000, '-1d': -86_400_000 };
const MINUTE_MS = 60_000;
/** All except the longest version of each session. */
const EXPECTED_COUNT = 'recount_transcripts{status="superseded"} 8\n';

/** From Debian's package `faketime`. */
async function findLibrary(): Promise<string | undefined> {
  if (!existsSync('/usr/lib')) return undefined;
  for (const folder of await readdir('/usr/lib')) {
    const path = join('/usr/lib', folder, 'faketime', 'libfaketimeMT.so.1');
    if (existsSync(path)) return path;
  }
  return undefined;
}

const library = await findLibrary();
if (library === undefined) console.log('Not tested with a clock that jumps: the package faketime is not installed');

let backend: TestBackend;
let key: string;
beforeAll(async () => {
  backend = await startTestBackend('clock-jumps');
  await ensureWorkspace(backend.database.database, WORKSPACE, 'default');
  ({ key } = await createApiKey(backend.database.database, {
    workspaceId: WORKSPACE,
    name: 'test',
    scopes: ['admin'],
  }));
});
afterAll(() => backend.stop());

const toLines = (session: string, count: number): string =>
  Array.from(
    { length: count },
    (_, index) =>
      `${JSON.stringify({
        type: 'user',
        sessionId: session,
        uuid: `${session}-${index}`,
        timestamp: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
        message: { role: 'user', content: `message ${index}` },
      })}\n`,
  ).join('');

it.skipIf(library === undefined)(
  'neither loses nor repeats a job, and orders no versions, by a clock that jumps a day and back',
  async () => {
    const clock = join(backend.directory, 'clock');
    const environment = {
      ...backend.environment,
      LD_PRELOAD: library as string,
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: '1',
      // Setting a clock does not affect the monotonic one.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
    const jump = (offset: string): Promise<void> => writeFile(clock, `${offset}\n`);
    await jump('+0');
    const [port, metricsPort] = [await findFreePort(), await findFreePort()];
    const ports = { RECOUNT_PORT: String(port), RECOUNT_METRICS_PORT: String(metricsPort) };
    const start = async (program: Program): Promise<SupervisedProcess> => {
      const started = await backend.start(program, { ...environment, ...ports });
      onTestFinished(async () => void (await started.stop()));
      return started;
    };
    const api = await start('api');
    const worker = await start('worker');
    const call = (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: { authorization: `Bearer ${key}` } });
    const readAll = async () =>
      (await backend.database.pool.query('SELECT * FROM recount.transcripts ORDER BY size_bytes, id')).rows;

    for (const [index, offset] of OFFSETS.entries()) {
      await jump(offset);
      // The API sees the jump. The date of its answers is computed once a second.
      await vi.waitFor(async () => {
        const dateMs = Date.parse((await call('/healthz')).headers.get('date') ?? '');
        expect(Math.abs(dateMs - Date.now() - OFFSETS_MS[offset])).toBeLessThan(MINUTE_MS);
      }, WAIT);
      // One session grows with every jump; the other one's longest version came with the clock a day behind.
      const growing = await call('/v1/transcripts', { method: 'POST', body: toLines('growing', 10 * (index + 1)) });
      const lengths = [20, 30, 40, 50, 10];
      const other = await call('/v1/transcripts', { method: 'POST', body: toLines('other', lengths[index] ?? 0) });
      expect([growing.status, other.status], offset).toEqual([202, 202]);
      for (const path of ['/readyz', '/v1/sessions', '/v1/analytics/usage?group_by=day', '/v1/search?q=message']) {
        expect((await call(path)).status, `${path} at ${offset}`).toBe(200);
      }
      const report = await runRecount(['sessions'], {
        ...environment,
        RECOUNT_SERVER: `http://127.0.0.1:${port}`,
        RECOUNT_API_KEY: key,
      });
      expect(report, offset).toMatchObject({ exitCode: 0 });
      await vi.waitFor(async () => {
        expect((await readAll()).every(({ status }) => ['ingested', 'superseded'].includes(status))).toBe(true);
      }, WAIT);
    }
    const { rows: jobs } = await backend.database.pool.query('SELECT transcript_id FROM recount.ingest_jobs');
    expect(jobs).toEqual([]);
    const all = await readAll();
    expect(new Set(all.map(({ id }) => id)).size).toBe(2 * OFFSETS.length);
    for (const session of ['growing', 'other']) {
      const answer = (await (await call(`/v1/sessions/${session}`)).json()) as { total_messages: number };
      expect(answer.total_messages, session).toBe(50);
    }
    const { rows: sums } = await backend.database.pool.query(
      'SELECT session_id, count(*)::int AS count FROM recount.transcript_messages GROUP BY 1 ORDER BY 1',
    );
    expect(sums).toEqual(['growing', 'other'].map((session_id) => ({ session_id, count: 50 })));
    // They are read every ten seconds, whatever the clock says.
    const isCounted = async () =>
      expect(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()).toContain(EXPECTED_COUNT);
    await vi.waitFor(isCounted, WAIT);
    expect([...api.crashes, ...worker.crashes]).toEqual([]);
    expect(await runRecount(['doctor'], environment)).toMatchObject({ exitCode: 0 });
    expect(await runRecount(['verify'], environment)).toMatchObject({ exitCode: 0 });
  },
);
