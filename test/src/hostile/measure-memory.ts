import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { newTestStreamId, openLive } from '@recount/api/testing/live-client';
import { changeWorkspaceSettings, createDatabasePool, type DatabasePool, type RedactionMode } from '@recount/db';
import {
  type ApiProcess,
  HOSTILE_WORKSPACE,
  readPeakOfProgram,
  startApiProcess,
  startWorkerProcess,
} from './api-process.ts';
import { type MemoryCase, toTranscript } from './memory-cases.ts';
import { readSession } from './read-session.ts';
import { sendArchive } from './send-archive.ts';

export interface MemoryMeasure {
  name: string;
  bytes: number;
  /** The same after compression, which live streams have none of. */
  sentBytes: number;
  seconds: number;
  workerPeakBytes: number;
  apiPeakBytes: number;
  /** Of the program that sent an archive. */
  senderPeakBytes: number;
  /** The number of requests refused for a while, by their answers. */
  refusals: Record<string, number>;
  violations: string[];
}

interface Sent {
  bytes: number;
  sentBytes: number;
  senderPeakBytes?: number;
  refusals?: Record<string, number>;
}

/** A way to send a case, and to read it once it is ingested. */
interface Way {
  name: string;
  send(api: ApiProcess, each: MemoryCase, session: string): Promise<Sent>;
  read?(api: ApiProcess, session: string): Promise<string[]>;
}

const INGEST_TIMEOUT_MS = 10 * 60_000;
/** The longest line of a live stream that is read. */
const LIVE_LINE_BYTES = 9 * 1024 * 1024;

/** Answers that ask a sender to continue later: for lack of memory, or of a connection to an overloaded database. */
const TEMPORARY: ReadonlySet<string> = new Set(['too-many-streams', 'database-unavailable']);

/** Within one key's half of a workspace's streams. */
const STREAMS_AT_ONCE = 40;

/**
 * Uploads every case, and streams the part that a live stream reads, alone and many times concurrently to an API and a
 * worker that just started. `only` is a text in the names of the measures; it throws if none has it.
 */
export async function measureMemory(
  cases: readonly MemoryCase[],
  { redaction, only }: { redaction: RedactionMode; only: string },
  onMeasure: (measure: MemoryMeasure) => void,
): Promise<MemoryMeasure[]> {
  const chosen = cases.flatMap((each, index) =>
    toWays(each).flatMap((way) => (toName(way, each).includes(only) ? [{ each, index, way }] : [])),
  );
  if (chosen.length === 0) throw new Error(`--only: no case of memory has "${only}" in its name`);
  const installation = await startApiProcess({});
  const database = createDatabasePool({ connectionString: installation.connectionString });
  const measures: MemoryMeasure[] = [];
  try {
    await changeWorkspaceSettings(database.database, HOSTILE_WORKSPACE, { redaction });
    for (const { each, index, way } of chosen) {
      const measure = await measureCase(installation, database, each, way, `memory-${index}-${way.name}`);
      measures.push(measure);
      onMeasure(measure);
    }
  } finally {
    await database.close();
    await installation.stop();
  }
  return measures;
}

const toWays = ({ agent, lineBytesOfMany, isInArchives }: MemoryCase): Way[] => [
  { name: 'upload', send: upload },
  ...(agent === undefined ? [{ name: 'stream', send: stream }] : []),
  ...(lineBytesOfMany !== undefined ? [{ name: 'streams', send: streams }] : []),
  ...(isInArchives ? [...ARCHIVES, { name: 'read', send: upload, read: readSession }] : []),
];

const ARCHIVES = (['tar', 'zip'] as const).map(
  (kind): Way => ({
    name: kind,
    send: (api, each, session) => sendArchive(api, kind, each, session),
  }),
);

const toName = (way: Way, each: MemoryCase): string => `${way.name}: ${each.name}`;

async function measureCase(
  installation: ApiProcess,
  database: DatabasePool,
  each: MemoryCase,
  way: Way,
  session: string,
): Promise<MemoryMeasure> {
  const startedAtMs = performance.now();
  await installation.restart();
  const worker = await startWorkerProcess(installation);
  try {
    const sent = await way.send(installation, each, session);
    const violations = await waitForRows(database, session, each, () => worker.exitCode ?? worker.signalCode);
    if (way.read !== undefined) {
      // The peak must come from the answers.
      await installation.restart();
      violations.push(...(await way.read(installation, session)));
    }
    return {
      name: toName(way, each),
      senderPeakBytes: 0,
      refusals: {},
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

/** Each is a separate session; the first has the name that is waited for. */
async function streams(api: ApiProcess, each: MemoryCase, session: string) {
  const part = { ...each, lineBytes: each.lineBytesOfMany ?? each.lineBytes };
  const sent = await Promise.all(
    Array.from({ length: STREAMS_AT_ONCE }, (_, index) =>
      stream(api, part, index === 0 ? session : `${session}-${index}`),
    ),
  );
  const bytes = sent.reduce((sum, outcome) => sum + outcome.bytes, 0);
  const refusals: Record<string, number> = {};
  for (const [problem, count] of sent.flatMap((outcome) => Object.entries(outcome.refusals ?? {})))
    refusals[problem] = (refusals[problem] ?? 0) + count;
  return { bytes, sentBytes: bytes, refusals };
}

/** Like a sender, continues a stream that finds no room later, where its stored bytes end. */
async function stream(api: ApiProcess, each: MemoryCase, session: string): Promise<Sent> {
  const name = newTestStreamId();
  const part = { ...each, lineBytes: Math.min(each.lineBytes, LIVE_LINE_BYTES) };
  const refusals: Record<string, number> = {};
  for (let offset = 0; ; offset = await readOffset(api, session, name)) {
    const { status, problem, bytes } = await sendRest(api, toTranscript(part, session), session, name, offset);
    if (status === 200) return { bytes, sentBytes: bytes, refusals };
    if (!TEMPORARY.has(problem)) throw new Error(`${each.name} as a stream is answered ${status} ${problem}`);
    refusals[problem] = (refusals[problem] ?? 0) + 1;
    await sleep(1000);
  }
}

async function sendRest(
  api: ApiProcess,
  chunks: Iterable<Buffer>,
  session: string,
  name: string,
  offset: number,
): Promise<{ status: number; problem: string; bytes: number }> {
  const headers = { 'recount-stream': name, 'recount-offset': String(offset), 'recount-complete': '?1' };
  const live = openLive(api, session, headers);
  let bytes = 0;
  for (const chunk of chunks) {
    const rest = chunk.subarray(Math.min(chunk.length, Math.max(0, offset - bytes)));
    bytes += chunk.length;
    // A stream that is refused is answered before its end, and its connection closed.
    const isAnswered = await Promise.race([live.write(rest).then(() => false), live.answer.then(() => true)]);
    if (isAnswered) break;
  }
  live.end();
  const { status, headers: answered, body } = await live.answer;
  const problem = body.type?.split(':').at(-1) ?? '';
  return { status, problem: answered['retry-after'] === undefined ? `${problem} without Retry-After` : problem, bytes };
}

/** Bytes of a stream that are stored (none if it was refused before it began). */
async function readOffset(api: ApiProcess, session: string, name: string): Promise<number> {
  const response = await fetch(`${api.url}/v1/sessions/${session}/live?stream=${name}`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${api.key}` },
  });
  return Number(response.headers.get('recount-offset') ?? 0);
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
         WHERE b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id AND b.content_text = 'the last line') AS last_lines
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
