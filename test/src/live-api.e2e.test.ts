import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AgentEvent, parserFor } from '@recount/core/live';
import { createTestDatabase, type TestDatabase } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';
import { findFreePort } from './find-free-port.ts';
import { type RecordedStream, unpackStreams } from './live-run/recorded-streams.ts';
import { createFakeAgents, holdAgents, startRecount, waitUntil } from './live-run/run-recount.ts';

const CLI = fileURLToPath(new URL('../../apps/cli/bin/recount.mjs', import.meta.url));
const corpus = findCorpus();
const corpusFolder = mkdtempSync(join(tmpdir(), 'recount-live-api-corpus-'));
const recordings = corpus === undefined ? [] : unpackStreams(corpus, corpusFolder);

let home: string;
let postgres: TestDatabase;
let environment: Record<string, string>;
let url: string;
let api: ChildProcess;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-live-api-'));
  await createFakeAgents(join(home, 'bin'));
  postgres = await createTestDatabase();
  const port = String(await findFreePort());
  url = `http://127.0.0.1:${port}`;
  const service = { DATABASE_URL: postgres.connectionString, RECOUNT_RAW_STORE: join(home, 'raw'), RECOUNT_PORT: port };
  expect(await startRecount(home, ['migrate'], service).ended).toMatchObject({ exitCode: 0 });
  const create = ['keys', 'create', '--name', 'test', '--scopes', 'ingest,read', '--json'];
  const { stdout } = await startRecount(home, create, service).ended;
  environment = { ...service, RECOUNT_API_KEY: /"(rk_[^"]+)"/.exec(stdout)?.[1] ?? '' };
  await startApi();
});

afterAll(async () => {
  await killApi();
  await postgres?.drop();
  await rm(home, { recursive: true, force: true });
  rmSync(corpusFolder, { recursive: true });
});

async function startApi(): Promise<void> {
  api = spawn(process.execPath, [CLI, 'api'], {
    env: { PATH: process.env.PATH, ...environment, RECOUNT_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await waitUntil(async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok === true, 'the API');
}

async function killApi(): Promise<void> {
  const ended = once(api, 'exit');
  api.kill('SIGKILL');
  await ended;
}

const get = (path: string): Promise<Response> =>
  fetch(url + path, { headers: { authorization: `Bearer ${environment.RECOUNT_API_KEY}` } });

interface ListedStream {
  stream_id: string;
  session_id: string;
  stored_bytes: number;
  success: boolean | null;
  aborted: boolean | null;
  error: string | null;
}

async function listStreams(state: 'all' | 'running'): Promise<ListedStream[]> {
  return ((await (await get(`/v1/live?state=${state}`)).json()) as { streams: ListedStream[] }).streams;
}

interface SentEvent {
  event: string;
  data: AgentEvent;
}

async function readEvents(sessionId: string): Promise<SentEvent[]> {
  const text = await (await get(`/v1/sessions/${encodeURIComponent(sessionId)}/events?follow=false`)).text();
  return [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, event = '', data = '']) => ({
    event,
    data: JSON.parse(data),
  }));
}

/** The words and actions of the agent, from its parser and as a reader of events gets it. */
function toStory(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type === 'text') return `text ${event.text}`;
    if (event.type === 'tool-start') return `tool ${event.toolName}`;
    if (event.type === 'tool-end') return `output ${event.toolOutput.slice(0, 1000)}`;
    if (event.type === 'result') return `result ${event.success}`;
    return [];
  });
}

async function parse({ agent, path }: RecordedStream): Promise<{ events: AgentEvent[]; sessionId: string }> {
  const parser = parserFor(agent, { now: Date.now });
  if (parser === undefined) throw new Error(agent);
  const events = [...parser.push(await readFile(path)), ...parser.finish()];
  const start = events.find((event) => event.type === 'session-start');
  return { events, sessionId: start?.sessionId ?? '' };
}

