import { open, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { foldWorktree, toRepositoryUrl } from '@recount/core';

/** The repository that a folder belongs to. */
interface FolderRepository {
  /** Address of its remote, without credentials, or the absolute path of its main folder if it has none. */
  repository: string;
  /** Folder of the worktree; undefined if it does not exist any more. */
  worktree: string | undefined;
}

export type RepositoryReader = (folder: string) => Promise<FolderRepository | undefined>;

/** Longer files are not read; a real repository's has a few hundred bytes, or a few thousand per branch. */
const MAX_CONFIG_BYTES = 4 * 1024 * 1024;
const MAX_POINTER_BYTES = 8 * 1024;
const MAX_ADDRESS_LENGTH = 4096;
const MAX_REMEMBERED = 10_000;
const MAX_DEPTH = 100;

/**
 * Reads which repository folders belong to, and remembers it. It only reads git's files: `.git`, `commondir` and
 * `config`. It does not run git, which in a hostile repository could start programs (hooks, fsmonitor, helpers), and it
 * follows no includes and no path to another computer.
 */
export function createRepositoryReader(): RepositoryReader {
  const known = new Map<string, Promise<FolderRepository | undefined>>();
  return (folder) => {
    let found = known.get(folder);
    if (found === undefined) {
      found = readRepository(folder);
      if (known.size < MAX_REMEMBERED) known.set(folder, found);
    }
    return found;
  };
}

async function readRepository(folder: string): Promise<FolderRepository | undefined> {
  if (!isAbsolute(folder) || isRemotePath(folder)) return undefined;
  if (await isFolder(folder)) return await findRepository(folder);
  // A deleted worktree inside its repository's folder: the path still tells the repository.
  const main = foldWorktree(folder);
  if (!folder.replaceAll('\\', '/').startsWith(`${main}/`) || !(await isFolder(main))) return undefined;
  const found = await findRepository(main);
  return found?.worktree === main ? { ...found, worktree: undefined } : undefined;
}

async function findRepository(folder: string): Promise<FolderRepository | undefined> {
  let worktree = folder;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const gitFolder = await readGitFolder(worktree);
    if (gitFolder !== undefined) {
      const common = await readCommonFolder(gitFolder);
      const config = await readText(join(common, 'config'), MAX_CONFIG_BYTES);
      if (config === undefined) return undefined;
      return { repository: readRemote(config) ?? toMainFolder(common, worktree), worktree };
    }
    const parent = dirname(worktree);
    if (parent === worktree) return undefined;
    worktree = parent;
  }
  return undefined;
}

/** The folder `.git`, or the one that a file of this name points to, as in worktrees and submodules. */
async function readGitFolder(worktree: string): Promise<string | undefined> {
  const path = join(worktree, '.git');
  if (await isFolder(path)) return path;
  const pointer = /^gitdir: (.+?)\r?\n?$/.exec((await readText(path, MAX_POINTER_BYTES)) ?? '')?.[1];
  return pointer === undefined ? undefined : toNearPath(worktree, pointer);
}

/** The folder that all worktrees of the repository share. */
async function readCommonFolder(gitFolder: string): Promise<string> {
  const pointer = (await readText(join(gitFolder, 'commondir'), MAX_POINTER_BYTES))?.trim();
  return (pointer && toNearPath(gitFolder, pointer)) || gitFolder;
}

function toMainFolder(common: string, worktree: string): string {
  const name = basename(common);
  if (name === '.git' || name === '.bare') return dirname(common);
  return name.endsWith('.git') ? common.slice(0, -'.git'.length) : worktree;
}

/** Opening a path of another computer would tell it the user's name, and on Windows a hash of the password. */
const isRemotePath = (path: string): boolean => /^[/\\]{2}/.test(path);

function toNearPath(base: string, path: string): string | undefined {
  return isRemotePath(path) || path.includes('\0') ? undefined : resolve(base, path);
}

/** The address of `origin`, or else of the only remote. */
function readRemote(config: string): string | undefined {
  const addresses = new Map<string, string>();
  let remote: string | undefined;
  for (const line of config.replaceAll(/^([^#;\n]*)\\\r?\n/gm, '$1').split(/\r?\n/)) {
    const section = /^\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]/.exec(line);
    if (section !== null) remote = section[1]?.toLowerCase() === 'remote' ? section[2] : undefined;
    const value = remote === undefined ? undefined : /^(?:\s*\[[^\]]*\])?\s*url\s*=\s*(.*)$/is.exec(line)?.[1];
    if (remote !== undefined && value !== undefined && !addresses.has(remote)) addresses.set(remote, unquote(value));
  }
  const [only] = addresses.size === 1 ? addresses.values() : [];
  const address = toRepositoryUrl(addresses.get('origin') ?? only ?? null);
  const isSound = address !== null && address.length <= MAX_ADDRESS_LENGTH && !/\p{Cc}/u.test(address);
  return isSound ? address : undefined;
}

/** A value of git's configuration, which may be quoted, and end with a comment. */
function unquote(value: string): string {
  // Every alternative matches where it starts, so the time grows with the length only.
  const parts = value.match(/"(?:[^"\\]|\\.)*"?|[^"#;]+|[#;].*$/gs) ?? [];
  return parts
    .filter((part) => !/^[#;]/.test(part))
    .map((part) => (part.startsWith('"') ? part.replace(/^"|"$/g, '').replace(/\\(.)/g, '$1') : part))
    .join('')
    .trim();
}

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() === true;

/** Undefined for a file that is missing, may not be read, is too long, or is none, such as a pipe. */
async function readText(path: string, maxBytes: number): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined);
  if (stats?.isFile() !== true || stats.size > maxBytes) return undefined;
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}
