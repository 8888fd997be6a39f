import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import type { SessionList } from '@recount/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

const FOLDER = 'sessions/2026/03/02';
const TIMESTAMP = '2026-03-02T10:00:00.000Z';

interface Thread {
  id: string;
  cwd: string;
  parentId?: string;
}

/** A session of Codex with a sub-agent, which has one in another project. */
const createThreads = (number: number): [root: Thread, child: Thread, grandchild: Thread] => {
  const toId = (level: number): string => `019ca000-0000-7000-8000-00000000${number}00${level}`;
  return [
    { id: toId(0), cwd: `/home/ada/app-${number}` },
    { id: toId(1), cwd: `/home/ada/app-${number}`, parentId: toId(0) },
    { id: toId(2), cwd: `/home/ada/elsewhere-${number}`, parentId: toId(1) },
  ];
};

const toName = ({ id }: Thread): string => `${FOLDER}/rollout-2026-03-02T10-00-00-${id}.jsonl`;

function toText({ id, cwd, parentId }: Thread): string {
  const source = parentId === undefined ? 'cli' : { subagent: { thread_spawn: { parent_thread_id: parentId } } };
  const message = { type: 'message', role: 'user', content: [{ type: 'input_text', text: `Asked of ${id}` }] };
  return [
    { type: 'session_meta', payload: { id, timestamp: TIMESTAMP, cwd, source, cli_version: '0.50.0' } },
    { type: 'response_item', payload: message },
  ]
    .map((line) => `${JSON.stringify({ timestamp: TIMESTAMP, ...line })}\n`)
    .join('');
}

let api: TestApi;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-subagents-'));
  api = await createTestApi();
});
afterAll(async () => {
  await api.close();
  await rm(home, { recursive: true, force: true });
});

async function run(...commandArguments: string[]): Promise<{ exitCode: number; err: string }> {
  const environment = { HOME: home, RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin };
  const context = createFakeContext({ environment });
  const exitCode = await runCommandLine(context, commandArguments);
  return { exitCode, err: context.err() };
}

async function upload(threads: readonly Thread[]): Promise<void> {
  for (const thread of threads) await api.upload(toText(thread), { path: `/home/ada/.codex/${toName(thread)}` });
  await api.work();
}

async function listStored(threads: readonly Thread[]): Promise<string[]> {
  const { sessions } = (await (await api.fetch('/v1/sessions?limit=500')).json()) as SessionList;
  return sessions.map(({ session_id: id }) => id).filter((id) => threads.some((thread) => thread.id === id));
}

it('restores a session with the sub-agents of its sub-agents', async () => {
  const threads = createThreads(1);
  await upload(threads);
  expect(await run('restore', threads[0].id)).toMatchObject({ exitCode: 0 });
  for (const thread of threads)
    expect(await readFile(join(home, '.codex', toName(thread)), 'utf8')).toBe(toText(thread));
});

it('pulls each session of a project once, also those that ran elsewhere', async () => {
  const threads = createThreads(4);
  await upload(threads);
  const pulled = await run('pull', threads[0].cwd);
  expect(pulled).toMatchObject({ exitCode: 0, err: expect.stringContaining('Here: 3 of 3 sessions.') });
  expect(pulled.err).not.toContain('is there already');
  for (const thread of threads)
    expect(await readFile(join(home, '.codex', toName(thread)), 'utf8')).toBe(toText(thread));
});

it('deletes a session with the sub-agents of its sub-agents', async () => {
  const threads = createThreads(2);
  await upload(threads);
  expect(await listStored(threads)).toHaveLength(3);
  const deleted = await run('delete', threads[0].id, '--yes');
  expect(deleted).toMatchObject({ exitCode: 0, err: expect.stringContaining('3 sessions deleted.') });
  expect(await listStored(threads)).toEqual([]);
});

it('deletes the sessions of a project with all their sub-agents, also those that ran elsewhere', async () => {
  const threads = createThreads(3);
  await upload(threads);
  const deleted = await run('delete', '--project', threads[0].cwd, '--yes');
  expect(deleted).toMatchObject({ exitCode: 0, err: expect.stringContaining('3 sessions deleted.') });
  expect(await listStored(threads)).toEqual([]);
});
