import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import {
  AGENTS,
  type Agent,
  type CanonicalHeader,
  describeRefusal,
  hasMoreValues,
  identifyTranscript,
  MAX_LINE_VALUES,
  type SessionFolder,
} from '@recount/core';
import { SourceError } from '@recount/storage/sources';
import { toNameTest } from '../find/match-files.ts';
import type { SessionStore } from './session-store.ts';

/** A session in many files, identified by its head. */
interface FoundFolder {
  agent: Agent;
  layout: SessionFolder;
  /** The folder that contains all its files. */
  root: string;
  sessionId: string;
}

const CHUNK_CHARACTERS = 64 * 1024;
/** Beyond this, children get separate lines, so that lines stay short. */
const MAX_NESTED_CHARACTERS = 1024 * 1024;

/** True if the path is the head of a session in many files. Opens nothing. */
export function isSessionHead(path: string, agents: readonly Agent[] = AGENTS): boolean {
  return findFolder(path, agents) !== undefined;
}

/** True if the path is one of a session's files other than its head, which are read with the head. Opens nothing. */
export function isSessionPart(path: string, agents: readonly Agent[] = AGENTS): boolean {
  const layouts = agents.flatMap(({ folder }) => folder ?? []);
  return layouts
    .flatMap(({ files, children }) => [files, children ?? []].flat())
    .some((pattern) => matchEnd(path, pattern.replaceAll(/\{\w+\}/g, '*')) !== undefined);
}

/** The session with this head, as a store with a single session; undefined if the path is no head. */
export function openSessionFolder(path: string, agents: readonly Agent[] = AGENTS): SessionStore | undefined {
  const found = findFolder(path, agents);
  if (found === undefined) return undefined;
  const { agent, sessionId } = found;
  return {
    agent,
    path,
    listSessions: () => [{ id: sessionId, ...readVersion(path, found) }],
    readSession: () => readFolder(path, found),
    close: () => undefined,
  };
}

function findFolder(path: string, agents: readonly Agent[]): FoundFolder | undefined {
  for (const agent of agents) {
    const layout = agent.folder;
    const matched = layout && matchEnd(path, layout.head);
    if (layout !== undefined && matched?.id !== undefined) {
      return { agent, layout, root: matched.root, sessionId: matched.id };
    }
  }
  return undefined;
}

/** The part of the path before the pattern's match, and the value of `{session}`. */
function matchEnd(path: string, pattern: string): { root: string; id: string | undefined } | undefined {
  const names = path.split(sep);
  const parts = pattern.split('/');
  const start = names.length - parts.length;
  if (start < 1) return undefined;
  let id: string | undefined;
  for (const [index, part] of parts.entries()) {
    const name = names[start + index] ?? '';
    const [before = '', after] = part.split('{session}');
    if (after === undefined) {
      if (!toNameTest(part)(name)) return undefined;
      continue;
    }
    const found = name.slice(before.length, name.length - after.length);
    // Ids become parts of paths, so none may lead out of the folder.
    if (!name.startsWith(before) || !name.endsWith(after) || !/^[\w-]+$/.test(found)) return undefined;
    id = found;
  }
  return { root: names.slice(0, start).join(sep), id };
}

interface PartFile {
  /** Relative to the root, with `/` as separator. */
  file: string;
  path: string;
  /** Without extension. */
  name: string;
}

/** The files of a folder that match a pattern, where only the last part may contain `*`. */
function listFiles(root: string, pattern: string): PartFile[] {
  const parts = pattern.split('/');
  const fits = toNameTest(parts.at(-1) ?? '');
  const folder = parts.slice(0, -1);
  return readNames(join(root, ...folder))
    .filter(fits)
    .sort()
    .map((name) => ({
      file: [...folder, name].join('/'),
      path: join(root, ...folder, name),
      name: name.replace(/\.[^.]*$/, ''),
    }));
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw toFolderError(error);
  }
}

function* listParts({ root, layout, sessionId }: FoundFolder): Generator<{ part: PartFile; children: PartFile[] }> {
  for (const part of listFiles(root, layout.files.replaceAll('{session}', sessionId))) {
    const { children } = layout;
    yield { part, children: children === undefined ? [] : listFiles(root, children.replaceAll('{name}', part.name)) };
  }
}

/** A short digest of every file's size and time. */
function readVersion(head: string, found: FoundFolder): { version: string; changedAtMs: number } {
  const hash = createHash('sha256');
  let changedAtMs = 0;
  const add = (path: string): void => {
    const stats = readStats(path);
    if (stats === undefined) return;
    hash.update(`${path}\n${stats.size}\n${stats.mtimeMs}\n`);
    changedAtMs = Math.max(changedAtMs, stats.mtimeMs);
  };
  add(head);
  for (const { part, children } of listParts(found)) {
    add(part.path);
    for (const child of children) add(child.path);
  }
  return { version: hash.digest('base64'), changedAtMs };
}

function readStats(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    // Agents delete old sessions.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw toFolderError(error);
  }
}

/** The session as canonical NDJSON: its head, then its other files in order, one at a time. */
async function* readFolder(head: string, found: FoundFolder): AsyncGenerator<Buffer, void> {
  let held = '';
  for (const line of toLines(head, found)) {
    held += `${JSON.stringify(line)}\n`;
    if (held.length < CHUNK_CHARACTERS) continue;
    yield Buffer.from(held);
    held = '';
  }
  yield Buffer.from(held);
}

function* toLines(path: string, found: FoundFolder): Generator<object> {
  const { agent, layout, root, sessionId } = found;
  const head = readPart({ path, file: path.slice(root.length + 1).replaceAll(sep, '/') });
  if (head === undefined) throw new SourceError('changed', 'the session was deleted while it was read');
  if ('text' in head) refuseEncoding(path);
  const parent = layout.parent === undefined || !('value' in head) ? undefined : Object(head.value)[layout.parent];
  const header: CanonicalHeader = { recount: 'session', version: 1, agent: agent.id, session: sessionId };
  yield { ...header, ...(typeof parent === 'string' && parent !== '' && { parent }) };
  yield head;
  for (const { part, children } of listParts(found)) {
    const line = readPart(part);
    if (line === undefined) continue;
    const nested: object[] = [];
    const later: object[] = [];
    let characters = 0;
    for (const child of children) {
      const value = readPart(child);
      if (value === undefined) continue;
      characters += JSON.stringify(value).length;
      (characters <= MAX_NESTED_CHARACTERS ? nested : later).push(value);
    }
    yield layout.children === undefined ? line : { ...line, children: nested };
    yield* later;
  }
}

/** Throws for a head in an encoding that is not read: the session's usage would be missing without a word. */
function refuseEncoding(path: string): void {
  const { encoding } = identifyTranscript({ head: readFileSync(path) });
  if (encoding !== undefined) throw new SourceError('unknown-layout', describeRefusal(encoding));
}

type PartLine = { file: string; value: unknown } | { file: string; text: string };

/**
 * The file's JSON, or its text if it is not JSON, e.g. because it is still being written, or has too many values.
 * Undefined if the file is gone.
 */
function readPart({ path, file }: Pick<PartFile, 'path' | 'file'>): PartLine | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw toFolderError(error);
  }
  // Keeps all of such a value as text, because as JSON, readers would take only a part.
  if (hasMoreValues(text, MAX_LINE_VALUES)) return { file, text };
  try {
    return { file, value: JSON.parse(text) };
  } catch {
    return { file, text };
  }
}

function toFolderError(cause: unknown): SourceError {
  const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
  return new SourceError('read-failed', `a file of the session cannot be read (${code})`, { cause });
}
