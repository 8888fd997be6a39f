import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiKey, createDatabasePool, ensureWorkspace } from '@recount/db';
import { createTestDatabase, type TestDatabase } from '@recount/local-postgres/testing';
import { startCollector } from '@recount/service/telemetry/testing';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ApiConfig, readApiConfig } from './config.ts';
import { startApi } from './start-api.ts';
import { toTranscript } from './testing/transcript-lines.ts';
import { listUploadsUnderWay, openUpload, type UploadUnderWay, waitUntilStoring } from './testing/upload-under-way.ts';

const log = pino({ level: 'silent' });

let testDatabase: TestDatabase;
let storeDirectory: string;
let key: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  storeDirectory = await mkdtemp(join(tmpdir(), 'recount-start-api-'));
  const pool = createDatabasePool({ connectionString: testDatabase.connectionString });
  const { id: workspaceId } = await ensureWorkspace(pool.database, '01J00000000000000000000001', 'default');
  ({ key } = await createApiKey(pool.database, { workspaceId, name: 'test', scopes: ['admin'] }));
  await pool.close();
});
afterAll(async () => {
  await testDatabase.drop();
  await rm(storeDirectory, { recursive: true });
});

function readConfig(environment: Record<string, string> = {}): ApiConfig {
  return readApiConfig({
    DATABASE_URL: testDatabase.connectionString,
    RECOUNT_RAW_STORE: storeDirectory,
    RECOUNT_PORT: '0',
    ...environment,
  });
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** Starts an upload whose beginning is sent and being stored. */
async function beginUpload(url: string, text: string): Promise<UploadUnderWay> {
  const upload = openUpload({ url, key }, { 'content-length': String(Buffer.byteLength(text)) }, text.slice(0, 100));
  await waitUntilStoring(storeDirectory);
  return upload;
}

describe('startApi', () => {
  it('serves the metrics of all workspaces on a separate port only', async () => {
    const port = await findFreePort();
    const api = await startApi(readConfig({ RECOUNT_METRICS_PORT: String(port) }), log);
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await answer.text()).toContain('recount_transcripts{status="failed"} 0');
    const asTenant = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
    expect(asTenant.status).toBe(404);
    await expect(startApi(readConfig({ RECOUNT_METRICS_PORT: String(port) }), log)).rejects.toThrow('EADDRINUSE');
    await api.close();
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow('fetch failed');
  });

  it('serves, and on close lets a running upload finish, then closes its connection', async () => {
    const api = await startApi(readConfig(), log);
    expect(api.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200);
    const text = toTranscript('under-way', 20);
    const upload = await beginUpload(api.url, text);
    const closed = api.close();
    await vi.waitFor(() => expect(fetch(`${api.url}/healthz`)).rejects.toThrow('fetch failed'));
    upload.send(text.slice(100));
    const answer = await upload.answer;
    expect(answer).toMatch(/^HTTP\/1.1 202 /);
    expect(answer).toMatch(/connection: close/i);
    await closed;
  });

  it('sends spans of uploads, without any of their content, if the OpenTelemetry variables ask for it', async () => {
    const collector = await startCollector();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url);
    const api = await startApi(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }), log);
    const upload = async (body: string): Promise<Response> => {
      const headers = { authorization: `Bearer ${key}` };
      return await fetch(`${api.url}/v1/transcripts?path=/private/x.jsonl`, { method: 'POST', headers, body });
    };
    const accepted = await upload(toTranscript('private-session', 4));
    const { transcript_id } = (await accepted.json()) as { transcript_id: string };
    expect((await upload('{"type":"note","text":"private"}\n')).status).toBe(422);
    await api.close();
    vi.unstubAllEnvs();
    collector.close();
    const [span, refused] = collector.spans.filter(({ name }) => name === 'upload');
    expect(span?.attributes).toMatchObject({ 'recount.transcript_id': transcript_id });
    expect(refused?.attributes).toMatchObject({ 'error.type': 'ReceiveError' });
    const children = collector.spans.filter(({ parentSpanId }) => parentSpanId === span?.spanId);
    expect(children.map(({ name }) => name).sort()).toEqual(['store']);
    for (const secret of ['private', 'prompt 0', key]) expect(collector.bodies.join('')).not.toContain(secret);
  });

  it('waits no longer than the grace period', async () => {
    const api = await startApi(readConfig({ RECOUNT_SHUTDOWN_GRACE_MS: '200' }), log);
    const upload = await beginUpload(api.url, toTranscript('stuck', 20));
    // The upload would be given up a minute after its last byte.
    const startedAtMs = Date.now();
    await api.close();
    expect(Date.now() - startedAtMs).toBeLessThan(40_000);
    expect(await upload.answer).toBe('');
    await vi.waitFor(async () => expect(await listUploadsUnderWay(storeDirectory)).toEqual([]));
  });

  it('does not start if its port is in use, or if the database is missing or has another version', async () => {
    const api = await startApi(readConfig(), log);
    const { port } = new URL(api.url);
    await expect(startApi(readConfig({ RECOUNT_PORT: port }), log)).rejects.toThrow('EADDRINUSE');
    await api.close();
    const nowhere = 'postgres://nobody@127.0.0.1:1/none';
    await expect(startApi(readConfig({ DATABASE_URL: nowhere }), log)).rejects.toThrow();
    const postgres = testDatabase.connectionString.replace(/\/[^/]*$/, '/postgres');
    await expect(startApi(readConfig({ DATABASE_URL: postgres }), log)).rejects.toThrow('recount migrate');
  });
});
