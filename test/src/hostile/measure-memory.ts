import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { newTestStreamId, openLive } from '@recount/api/testing/live-client';
import { createDatabasePool, type DatabasePool } from '@recount/db';
import { type ApiProcess, readPeakOfProgram, startApiProcess, startWorkerProcess } from './api-process.ts';
import { type MemoryCase, toTranscript } from './memory-cases.ts';

export interface MemoryMeasure {
  name: string;
  bytes: number;
  /** The same after compression, which live streams have none of. */
  sentBytes: number;
  seconds: number;
  workerPeakBytes: number;
  apiPeakBytes: number;
  violations: string[];
}

const INGEST_TIMEOUT_MS = 10 * 60_000;
/** The longest line of a live stream that is read. */
const LIVE_LINE_BYTES = 9 * 1024 * 1024;

/** Uploads every case, and streams as much of it as a live stream reads, to an API and a worker that just started. */
export async function measureMemory(
  cases: readonly MemoryCase[],
  onMeasure: (measure: MemoryMeasure) => void,
): Promise<MemoryMeasure[]> {
  const installation = await startApiProcess({});
  const database = createDatabasePool({ connectionString: installation.connectionString });
  const measures: MemoryMeasure[] = [];
  try {
    for (const [index, each] of cases.entries()) {
      for (const way of each.agent === undefined ? [upload, stream] : [upload]) {
        const measure = await measureCase(installation, database, each, way, `memory-${index}-${way.name}`);
        measures.push(measure);
        onMeasure(measure);
      }
    }
  } finally {
    await database.close();
    await installation.stop();
  }
  return measures;
}

async function measureCase(
  installation: ApiProcess,
  database: DatabasePool,
  each: MemoryCase,
  send: typeof upload | typeof stream,
  session: string,
): Promise<MemoryMeasure> {
  const startedAtMs = performance.now();
  await installation.restart();
  const worker = await startWorkerProcess(installation);
  try {
    const sent = await send(installation, each, session);
    const violations = await waitForRows(database, session, each, () => worker.exitCode ?? worker.signalCode);
    return {
      name: `${send.name}: ${each.name}`,
      ...sent,
      seconds: (performance.now() - startedAtMs) / 1000,
      workerPeakBytes: (await readPeakOfProgram(worker)) ?? 0,
      apiPeakBytes: (await installation.readPeakRssBytes()) ?? 0,
      violations,
    };
  } finally {
    if ((worker.exitCode ?? worker.signalCode) === null) {
      worker.kill('SIGTERM');
      await once(worker, 'close');
    }
  }
}

async function upload(api: ApiProcess, each: MemoryCase, session: string) {
  let bytes = 0;
  let sentBytes = 0;
  async function* plain(): AsyncGenerator<Buffer> {
    for (const chunk of toTranscript(each, session)) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of Readable.from(plain(), { objectMode: false }).pipe(createGzip({ level: 1 }))) {
      sentBytes += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  }
  const query = new URLSearchParams({ session_id: session, agent: each.agent ?? 'claude-code' });
  const response = await fetch(`${api.url}/v1/transcripts?${query}`, {
    method: 'POST',
    body: Readable.toWeb(Readable.from(counted())) as ReadableStream,
    duplex: 'half',
    headers: { authorization: `Bearer ${api.key}`, 'content-encoding': 'gzip' },
  } as RequestInit);
  if (response.status !== 202) throw new Error(`${each.name} is answered ${response.status}: ${await response.text()}`);
  return { bytes, sentBytes };
}

async function stream(api: ApiProcess, each: MemoryCase, session: string) {
  const live = openLive(api, session, { 'recount-stream': newTestStreamId(), 'recount-complete': '?1' });
  let bytes = 0;
  for (const chunk of toTranscript({ ...each, lineBytes: Math.min(each.lineBytes, LIVE_LINE_BYTES) }, session)) {
    bytes += chunk.length;
    await live.write(chunk);
  }
  live.end();
  const { status } = await live.answer;
  if (status !== 200) throw new Error(`${each.name} as a stream is answered ${status}`);
  return { bytes, sentBytes: bytes };
}

/** Waits until the session is ingested; returns what is not as it should be. */
async function waitForRows(
  { pool }: DatabasePool,
  session: string,
  each: MemoryCase,
  toEnd: () => number | string | null,
): Promise<string[]> {
  const deadlineMs = performance.now() + INGEST_TIMEOUT_MS;
  for (;;) {
    const { rows } = await pool.query(
      `SELECT t.status, (SELECT count(*)::int FROM recount.content_blocks b
         WHERE b.workspace_id = t.workspace_id AND b.content_text = 'the last line') AS last_lines
       FROM recount.transcripts t WHERE t.session_id = $1`,
      [session],
    );
    const [row] = rows;
    if (row?.status === 'ingested') {
      await pool.query(`UPDATE recount.content_blocks SET content_text = 'seen' WHERE content_text = 'the last line'`);
      return each.agent === undefined && row.last_lines !== 1 ? ['the last line is not read'] : [];
    }
    if (toEnd() !== null) return [`the worker ended: ${toEnd()}`];
    if (row?.status === 'failed' || performance.now() > deadlineMs) return [`it is ${row?.status ?? 'not there'}`];
    await sleep(200);
  }
}
