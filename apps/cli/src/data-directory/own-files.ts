import type { Dirent } from 'node:fs';
import { lstat, readdir, rm, rmdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/** A folder that recount writes to, and the files in it that recount makes. */
export interface OwnedFolder {
  path: string;
  /** The content, for people. */
  what: string;
  /** True if recount makes a file of this path; relative to the folder, with `/` as separator. */
  isOwn(relativePath: string): boolean;
}

/** The content of a folder. */
export interface FolderContents {
  fileCount: number;
  bytes: number;
  /** The first files that recount did not make, at most MAX_FOREIGN. */
  foreign: string[];
}

/** Foreign files named to the user. */
export const MAX_FOREIGN = 10;

/** A name and whatever an interrupted write left beside it: `credentials.json.3f0c…`, `recount.log.1`. */
const withRest = (name: string): string => `${name.replaceAll('.', '\\.')}(?:\\.[\\w.-]+)?`;

const DATA_FILES = new RegExp(
  `^(?:${[
    ...['credentials.json', 'running.json', 'samples-loaded', 'import-asked', 'logs/recount.log'].map(withRest),
    'raw/\\.incoming/.+',
    'raw/readiness-check',
    'raw/workspaces/[0-9A-Z]{26}/.+',
    '(?:live-spool|collected)/.+',
  ].join('|')})$`,
);

/** Files of the collector, in its folder, see SpoolFolder. */
export const isCollectorFile = (relativePath: string): boolean =>
  /^(?:(?:queue|waiting|kept|outgoing)\/.+|(?:(?:budget-)?hook(?:\.cmd)?|budgets\.json|connection\.json|sent\.ndjson|databases\.json|status\.json|(?:sender|watch)\.lock|sender\.pid|watch\.log)(?:\.[\w.-]+)?)$/.test(
    relativePath,
  );

/** Files of PostgreSQL's folder. `cluster` is made as a whole by initdb, which refuses a folder with anything in it. */
export const isPostgresFile = (relativePath: string): boolean =>
  /^(?:cluster\/.+|(?:cluster|owner)\.lock|(?:installation\.json|where-the-data-are\.txt)(?:\.[0-9a-f]+\.tmp)?)$/.test(
    relativePath,
  );

/** Files of the data directory. `programs` is made as a whole, by npm. */
export const isDataFile = (relativePath: string): boolean =>
  DATA_FILES.test(relativePath) ||
  relativePath.startsWith('programs/') ||
  (relativePath.startsWith('collector/') && isCollectorFile(relativePath.slice('collector/'.length))) ||
  (relativePath.startsWith('postgres/') && isPostgresFile(relativePath.slice('postgres/'.length)));

/** The memory of `recount usage`, with one file a month, and the status line's. */
export const isUsageCacheFile = (relativePath: string): boolean =>
  /^(?:\d{4}-\d{2}\.usage|status\.json)(?:\.[\w-]+)?$/.test(relativePath);

/** Counts the files of a folder; undefined if it does not exist. Symbolic links are not followed. */
export async function inspectFolder(folder: OwnedFolder): Promise<FolderContents | undefined> {
  if ((await lstat(folder.path).catch(() => undefined)) === undefined) return undefined;
  const contents: FolderContents = { fileCount: 0, bytes: 0, foreign: [] };
  for await (const { path, bytes, isOwn } of listFiles(folder)) {
    if (!isOwn && contents.foreign.length < MAX_FOREIGN) contents.foreign.push(path);
    contents.fileCount++;
    contents.bytes += bytes;
  }
  return contents;
}

/** A file of an owned folder; a symbolic link counts as a file. */
export interface FoundFile {
  path: string;
  bytes: number;
  isOwn: boolean;
}

/** All files below a folder, one after another. */
export async function* listFiles(folder: OwnedFolder): AsyncGenerator<FoundFile> {
  for await (const { path, entry } of walk(folder.path)) {
    if (entry.isDirectory()) continue;
    // Files of a running database come and go.
    const bytes = await lstat(path).then(
      ({ size }) => size,
      () => 0,
    );
    yield { path, bytes, isOwn: isOwnFile(folder, path) };
  }
}

/** Deletes recount's own files, then the folders that are empty. Whatever else is there stays. */
export async function deleteOwnFiles(folder: Omit<OwnedFolder, 'what'>): Promise<void> {
  for await (const { path, entry } of walk(folder.path)) {
    if (entry.isDirectory()) await removeIfEmpty(path);
    else if (isOwnFile(folder, path)) await rm(path, { force: true });
  }
  await removeIfEmpty(folder.path);
}

const isOwnFile = ({ path: root, isOwn }: Omit<OwnedFolder, 'what'>, path: string): boolean =>
  isOwn(relative(root, path).replaceAll(sep, '/'));

/** Entries before the folder that holds them. */
async function* walk(folder: string): AsyncGenerator<{ path: string; entry: Dirent }> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path);
    yield { path, entry };
  }
}

/** A symbolic link (ENOTDIR) stays, because it may be the data directory, which recount did not make. */
async function removeIfEmpty(path: string): Promise<void> {
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EBUSY', 'ENOTDIR'].includes(error.code ?? '')) throw error;
  });
}
