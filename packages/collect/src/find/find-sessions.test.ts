import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { AGENTS } from '@recount/core';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { toBaseFolders } from './find-places.ts';
import { findSessions } from './find-sessions.ts';
import { type MatchedFile, matchFiles } from './match-files.ts';

let homeFolder: string;
beforeEach(async () => {
  homeFolder = await mkdtemp(join(tmpdir(), 'recount-home-'));
  onTestFinished(() => rm(homeFolder, { recursive: true, force: true }));
});

async function write(...paths: string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(homeFolder, path)), { recursive: true });
    await writeFile(join(homeFolder, path), 'x'.repeat(10));
  }
}

async function find(environment: Record<string, string> = {}, platform = 'linux'): Promise<Record<string, string[]>> {
  const found = await findSessions({ platform, environment, homeFolder });
  return Object.fromEntries(
    Object.entries(Object.groupBy(found, ({ agent }) => agent.id)).map(([id, places = []]) => [
      id,
      places.flatMap(({ files }) => files.map(({ path }) => relative(homeFolder, path))),
    ]),
  );
}

it('finds nothing in an empty home', async () => {
  expect(await find()).toEqual({});
});

it('finds sessions and sub-agents of each agent in its places, and nothing else', async () => {
  const claude = '.claude/projects/-home-ada-app';
  const sessions = {
    'claude-code': [`${claude}/one.jsonl`, `${claude}/one/subagents/agent-a.jsonl`, `${claude}/two.jsonl`],
    codex: ['.codex/sessions/2026/11/01/rollout-a.jsonl.zst', '.codex/archived_sessions/rollout-b.jsonl'],
    copilot: ['.copilot/session-state/id/events.jsonl', '.copilot/session-store.db'],
    gemini: ['.gemini/tmp/project/chats/session-1.json', '.gemini/tmp/project/chats/session-2.jsonl'],
  };
  await write(...Object.values(sessions).flat());
  await write('.claude/settings.json', '.codex/config.toml', '.gemini/tmp/project/logs.json', 'notes.jsonl');
  expect(await find()).toEqual(sessions);
});

it('gives the size of the sessions of a place', async () => {
  await write('.codex/sessions/a.jsonl', '.codex/sessions/b.jsonl');
  const [found] = await findSessions({ platform: 'linux', environment: {}, homeFolder });
  expect(found).toMatchObject({ folder: join(homeFolder, '.codex'), sizeBytes: 20 });
});

it('searches only the folders that environment variables name, each one if there are several', async () => {
  await write('.claude/projects/p/a.jsonl', 'work/projects/p/b.jsonl', 'play/projects/p/c.jsonl');
  const environment = { CLAUDE_CONFIG_DIR: `${join(homeFolder, 'work')}, ~/play` };
  expect(await find(environment)).toEqual({ 'claude-code': ['work/projects/p/b.jsonl', 'play/projects/p/c.jsonl'] });
  expect(await find({ CLAUDE_CONFIG_DIR: '' })).toEqual({ 'claude-code': ['.claude/projects/p/a.jsonl'] });
});

it('finds a file once, however many paths lead to it', async () => {
  await write('.claude/projects/p/a.jsonl');
  const folder = join(homeFolder, '.claude');
  expect(await find({ CLAUDE_CONFIG_DIR: `${folder},${folder}` })).toEqual({
    'claude-code': ['.claude/projects/p/a.jsonl'],
  });
});

it('skips places of other platforms', () => {
  const place = { holds: 'transcripts', bases: ['a'], files: ['*'], platforms: ['darwin'] } as const;
  const machine = { environment: {}, homeFolder };
  expect(toBaseFolders(place, { ...machine, platform: 'darwin' })).toEqual([join(homeFolder, 'a')]);
  expect(toBaseFolders(place, { ...machine, platform: 'freebsd' })).toEqual([]);
});

it('follows links that a pattern names, but none that a wildcard matches', async () => {
  await write('real/projects/p/a.jsonl', 'elsewhere/b.jsonl');
  await symlink(join(homeFolder, 'real'), join(homeFolder, 'linked'));
  await symlink(join(homeFolder, 'elsewhere'), join(homeFolder, 'real/projects/q'));
  await symlink(join(homeFolder, 'real'), join(homeFolder, 'real/projects/loop'));
  await symlink(join(homeFolder, 'elsewhere/b.jsonl'), join(homeFolder, 'real/projects/p/c.jsonl'));
  await symlink('nowhere', join(homeFolder, 'real/projects/dangling'));
  await symlink(join(homeFolder, 'elsewhere/b.jsonl'), join(homeFolder, 'real/projects/notes.txt'));
  const found: MatchedFile[] = [];
  const links: string[] = [];
  const listener = { onLink: (path: string) => links.push(relative(homeFolder, path)) };
  for (const file of matchFiles(homeFolder, 'linked/projects/**/*.jsonl', listener)) found.push(file);
  expect(found.map(({ path }) => relative(homeFolder, path))).toEqual(['linked/projects/p/a.jsonl']);
  const inProjects = ['loop', 'p/c.jsonl', 'q'].map((name) => `linked/projects/${name}`);
  expect(links).toEqual(inProjects);
});

