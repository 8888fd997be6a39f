import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createFakeContext, type FakeContext } from '../testing/fake-context.ts';
import { showUsage } from '../usage/show-usage.ts';
import { confirmFound, findOnMachine, showFound } from './found-sessions.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-found-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const project = join(home, '.claude/projects/-home-ada-app');
  await mkdir(project, { recursive: true });
  await writeFile(join(project, 'one.jsonl'), 'x'.repeat(2000));
  await writeFile(join(project, 'two.jsonl'), 'x'.repeat(1000));
});

const createContext = (options: Parameters<typeof createFakeContext>[0] = {}): FakeContext =>
  createFakeContext({ ...options, environment: { HOME: home } });

it('lists agents with sessions, sizes and folders', async () => {
  const context = createContext({ columns: 100 });
  await showFound(context, await findOnMachine(context, { agent: [] }), false);
  expect(context.out()).toMatch(/^AGENT +SESSIONS +SIZE +WHERE\nClaude Code +2 +3\.0 kB +~\/\.claude\/projects\//);
});

it('lists them as JSON', async () => {
  const context = createContext();
  await showFound(context, await findOnMachine(context, { agent: ['claude-code'] }), true);
  const place = { agent: 'claude-code', holds: 'transcripts', files: 2, bytes: 3000, readable: true };
  expect(JSON.parse(context.out())).toMatchObject({ places: [place] });
});

it('ingests them only after consent', async () => {
  for (const [answer, count] of Object.entries({ 'y\n': 2, 'yes\n': 2, 'n\n': undefined, '\n': undefined })) {
    const context = createContext({ columns: 100, stdin: answer });
    Object.assign(context.stdin, { isTTY: true });
    const found = await findOnMachine(context, { agent: [] });
    const paths = await confirmFound(context, found, { isConfirmed: false, asJson: false });
    expect(paths?.length).toBe(count);
    expect(context.err()).toContain('Import these 2 files (3.0 kB)? [y/N]');
  }
});

it('names folders without permission, and fails when they are read', async () => {
  const context = createContext();
  const found = await findOnMachine(context, { agent: [] });
  const denied = [join(home, '.claude/projects/closed')];
  const places = found.map((place) => ({ ...place, denied }));
  await showFound(context, places, false);
  expect(context.err()).toContain(`No permission to read ${denied[0]}`);
  const paths = await confirmFound(context, places, { isConfirmed: true, asJson: false });
  expect(paths).toEqual(expect.arrayContaining(denied));
  await showFound(context, [{ ...places[0], files: [] } as (typeof places)[number]], true);
  expect(context.out()).toContain(JSON.stringify(denied[0]));
});

it('prints the command to type if there is no terminal to ask on', async () => {
  const context = createContext();
  const found = await findOnMachine(context, { agent: [] });
  const refused = confirmFound(context, found, { isConfirmed: false, asJson: false });
  await expect(refused).rejects.toThrow('`recount backfill --yes`');
  expect(await confirmFound(context, found, { isConfirmed: true, asJson: false })).toHaveLength(2);
});

it('names the agents it looked for if it finds no sessions', async () => {
  const context = createContext();
  const nothing = confirmFound(context, [], { isConfirmed: true, asJson: false });
  await expect(nothing).rejects.toThrow(/sessions of Claude Code, Codex/);
  await expect(findOnMachine(context, { agent: ['hal'] })).rejects.toThrow(/No agent hal: recount knows claude-code/);
});

it('names links to sessions that are not followed, also if nothing else is found', async () => {
  const link = join(home, '.claude/projects/linked');
  await symlink(join(home, '.claude/projects/-home-ada-app'), link);
  const listing = createContext();
  await showFound(listing, await findOnMachine(listing, { agent: [] }), false);
  expect(listing.err()).toContain(`Not followed: ${link}, a symbolic link.`);
  const asJson = createContext();
  await showFound(asJson, await findOnMachine(asJson, { agent: [] }), true);
  expect(JSON.parse(asJson.out()).places).toMatchObject([{ files: 2, links: [link] }]);
  const usage = createContext();
  await showUsage(usage, [], { cache: false });
  expect(usage.err().replaceAll(/\s+/g, ' ')).toContain(`${link} (a symbolic link, which is not followed; name its`);
  await rename(join(home, '.claude/projects/-home-ada-app'), join(home, 'moved'));
  await rm(link);
  await symlink(join(home, 'moved'), link);
  const alone = createContext();
  const found = await findOnMachine(alone, { agent: [] });
  const confirming = confirmFound(alone, found, { isConfirmed: true, asJson: false });
  await expect(confirming).rejects.toThrow('No sessions found');
  expect(alone.err()).toContain(`Not followed: ${link}, a symbolic link.`);
});
