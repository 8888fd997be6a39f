import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldWorktree, toRepositoryName } from './repository-name.ts';

const ofRemote = (address: string) => toRepositoryName({ address, folder: '/home/ada/code/other' });
const ofFolder = (folder: string) => toRepositoryName({ address: null, folder });

it.each([
  ['git@github.com:acme/billing-service.git', 'github.com/acme/billing-service'],
  ['ssh://git@github.com/acme/billing-service.git', 'github.com/acme/billing-service'],
  ['ssh://git@ssh.github.com:443/acme/billing-service.git', 'github.com/acme/billing-service'],
  ['https://github.com/acme/billing-service', 'github.com/acme/billing-service'],
  ['https://ada:ghp_s3cret@GitHub.com/acme/billing-service.git/', 'github.com/acme/billing-service'],
  ['https://github.com:443/acme/billing-service.git', 'github.com/acme/billing-service'],
  ['git+ssh://git@github.com/acme/billing-service', 'github.com/acme/billing-service'],
  ['git://github.com/acme/billing-service.git?x#y', 'github.com/acme/billing-service'],
  ['git@gitlab.acme.dev:team/sub/heron.git', 'gitlab.acme.dev/team/sub/heron'],
  ['ssh://git@gitlab.acme.dev:2222/team/sub/heron', 'gitlab.acme.dev/team/sub/heron'],
  ['https://dev.azure.com/acme/birds/_git/heron', 'dev.azure.com/acme/birds/heron'],
  ['git@ssh.dev.azure.com:v3/acme/birds/heron', 'dev.azure.com/acme/birds/heron'],
  ['work:acme/heron.git', 'work/acme/heron'],
  ['git@[2001:db8::1]:acme/heron.git', '[2001:db8::1]/acme/heron'],
  ['acme/heron', 'acme/heron'],
  ['/srv/git/heron.git', 'heron'],
  ['file:///home/ada/git/heron.git', 'heron'],
  ['C:\\Users\\ada\\code\\heron', 'heron'],
  ['https://github.com/..git', 'other'],
  ['https://github.com/acme/..git', 'other'],
])('names the repository of the remote %s', (address, name) => expect(ofRemote(address)).toBe(name));

describe('without a remote', () => {
  it.each([
    ['plain', '/home/ada/code/heron', 'heron'],
    ['macOS', '/Users/bob/code/heron', 'heron'],
    ['Windows', 'C:\\Users\\eve\\source\\repos\\heron', 'heron'],
    ['WSL', '/mnt/c/Users/eve/source/repos/heron', 'heron'],
    ['directly in the home', '/home/ada/heron', 'heron'],
    ['a container', '/workspaces/heron', 'heron'],
    ['a root', '/root/heron', 'heron'],
    ['a container without a name', '/workspace', 'workspace'],
    ['go', '/home/ada/go/src/github.com/acme/heron/cmd', 'github.com/acme/heron'],
    ['ghq', '/home/ada/ghq/github.com/acme/heron', 'github.com/acme/heron'],
    ['in a folder that tells', '/home/ada/code/acme/heron', 'acme/heron'],
    ['.worktrees', '/Users/bob/code/heron/.worktrees/3', 'heron'],
    ['a folder of .worktrees', '/Users/bob/code/heron/.worktrees/3/packages/web', 'heron'],
    ['Claude Code', '/home/ada/code/heron/.claude/worktrees/brave-otter', 'heron'],
    ['Codex', '/home/ada/.codex/worktrees/a1b2/heron', 'heron'],
    ['Codex on Windows', 'C:\\Users\\eve\\.codex\\worktrees\\a1b2\\heron', 'heron'],
    ['Cursor', '/home/ada/.cursor/worktrees/heron/x7Yz', 'heron'],
    ['beside', '/home/ada/code/heron-worktrees/fix-login', 'heron'],
    ['VS Code', '/home/ada/code/heron.worktrees/fix-login', 'heron'],
    ['a bare repository', '/home/ada/code/heron.git/main', 'heron'],
    ['.bare', '/home/ada/code/heron/.bare', 'heron'],
    ['a repository itself', '/home/ada/code/heron/.git', 'heron'],
  ])('names the repository by its folder: %s', (_, folder, name) => expect(ofFolder(folder)).toBe(name));

  it.each(['/', '/home/ada', '/Users/bob/', '/root', 'C:\\Users\\eve', ''])('names none for %s', (folder) =>
    expect(ofFolder(folder)).toBeNull(),
  );

  it('tells folders in different places of their homes apart', () => {
    expect(ofFolder('/home/ada/acme/api')).not.toBe(ofFolder('/home/bob/other/api'));
    expect(ofFolder('/home/ada/acme/api')).toBe(ofFolder('/Users/bob/acme/api'));
  });

  it('keeps a folder whose name only looks like a worktree', () => {
    expect(foldWorktree('/home/ada/worktrees/heron')).toBe('/home/ada/worktrees/heron');
    expect(ofFolder('/home/ada/.claude/worktrees/heron')).toBe('.claude/worktrees/heron');
    expect(ofFolder('/home/ada/my-worktrees')).toBe('my-worktrees');
  });
});

it('takes any text', () => {
  fc.assert(
    fc.property(fc.option(fc.string(), { nil: null }), fc.option(fc.string(), { nil: null }), (address, folder) => {
      const name = toRepositoryName({ address, folder });
      if (name !== null) expect(name).not.toBe('');
    }),
  );
});
