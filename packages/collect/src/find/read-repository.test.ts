import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRepositoryReader } from './read-repository.ts';

let home: string;
beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'recount-repository-')));
});
afterEach(() => rm(home, { recursive: true }));

const toPath = (path: string): string => join(home, path);
const read = (path: string) => createRepositoryReader()(toPath(path));

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(toPath(path)), { recursive: true });
  await writeFile(toPath(path), text);
}

const toConfig = (remotes: Record<string, string>): string =>
  `[core]\n\trepositoryformatversion = 0\n${Object.entries(remotes)
    .map(([name, url]) => `[remote "${name}"]\n\turl = ${url}\n\tfetch = +refs/heads/*:refs/remotes/${name}/*\n`)
    .join('')}`;

const REMOTE = 'git@github.com:acme/heron.git';

it('reads the remote of a folder and of the folders inside it', async () => {
  await write('code/heron/.git/config', toConfig({ fork: 'git@github.com:ada/heron.git', origin: REMOTE }));
  await mkdir(toPath('code/heron/src/web'), { recursive: true });
  const expected = { repository: REMOTE, worktree: toPath('code/heron') };
  expect(await read('code/heron')).toEqual(expected);
  expect(await read('code/heron/src/web')).toEqual(expected);
});

it('reads the only remote, whatever its name, and none of several without an origin', async () => {
  await write('one/.git/config', toConfig({ upstream: REMOTE }));
  await write('two/.git/config', toConfig({ fork: REMOTE, upstream: REMOTE }));
  expect(await read('one')).toMatchObject({ repository: REMOTE });
  expect(await read('two')).toEqual({ repository: toPath('two'), worktree: toPath('two') });
});

it.each([
  ['https://ada:s3cret@github.com/acme/heron.git', 'https://github.com/acme/heron.git'],
  ['"https://github.com/acme/heron" ; the main one', 'https://github.com/acme/heron'],
  ['https://ada:12\\\n34@github.com/acme/heron', 'https://github.com/acme/heron'],
])('sends no credentials, quotes and comments of %s', async (url, repository) => {
  await write('heron/.git/config', toConfig({ origin: url }));
  expect(await read('heron')).toMatchObject({ repository });
});

it('knows no repository for a folder without git, for one that is gone, and for a relative one', async () => {
  await mkdir(toPath('notes'));
  expect(await read('notes')).toBeUndefined();
  expect(await read('gone')).toBeUndefined();
  expect(await createRepositoryReader()('heron')).toBeUndefined();
});

it('knows the repository of a worktree inside it that its agent has deleted', async () => {
  await write('heron/.git/config', toConfig({ origin: REMOTE }));
  expect(await read('heron/.claude/worktrees/otter/src')).toEqual({ repository: REMOTE, worktree: undefined });
  expect(await read('heron/src/gone')).toBeUndefined();
});

describe('of repositories that git made', () => {
  const git = (folder: string, ...args: string[]) =>
    execFileSync('git', ['-C', toPath(folder), '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      env: { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1' },
      stdio: 'pipe',
    });
  async function makeRepository(folder: string, remote?: string): Promise<void> {
    await mkdir(toPath(folder), { recursive: true });
    git(folder, 'init', '-q');
    git(folder, 'commit', '-q', '--allow-empty', '-m', 'first');
    if (remote !== undefined) git(folder, 'remote', 'add', 'origin', remote);
  }

  it('reads the worktrees of Claude Code, Codex and Cursor', async () => {
    await makeRepository('heron', REMOTE);
    for (const folder of ['heron/.claude/worktrees/otter', '.codex/worktrees/a1/heron', '.cursor/worktrees/heron/x1']) {
      git('heron', 'worktree', 'add', '-q', toPath(folder));
      expect(await read(folder)).toEqual({ repository: REMOTE, worktree: toPath(folder) });
    }
  });

  it('reads the main folder of worktrees without a remote, and of a bare repository', async () => {
    await makeRepository('heron');
    git('heron', 'worktree', 'add', '-q', toPath('elsewhere/x'));
    expect(await read('elsewhere/x')).toEqual({ repository: toPath('heron'), worktree: toPath('elsewhere/x') });
    git('.', 'clone', '-q', '--bare', toPath('heron'), toPath('wren/.bare'));
    git('wren/.bare', 'remote', 'remove', 'origin');
    git('wren/.bare', 'worktree', 'add', '-q', toPath('wren/topic'));
    expect(await read('wren/topic')).toEqual({ repository: toPath('wren'), worktree: toPath('wren/topic') });
  });

  it('takes a submodule for a separate repository', async () => {
    await makeRepository('egret');
    await makeRepository('heron', REMOTE);
    git('heron', '-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', toPath('egret'), 'lib/egret');
    expect(await read('heron/lib/egret')).toEqual({
      repository: toPath('egret'),
      worktree: toPath('heron/lib/egret'),
    });
  });
});

describe('in a hostile repository', () => {
  it('starts no program and follows no include', async () => {
    const touch = `touch ${toPath('started')}`;
    await write('program', `#!/bin/sh\n${touch}\n`);
    await chmod(toPath('program'), 0o700);
    const program = toPath('program');
    const included = toPath('included');
    await write('included', toConfig({ origin: 'https://evil.example/included' }));
    await write(
      'heron/.git/config',
      `[include]\n\tpath = ${included}\n[core]\n\tfsmonitor = ${program}\n\tsshCommand = ${program}\n\thooksPath = ${home}\n` +
        `[credential]\n\thelper = ${program}\n[remote "origin"]\n\turl = ext::${program}\n\tvcs = ${program}\n`,
    );
    await write('heron/.git/hooks/post-checkout', `#!/bin/sh\n${touch}\n`);
    expect(await read('heron')).toMatchObject({ repository: toPath('heron') });
    expect(existsSync(toPath('started'))).toBe(false);
  });

  it.each([
    ['that points to another computer', 'gitdir: //evil.example/share/heron.git\n'],
    ['that points to a share of Windows', 'gitdir: \\\\evil.example\\share\n'],
    ['that points to nothing', 'gitdir: /nowhere/at/all\n'],
    ['with a NUL', 'gitdir: /etc\0/x\n'],
    ['without a pointer', 'x'.repeat(100_000)],
  ])('reads nothing from a file .git %s', async (_, text) => {
    await write('heron/.git', text);
    expect(await read('heron')).toBeUndefined();
  });

  it('does not wait for a pipe, and survives links in a circle and a huge configuration', async () => {
    await mkdir(toPath('pipe/.git'), { recursive: true });
    execFileSync('mkfifo', [toPath('pipe/.git/config')]);
    expect(await read('pipe')).toBeUndefined();
    await mkdir(toPath('circle'));
    await symlink(toPath('circle/.git'), toPath('circle/.git'));
    expect(await read('circle')).toBeUndefined();
    await write('huge/.git/config', `${toConfig({ origin: REMOTE })}${'#'.repeat(5 * 1024 * 1024)}`);
    expect(await read('huge')).toBeUndefined();
  });

  it.each([
    ['quotes', `\turl = "${'\\"'.repeat(1_000_000)}`],
    ['spaces', `\turl = ${' '.repeat(2_000_000)}a\u2028`],
    ['remotes', Array.from({ length: 500 }, (_, i) => `[remote "${i}"] url = "${'\\"'.repeat(2000)}`).join('\n')],
  ])('does not stand still at a configuration of %s', async (_, line) => {
    await write('heron/.git/config', `[remote "other"]\n${line}\n${toConfig({ origin: REMOTE })}`);
    expect(await read('heron')).toMatchObject({ repository: REMOTE });
  });

  it('sends no address with control characters, or a very long one', async () => {
    await write('long/.git/config', toConfig({ origin: `https://evil.example/${'x'.repeat(10_000)}` }));
    await write('control/.git/config', toConfig({ origin: 'https://evil.example/\u001b[31m' }));
    expect(await read('long')).toMatchObject({ repository: toPath('long') });
    expect(await read('control')).toMatchObject({ repository: toPath('control') });
  });
});
