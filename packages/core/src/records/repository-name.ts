import { toRepositoryUrl } from './repository.ts';

/** The facts that tell a session's repository; each may be unknown. */
export interface RepositoryFacts {
  /**
   * A remote's address in any form that git accepts, as the agent or git tells it; or, of a repository without remotes,
   * its main folder, an absolute path.
   */
  address: string | null;
  /** The working directory. */
  folder: string | null;
}

/**
 * The name of a repository, which is the same in all of its worktrees and clones. `host/owner/name` if a remote is
 * known. Otherwise the folder's place in its home without folders that only hold repositories (`~/code/heron` is
 * `heron`), with worktrees folded into their repository, so that the same place in two homes is one repository. Null
 * for a home, and if nothing is known.
 */
export function toRepositoryName({ address, folder }: RepositoryFacts): string | null {
  const remote = toRepositoryUrl(address);
  if (remote === null) return toFolderName(folder);
  return (isPath(remote) ? toFolderName(remote) : toRemoteName(remote)) ?? toFolderName(folder);
}

/** Hosts that are other names of a hosting service, usually because port 22 is closed. */
const HOST_ALIASES: Readonly<Record<string, string>> = {
  'ssh.github.com': 'github.com',
  'www.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
  'altssh.bitbucket.org': 'bitbucket.org',
  'ssh.dev.azure.com': 'dev.azure.com',
};

function isPath(address: string): boolean {
  return /^(?:file:|[/\\~.]|[a-z]:[/\\])/i.test(address);
}

/** `host/owner/name` of an address without credentials. */
function toRemoteName(address: string): string | null {
  // Git runs `git-remote-<word>` for `<word>::<address>`.
  const plain = address.replace(/^[a-z][\w-]*::/i, '');
  const url = /^[a-z][a-z\d+.-]*:\/\/(.*)$/is.exec(plain);
  const short = /^(?:[^/@:]+@)?(\[[^\]]+\]|[^/:[\]]+):(?!\/\/)(.*)$/s.exec(plain);
  const [host, path] = url ? splitAuthority(url[1] ?? '') : short ? [short[1] ?? '', short[2] ?? ''] : ['', plain];
  const lower = host.toLowerCase().replace(/\.$/, '');
  const known = HOST_ALIASES[lower] ?? lower;
  const parts = toParts(path);
  const last = parts.pop()?.replace(/\.git$/i, '');
  // An agent writes `https://host/..git` if it cannot tell the name.
  if (/^\.*$/.test(last ?? '')) return null;
  if (last) parts.push(last);
  const named =
    known === 'dev.azure.com' ? parts.filter((part, at) => part !== '_git' && !(at === 0 && part === 'v3')) : parts;
  if (named.length === 0) return null;
  return [...(known === '' ? [] : [known]), ...named].join('/');
}

function splitAuthority(rest: string): [host: string, path: string] {
  const end = rest.search(/[/\\]/);
  const authority = end === -1 ? rest : rest.slice(0, end);
  return [authority.replace(/:\d*$/, ''), end === -1 ? '' : rest.slice(end)];
}

/** Folders inside a home, or at the root, that hold repositories and tell nothing about them. */
const CONTAINERS: ReadonlySet<string> = new Set(
  `code coding data desktop dev develop development documents ghq git github gitlab go home mnt opt private project
  projects repo repos repositories sites source sources src srv work workspace workspaces www`.split(/\s+/),
);
const HOMES: ReadonlySet<string> = new Set(['home', 'users']);
const IS_DRIVE = /^[a-z]:$/i;
const IS_HOST = /^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}$/i;

function toFolderName(path: string | null): string | null {
  const place = path === null ? [] : toPlaceInHome(toParts(foldWorktree(path).replace(/^file:(?:\/\/)?/i, '')));
  if (place.length === 0) return null;
  let start = 0;
  while (start < place.length - 1 && CONTAINERS.has((place[start] ?? '').toLowerCase())) start++;
  const rest = place.slice(start);
  // The place that `go get` and ghq give a clone is the remote's name.
  const named = rest.length >= 3 && IS_HOST.test(rest[0] ?? '') ? rest.slice(0, 3) : rest;
  const last = named.pop() ?? '';
  return [...named, last.replace(/(?<=.)\.git$/i, '')].join('/');
}