it('names links to sessions in a place of an agent, also if there is nothing else', async () => {
  await write('elsewhere/p/a.jsonl', 'elsewhere/p/a/subagents/agent-b.jsonl');
  await mkdir(join(homeFolder, '.claude/projects'), { recursive: true });
  await symlink(join(homeFolder, 'elsewhere/p'), join(homeFolder, '.claude/projects/p'));
  const found = findSessions({ platform: 'linux', environment: {}, homeFolder });
  const link = join(homeFolder, '.claude/projects/p');
  expect(found.map(({ agent, files, links }) => [agent.id, files, links])).toEqual([['claude-code', [], [link]]]);
});

it('takes pattern characters other than * literally', async () => {
  await write('a.b/x+y.db', 'aXb/x+y.db', 'a.b/xxy.db');
  const found: MatchedFile[] = [];
  for (const file of matchFiles(homeFolder, '*.b/x+*.db')) found.push(file);
  expect(found.map(({ path }) => relative(homeFolder, path))).toEqual(['a.b/x+y.db']);
});

it('has only places whose patterns are relative and below their bases', () => {
  const places = AGENTS.flatMap(({ places = [] }) => places);
  expect(places.length).toBeGreaterThan(5);
  for (const path of places.flatMap(({ bases, files }) => [...bases, ...files])) {
    expect(path).not.toMatch(/^[/~]|\\|\.\.|\/$/);
    expect(path.split('/').filter((part) => part === '**').length).toBeLessThanOrEqual(2);
  }
});

it('finds attachments of sessions', async () => {
  await write('.claude/projects/p/one/tool-results/a.txt');
  const found = await findSessions({ platform: 'linux', environment: {}, homeFolder });
  expect(found.map(({ place, files }) => [place.holds, place.what, files.length])).toEqual([
    ['attachments', undefined, 1],
  ]);
});

it('finds sessions of Cowork, and of the agent that it delegates to', async () => {
  const folder = 'Library/Application Support/Claude/local-agent-mode-sessions/organisation/account';
  const session = `${folder}/local_1/.claude/projects/-sessions-heron`;
  const sessions = [
    ...[`${session}/one.jsonl`, `${session}/one/subagents/agent-a.jsonl`],
    `${folder}/agent/local_ditto_2/.claude/projects/-sessions-heron/two.jsonl`,
  ];
  const logs = [`${folder}/local_1/audit.jsonl`, `${folder}/agent/local_ditto_2/audit.jsonl`];
  await write(...sessions, ...logs, `${folder}/local_1.json`, `${folder}/local_1/outputs/notes.jsonl`);
  const found = await findSessions({ platform: 'darwin', environment: {}, homeFolder });
  expect(found.map(({ place, files }) => [place.holds, files.map(({ path }) => relative(homeFolder, path))])).toEqual([
    ['transcripts', sessions],
    ['aside', logs],
  ]);
});

it('names folders without permission once, and continues', async () => {
  await write('.claude/projects/closed/one.jsonl', '.claude/projects/open/two.jsonl', '.codex/sessions/2026/a.jsonl');
  const closed = [join(homeFolder, '.claude/projects/closed'), join(homeFolder, '.codex/sessions')];
  for (const folder of closed) await chmod(folder, 0o000);
  await chmod(homeFolder, 0o755);
  // Root may read everything, and only a separate process can run as another user.
  const script = `
    import { findSessions } from ${JSON.stringify(new URL('find-sessions.ts', import.meta.url).href)};
    if (process.getuid() === 0) process.seteuid(65534);
    const found = await findSessions(${JSON.stringify({ platform: 'linux', environment: {}, homeFolder })});
    console.log(JSON.stringify(found.map(({ agent, files, denied }) => [agent.id, files.length, denied])));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  for (const folder of closed) await chmod(folder, 0o700);
  expect(JSON.parse(stdout)).toEqual([
    ['claude-code', 1, closed.slice(0, 1)],
    ['codex', 0, closed.slice(1)],
  ]);
});