describe.skipIf(recordings.length === 0)(
  'recorded streams, run to the live endpoint, read as server-sent events',
  () => {
    it('give the same on both sides, byte for byte', async () => {
      const known = new Set<string>();
      for (const recording of recordings) {
        const { events, sessionId } = await parse(recording);
        // Some recordings are of the same session; its events would follow one another.
        if (known.has(sessionId)) continue;
        known.add(sessionId);
        const run = ['run', '--server', url, '--', recording.agent, 'exec'];
        const { exitCode, stderr } = await startRecount(home, run, { ...environment, FAKE_STREAM: recording.path })
          .ended;
        expect({ exitCode, stderr }, recording.name).toEqual({ exitCode: 0, stderr: '' });
        const sent = sessionId === '' ? [] : await readEvents(sessionId);
        if (sessionId !== '') expect(toStory(sent.map(({ data }) => data)), recording.name).toEqual(toStory(events));
        if (sessionId !== '') expect(sent.at(-1)?.event).toBe('close');
      }
      expect(known.size).toBeGreaterThan(8);
      expect(await listStreams('running')).toEqual([]);
    });
  },
);

const SESSION_ID = '22222222-2222-4333-8444-555555555555';
const lines = Array.from({ length: 60 }, (_, number) => {
  const content = [{ type: 'text', text: `Zeile ${number} größer` }];
  return { type: 'assistant', session_id: SESSION_ID, message: { id: `m${number}`, role: 'assistant', content } };
});
const init = { type: 'system', subtype: 'init', session_id: SESSION_ID, model: 'claude-opus-4-8', tools: [] };
const result = { type: 'result', subtype: 'success', is_error: false, result: 'ok', session_id: SESSION_ID };

it('list a running agent, and follow it to its end', async () => {
  const path = join(home, 'watched.jsonl');
  const session_id = '44444444-2222-4333-8444-555555555555';
  const story = [init, ...lines, result].map((line) => `${JSON.stringify({ ...line, session_id })}\n`);
  await writeFile(path, story.join(''));
  const hold = await holdAgents(home);
  const run = ['run', '--server', url, '--', 'claude', '-p'];
  const agent = startRecount(home, run, { ...environment, ...hold.environment, FAKE_STREAM: path });
  const live = (...words: string[]) => startRecount(home, ['live', ...words, '--server', url], environment);
  await waitUntil(async () => (await listStreams('running')).length > 0, 'the stream');
  const listed = await live().ended;
  expect(listed.stdout).toMatch(/^SESSION +AGENT +STATE[^\n]*\n44444444 +claude-code +running /);
  expect(listed.stderr).toContain('recount live watch 44444444 follows it.');
  const watch = live('watch', '44444444');
  await waitUntil(() => watch.stdout().includes('Zeile 15'), 'the 15th line');
  expect(watch.stdout()).not.toContain('Zeile 59');
  await hold.letGo();
  expect(await agent.ended).toMatchObject({ exitCode: 0 });
  const watched = await watch.ended;
  expect(watched).toMatchObject({ exitCode: 0 });
  expect(watched.stdout).toBe(agent.stdout());
  expect((await live().ended).stderr).toMatch(/^Nothing is running/);
  expect((await live('--all').ended).stdout).toMatch(/^44444444\S* +claude-code +ended /m);
  expect(await live('watch', '99999999').ended).toMatchObject({ exitCode: 2, stdout: '' });
});

