import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface MatchedFile {
  path: string;
  sizeBytes: number;
  modifiedAtMs: number;
}

/** Levels below the folder where a `**` begins; no agent nests deeper. */
const MAX_DEPTH = 32;

/**
 * The files below a folder that match a pattern: `*` matches within a name, `**` any number of folders. Sorted so that
 * `<session>.jsonl` comes right before the contents of `<session>/`. Links are followed if the pattern names them.
 * Those that only match it are reported and skipped, because their targets may be found twice, may not be the agent's,
 * and may lead back. Folders that do not exist have no files; those without permission are reported and skipped.
 */
export function* matchFiles(
  folder: string,
  pattern: string,
  { onDenied = () => undefined, onLink = () => undefined }: Partial<MatchListener> = {},
): Generator<MatchedFile, void> {
  yield* matchParts(folder, pattern.split('/'), { depth: 0, onDenied, onLink });
}

interface MatchListener {
  /** Called with a folder or file that may not be read for lack of permission. */
  onDenied(path: string): void;
  /** Called with a symbolic link that is not followed, to a file that would match or a folder that may hold some. */
  onLink(path: string): unknown;
}

interface Walk extends MatchListener {
  depth: number;
}

function* matchParts(folder: string, parts: readonly string[], walk: Walk): Generator<MatchedFile, void> {
  const [part = '', ...rest] = parts;
  if (part === '**') {
    yield* matchAnywhere(folder, rest, walk);
  } else if (!part.includes('*')) {
    const path = join(folder, part);
    if (rest.length > 0) yield* matchParts(path, rest, walk);
    else yield* toFile(path, walk);
  } else {
    const fits = toNameTest(part);
    for (const entry of readEntries(folder, walk)) {
      if (!fits(entry.name)) continue;
      const path = join(folder, entry.name);
      if (rest.length === 0 && entry.isFile()) yield* toFile(path, walk);
      if (rest.length > 0 && entry.isDirectory()) yield* matchParts(path, rest, walk);
      if (entry.isSymbolicLink() && leadsToMatch(path, rest)) walk.onLink(path);
    }
  }
}

/** One pass over the folder and everything below it, with files and folders in a common order. */
function* matchAnywhere(folder: string, rest: readonly string[], walk: Walk): Generator<MatchedFile, void> {
  const [name = ''] = rest;
  const fits = toNameTest(name);
  const { depth } = walk;
  if (rest.length > 1) yield* matchParts(folder, rest, walk);
  for (const entry of readEntries(folder, walk)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < MAX_DEPTH) yield* matchAnywhere(path, rest, { ...walk, depth: depth + 1 });
    else if (rest.length === 1 && entry.isFile() && fits(entry.name)) yield* toFile(path, walk);
    else if (entry.isSymbolicLink() && leadsToMatch(path, rest.length === 1 && fits(entry.name) ? [] : ['**']))
      walk.onLink(path);
  }
}

/** True if a link leads to a file, or to a folder that may hold matches of the rest of the pattern. */
function leadsToMatch(path: string, rest: readonly string[]): boolean {
  const silent = { depth: 0, onDenied: () => undefined, onLink: () => undefined };
  const target = attempt(() => statSync(path, { throwIfNoEntry: false }), path, silent.onDenied);
  if (rest.length === 0) return target?.isFile() === true;
  // A whole tree is not searched for this.
  if (target?.isDirectory() !== true || rest.includes('**')) return target?.isDirectory() === true;
  return matchParts(path, rest, silent).next().done !== true;
}

function* toFile(path: string, { onDenied }: Walk): Generator<MatchedFile, void> {
  const stats = attempt(() => statSync(path, { throwIfNoEntry: false }), path, onDenied);
  if (stats?.isFile()) yield { path, sizeBytes: stats.size, modifiedAtMs: stats.mtimeMs };
}

function readEntries(folder: string, { onDenied }: Walk): Dirent[] {
  // Most places of most agents do not exist, and checking first is cheaper than an error.
  const isThere = attempt(() => statSync(folder, { throwIfNoEntry: false }), folder, onDenied) !== undefined;
  const entries = isThere ? attempt(() => readdirSync(folder, { withFileTypes: true }), folder, onDenied) : undefined;
  const toKey = (entry: Dirent): string => (entry.isDirectory() ? `${entry.name}/` : entry.name);
  return (entries ?? []).sort((a, b) => (toKey(a) < toKey(b) ? -1 : 1));
}

/** Undefined if it fails. */
function attempt<T>(read: () => T, path: string, onDenied: MatchListener['onDenied']): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isDenial(error)) onDenied(path);
    return undefined;
  }
}

/** True if permission to read was denied. */
export function isDenial(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EACCES' || code === 'EPERM';
}

/** True if a name matches one part of a pattern. */
export function toNameTest(pattern: string): (name: string) => boolean {
  const escaped = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
  const expression = new RegExp(`^${escaped}$`, 's');
  return (name) => expression.test(name);
}
