import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createFakeContext } from '../testing/fake-context.ts';
import { replyJson, startReplyServer } from '../testing/reply-server.ts';
import { createPullCommand, createRestoreCommand } from './restore.ts';

const LONG = 'x'.repeat(256);
/** Allowed by itself, but not with an ending. */
const LONGEST = `agent-${'y'.repeat(255 - 'agent-.jsonl'.length)}.jsonl`;
const BASE = '/home/ada/.claude/projects/-app';
const PATHS: Readonly<Record<string, string>> = {
  main: `${BASE}/main.jsonl`,
  long: `${BASE}/main/subagents/agent-${LONG}.jsonl`,
  longest: `${BASE}/main/subagents/${LONGEST}`,
  blocked: `${BASE}/main/subagents/agent-blocked.jsonl`,
  last: `${BASE}/main/subagents/agent-last.jsonl`,
};

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-restore-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
});

/** A server with one session, its sub-agents, and an attachment of it. */
async function serve(mainPath = PATHS.main): Promise<string> {
  const paths: Readonly<Record<string, string | undefined>> = { ...PATHS, main: mainPath };
  const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
  const list = Object.keys(PATHS).map((id) => ({ session_id: id, primary_transcript_id: id, agent: 'claude-code' }));
  const session = { ...list[0], project: '/app' };
  const attachment = {
    ...{ id: 'a1', agent: 'claude-code', session_id: 'main', path: 'tool-results/one.txt', uploader_key_id: 'k' },
    ...{ sha256: hash('kept'), stored_sha256: null, modified_at: '2026-11-01T00:00:00Z' },
  };
  const server = await startReplyServer(({ url = '' }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    const [, , kind, id = '', part] = pathname.split('/');
    if (kind === 'transcripts' && part === 'raw') return void response.end(`bytes of ${id}`);
    if (pathname.endsWith('/attachments/a1')) return void response.end('kept');
    const transcript = {
      ...{ id, session_id: id, agent: 'claude-code', path: paths[id] ?? null, uploader_key_id: 'k' },
      ...{ sha256: hash(`bytes of ${id}`), stored_sha256: null, created_at: '2026-11-01T00:00:00Z' },
    };
    if (kind === 'transcripts') return replyJson(response, transcript);
    if (part === 'attachments') return replyJson(response, { attachments: id === 'main' ? [attachment] : [] });
    if (part === 'subagents') return replyJson(response, { sessions: list.slice(1) });
    return replyJson(response, id === undefined || id === '' ? { sessions: [session] } : session);
  });
  return server.url;
}

it('restores the other files if one has a name that is too long or a folder in its place, and names those', async () => {
  const url = await serve();
  const folder = join(home, '.claude/projects/-app');
  await mkdir(join(folder, 'main/subagents/agent-blocked.jsonl'), { recursive: true });
  const environment = { HOME: home, RECOUNT_API_KEY: 'rk_test' };
  const context = createFakeContext({ environment });
  const restoring = createRestoreCommand(context).parseAsync(['main', '--server', url], { from: 'user' });
  await expect(restoring).rejects.toThrow('2 files of the session not restored');
  expect(context.err()).toMatch(
    /agent-x+\.jsonl cannot be written: it has a name that is longer than this file system/,
  );
  expect(context.err()).toMatch(/agent-blocked\.jsonl cannot be written: there is a folder in its place/);
  expect(await readFile(join(folder, 'main.jsonl'), 'utf8')).toBe('bytes of main');
  expect(await readFile(join(folder, 'main/tool-results/one.txt'), 'utf8')).toBe('kept');
  expect((await readdir(join(folder, 'main/subagents'))).sort()).toEqual([
    'agent-blocked.jsonl',
    'agent-last.jsonl',
    LONGEST,
  ]);
});

it('counts sessions and sub-agents with a file that cannot be written as not pulled', async () => {
  const url = await serve(`/home/ada/.claude/projects/-app/${LONG}.jsonl`);
  const context = createFakeContext({ environment: { HOME: home, RECOUNT_API_KEY: 'rk_test' } });
  await createPullCommand(context).parseAsync(['/app', '--server', url], { from: 'user' });
  expect(context.exitCode).toBe(1);
  expect(context.err()).toContain('Here: 3 of 5 sessions.');
});