it('list a stream that has not named its session yet, and follow it there once it has', async () => {
  const session_id = '55555555-2222-4333-8444-555555555555';
  const tail = startRecount(home, ['tail', '--agent', 'claude', '--server', url], environment, 'pipe');
  const write = (line: object): void => void tail.child.stdin?.write(`${JSON.stringify({ session_id, ...line })}\n`);
  const content = [{ type: 'text', text: 'Before its name' }];
  write({ type: 'assistant', message: { id: 'm-first', role: 'assistant', content }, session_id: undefined });
  await waitUntil(async () => (await listStreams('running')).length > 0, 'the first line');
  const [unnamed] = await listStreams('running');
  expect(unnamed?.session_id).toBe(unnamed?.stream_id);
  const id = unnamed?.stream_id.slice(0, 8) ?? '';
  const live = (...words: string[]) => startRecount(home, ['live', ...words, '--server', url], environment);
  expect((await live().ended).stdout).toContain(`\n${id}  claude-code  running `);
  const watch = live('watch', id);
  await waitUntil(() => watch.stdout().includes('Before its name'), 'the first line at the reader');
  write({ ...init, session_id });
  // Before the next line comes.
  await waitUntil(async () => (await listStreams('running'))[0]?.session_id === session_id, 'its name');
  expect((await live().ended).stdout).toContain('\n55555555  claude-code  running ');
  for (const line of [...lines, result]) write({ ...line, session_id });
  tail.child.stdin?.end();
  expect(await tail.ended).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await watch.ended).toMatchObject({ exitCode: 0, stdout: tail.stdout() });
  expect(await readEvents(session_id)).toHaveLength(64);
  expect((await listStreams('all')).filter(({ stream_id }) => stream_id === unnamed?.stream_id)).toMatchObject([
    { session_id, success: true },
  ]);
});

describe('killing in the middle', () => {
  it('the API: every line is there, once, when it is back', async () => {
    const path = join(home, 'stream.jsonl');
    await writeFile(path, [init, ...lines, result].map((line) => `${JSON.stringify(line)}\n`).join(''));
    // The agent must outlive the API's outage.
    const hold = await holdAgents(home);
    const run = startRecount(home, ['run', '--server', url, '--', 'claude', '-p'], {
      ...environment,
      ...hold.environment,
      FAKE_STREAM: path,
    });
    const stored = async (): Promise<number> => (await listStreams('running'))[0]?.stored_bytes ?? 0;
    await waitUntil(async () => (await stored()) > 500, 'stored bytes');
    await killApi();
    await waitUntil(
      () => run.stdout().includes('Zeile 15') && run.stderr().includes('saved'),
      'the 15th line, the note',
    );
    await startApi();
    await hold.letGo();
    expect(await run.ended).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/^recount: .*saved.*\n$/) });
    const stream = (await listStreams('all')).find(({ session_id }) => session_id === SESSION_ID);
    expect(stream).toMatchObject({ stored_bytes: (await readFile(path)).length, success: true, aborted: false });
    const texts = toStory((await readEvents(SESSION_ID)).map(({ data }) => data)).filter((text) =>
      text.startsWith('text'),
    );
    expect(texts).toEqual(lines.map((_line, number) => `text Zeile ${number} größer`));
    expect(await readdir(join(home, '.recount/live-spool'))).toEqual([]);
  });

  it('the agent: its output is there, and that it was killed', async () => {
    const path = join(home, 'killed.jsonl');
    const session_id = '33333333-2222-4333-8444-555555555555';
    await writeFile(path, [init, ...lines].map((line) => `${JSON.stringify({ ...line, session_id })}\n`).join(''));
    const killed = { ...environment, FAKE_STREAM: path, FAKE_KILLED_AFTER: '20' };
    const { exitCode, stderr } = await startRecount(home, ['run', '--server', url, '--', 'claude'], killed).ended;
    expect(exitCode, stderr).toBe(137);
    const stream = (await listStreams('all')).find((each) => each.session_id === session_id);
    expect(stream, stderr).toMatchObject({ success: false, aborted: true, error: expect.stringContaining('SIGKILL') });
    const texts = toStory((await readEvents(session_id)).map(({ data }) => data)).filter((text) =>
      text.startsWith('text'),
    );
    expect(texts).toHaveLength(19);
  });
});