/** The parts of a path that come after the person's home; all of them if it is in none. */
function toPlaceInHome(parts: readonly string[]): readonly string[] {
  const [first = ''] = parts;
  if (first === '~') return parts.slice(1);
  if (first === 'root') return parts.slice(1);
  const start = IS_DRIVE.test(first)
    ? 1
    : first === 'mnt' && /^[a-z]$/i.test(parts[1] ?? '')
      ? 2
      : first === 'var'
        ? 1
        : 0;
  const isHome = HOMES.has((parts[start] ?? '').toLowerCase());
  if (isHome) return parts.slice(start + 2);
  return start === 1 && first === 'var' ? parts : parts.slice(start);
}

/** A rule for a path whose parts have a worktree in them; returns the repository's parts, or undefined. */
type Fold = (parts: readonly string[]) => readonly string[] | undefined;

const at = (parts: readonly string[], name: string): number => parts.findIndex((part) => part.toLowerCase() === name);

const FOLDS: readonly Fold[] = [
  // Codex: ~/.codex/worktrees/<id>/<repository>.
  (parts) => toNamed(parts, '.codex', 2),
  // Cursor: ~/.cursor/worktrees/<repository>/<id>.
  (parts) => toNamed(parts, '.cursor', 1),
  // Claude Code and others: <repository>/.claude/worktrees/<name>.
  (parts) => {
    const index = parts.findIndex(
      (part, i) => i > 0 && /^\.[\w-]/.test(part) && parts[i + 1]?.toLowerCase() === 'worktrees',
    );
    return index === -1 ? undefined : parts.slice(0, index);
  },
  // <repository>/.worktrees/<name>, .trees, .bare.
  (parts) => {
    const index = parts.findIndex((part, i) => i > 0 && /^\.(?:worktrees?|trees|bare|git)$/i.test(part));
    return index === -1 ? undefined : parts.slice(0, index);
  },
  // Beside it: <repository>-worktrees/<name>, and <repository>.worktrees/<name> of VS Code.
  (parts) => cutAt(parts, /[-._]worktrees?$/i),
  // A bare repository with its worktrees inside: <repository>.git/<name>.
  (parts) => cutAt(parts, /\.git$/i),
];

/** The part that is `offset` after `<tool>/worktrees`, which is the repository's name. */
function toNamed(parts: readonly string[], tool: string, offset: number): readonly string[] | undefined {
  const index = at(parts, tool);
  if (index === -1 || parts[index + 1]?.toLowerCase() !== 'worktrees') return undefined;
  const name = parts[index + 1 + offset];
  // The tool's folder is in the home, where worktrees of all repositories are, or in the repository itself.
  const isInHome = toPlaceInHome(parts.slice(0, index)).length === 0;
  if (!isInHome) return undefined;
  return name === undefined ? undefined : [...parts.slice(0, index), name];
}

function cutAt(parts: readonly string[], suffix: RegExp): readonly string[] | undefined {
  const index = parts.findIndex((part) => suffix.test(part) && part.replace(suffix, '') !== '');
  if (index === -1 || index === parts.length - 1) return undefined;
  return [...parts.slice(0, index), (parts[index] ?? '').replace(suffix, '')];
}

/**
 * The folder of the repository that a worktree belongs to, by the places where agents and people keep worktrees; the
 * path itself if it is in none of them. Separators become `/`.
 */
export function foldWorktree(path: string): string {
  const plain = path.replaceAll('\\', '/');
  const start = /^\/*/.exec(plain)?.[0] ?? '';
  const parts = toParts(plain);
  for (const fold of FOLDS) {
    const folded = fold(parts);
    if (folded !== undefined && toPlaceInHome(folded).length > 0) return start + folded.join('/');
  }
  return start + parts.join('/');
}

const toParts = (path: string): string[] => path.split(/[/\\]+/).filter((part) => part !== '' && part !== '.');
