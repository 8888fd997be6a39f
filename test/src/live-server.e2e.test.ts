import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseEvents, withoutTimes } from '@recount/api/testing/event-words';
import { followEvents, newTestStreamId, openLive, readStory, sendLive } from '@recount/api/testing/live-client';
import { createApiKey, createDatabasePool, type DatabasePool, ensureWorkspace } from '@recount/db';
import { createTestDatabase, type TestDatabase } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findCorpus } from './corpus.ts';
import { type RecordedStream, unpackStreams } from './live-run/recorded-streams.ts';

const CLI = fileURLToPath(new URL('../../apps/cli/bin/recount.mjs', import.meta.url));
const AGENTS = { claude: 'claude-code', codex: 'codex', amp: 'amp' } as const;

let directory: string;
let postgres: TestDatabase;
let database: DatabasePool;
let key: string;
const processes: ChildProcess[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-live-'));
  postgres = await createTestDatabase();
  database = createDatabasePool({ connectionString: postgres.connectionString });
  const { id: workspaceId } = await ensureWorkspace(database.database, '01J0000000000000000000000A', 'live');
  ({ key } = await createApiKey(database.database, { workspaceId, name: 'test', scopes: ['admin'] }));
});
afterAll(async () => {
  for (const child of processes) child.kill('SIGKILL');
  await database.close();
  await postgres.drop();
  await rm(directory, { recursive: true, force: true });
});

async function startApi(): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [CLI, 'api'], {
    env: {
      ...process.env,
      DATABASE_URL: postgres.connectionString,
      RECOUNT_RAW_STORE: join(directory, 'raw'),
      RECOUNT_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  processes.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /"url":"(http:[^"]+)"/.exec(line)?.[1];
    // Its further output is not read, but must not block it.
    child.stdout.resume();
    if (url !== undefined) return { url, child };
  }
  throw new Error('The API ended before it was ready');
}

const toLine = (index: number): string =>
  `${JSON.stringify({
    type: 'assistant',
    session_id: 'killed',
    uuid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    message: {
      id: `msg_01ResponseNumber${String(index).padStart(6, '0')}`,
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text: `Antwort ${index} 🎉` }],
      usage: { input_tokens: 1, output_tokens: 10 },
    },
  })}\n`;

/** The time that storing may take on a busy machine. */
const STORED = { interval: 50 };

describe('an API killed with SIGKILL in the middle of a stream', () => {
  it('has stored everything that it acknowledged; client and reader continue on another one, without loss or repetition', async () => {
    const first = await startApi();
    const second = await startApi();
    const bytes = Buffer.from(Array.from({ length: 400 }, (_, index) => toLine(index)).join(''));
    const streamId = newTestStreamId();
    const name = { 'recount-stream': streamId };
    const live = openLive({ url: first.url, key }, 'killed', name);
    let at = 0;
    const send = async (end: number): Promise<void> => {
      while (at < end) {
        const next = Math.min(end, at + 333);
        await live.write(bytes.subarray(at, next));
        at = next;
        await sleep(20);
      }
    };
    await send(1000);
    // There is no stream to follow until the server has stored its first bytes.
    const before = await vi.waitFor(() => followEvents({ url: first.url, key }, 'killed'), STORED);
    await before.waitFor('text');
    await send(Math.floor(bytes.length / 2));
    const readStored = async (url: string): Promise<number> => {
      const answer = await fetch(`${url}/v1/sessions/killed/live?stream=${streamId}`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${key}` },
      });
      return Number(answer.headers.get('recount-offset'));
    };
    const durable = await vi.waitFor(async () => {
      const offset = await readStored(second.url);
      expect(offset).toBeGreaterThan(1000);
      return offset;
    }, STORED);
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');
    await before.ended;

    const stored = await readStored(second.url);
    expect(stored).toBeGreaterThanOrEqual(durable);
    const lastId = before.events.at(-1)?.id ?? 0;
    const after = await followEvents({ url: second.url, key }, 'killed', { lastEventId: lastId });
    const rest = { ...name, 'recount-offset': String(stored), 'recount-complete': '?1', 'recount-exit-code': '0' };
    const { status, body } = await sendLive({ url: second.url, key }, 'killed', bytes.subarray(stored), rest);
    expect([status, body.stored_bytes, body.state]).toEqual([200, bytes.length, 'closed']);
    await after.waitFor('close');
    after.close();
    const story = [...before.events, ...after.events];
    expect(story.map(({ id }) => id)).toEqual(story.map((_event, index) => index + 1));
    const told = story.slice(0, -1).map(({ data }) => withoutTimes(data));
    expect(told).toEqual(parseEvents('claude', bytes.toString()));
    const raw = await fetch(`${second.url}/v1/transcripts/${body.transcript_id}/raw`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(Buffer.from(await raw.arrayBuffer()).equals(bytes)).toBe(true);
  });
});

const corpus = findCorpus();

describe.skipIf(corpus === undefined)('every recorded stream', () => {
  it('reaches a reader with the events of the library', async () => {
    const { url } = await startApi();
    const streams = unpackStreams(corpus ?? '', join(directory, 'streams'));
    expect(streams.length).toBeGreaterThan(10);
    for (const [index, stream] of streams.entries()) await replay(url, `recorded-${index}`, stream);
  });
});

async function replay(url: string, sessionId: string, { agent, name, path }: RecordedStream): Promise<void> {
  const bytes = await readFile(path);
  const live = openLive({ url, key }, sessionId, { 'recount-complete': '?1' }, { agent: AGENTS[agent] });
  for (let at = 0; at < bytes.length; at += 4099) await live.write(bytes.subarray(at, at + 4099));
  live.end();
  const { status, body } = await live.answer;
  expect([status, body.stored_bytes], name).toEqual([200, bytes.length]);
  const story = await readStory({ url, key }, sessionId);
  expect(story.at(-1)?.event, name).toBe('close');
  const told = story.slice(0, -1).map(({ data }) => withoutTimes(data));
  expect(told, name).toEqual(parseEvents(agent, bytes.toString()));
}
