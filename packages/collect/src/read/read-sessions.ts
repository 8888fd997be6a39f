import { stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Readable } from 'node:stream';
import { AGENTS } from '@recount/core';
import { type ReadSourcesOptions, readSources, SourceError, type SourceItem } from '@recount/storage/sources';
import { isSessionStore, openSessionStore } from './open-store.ts';
import { isPromptHistory } from './prompt-history.ts';
import { isSessionHead, isSessionPart } from './session-folder.ts';
import type { SessionMemory } from './session-memory.ts';
import { isSqliteFile, type SessionStore, type StoredSession } from './session-store.ts';

export interface ReadSessionsOptions extends ReadSourcesOptions {
  /**
   * Versions of database sessions that were read before. Those that have not changed since are skipped. Defaults to
   * none.
   */
  memory?: SessionMemory | undefined;
}

/**
 * The items of `readSources`, and each session of agents' databases, or spread over many files, as canonical NDJSON. A
 * database in a given folder that is no agent's is skipped as `not-a-transcript`, as are files that are read with their
 * session's head.
 */
export async function* readSessions(
  paths: readonly string[],
  options: ReadSessionsOptions = {},
): AsyncGenerator<SourceItem, void> {
  let consumedInputBytes = 0;
  const known: KnownStores = { items: new Map(), seen: new Set() };
  for (const path of paths) {
    const before = consumedInputBytes;
    const isStore = (await isSessionStore(path)) || (await isPromptHistory(path));
    const items = isStore ? onlyNew(readStore(path, options), known) : readWithStores(path, known, options);
    for await (const item of items) {
      consumedInputBytes = before + item.consumedInputBytes;
      yield { ...item, consumedInputBytes };
    }
    consumedInputBytes = Math.max(consumedInputBytes, before + (await measureFile(path)));
  }
}

/** Databases' sessions, without those that were read before. One with a log is found through the log, too. */
async function* onlyNew(
  stored: AsyncIterable<SourceItem> | Iterable<SourceItem>,
  { seen }: KnownStores,
): AsyncGenerator<SourceItem, void> {
  for await (const item of stored) {
    if (item.kind === 'transcript' && seen.has(item.location)) continue;
    if (item.kind === 'transcript') seen.add(item.location);
    yield item;
  }
}

/** Bytes processed once a path is done, which its items do not state; for a folder, its last item does. */
async function measureFile(path: string): Promise<number> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.isFile() ? stats.size : 0;
}

/**
 * The files whose sessions are in a database beside them. The database's rows count their usage. Sent separately, they
 * would count twice.
 */
export async function findInStores(paths: readonly string[]): Promise<Set<string>> {
  const inStores = new Set<string>();
  const idsByStore = new Map<string, Set<string>>();
  for (const path of paths) {
    const logged = findStoreOfLog(path);
    if (logged === undefined) continue;
    const ids = idsByStore.get(logged.store) ?? (await listIds(logged.store));
    idsByStore.set(logged.store, ids);
    if (ids.has(logged.sessionId)) inStores.add(path);
  }
  return inStores;
}

async function listIds(path: string): Promise<Set<string>> {
  if (!(await isSqliteFile(path))) return new Set();
  const store = await openSessionStore(path).catch(() => undefined);
  try {
    return new Set(store?.listSessions().map(({ id }) => id));
  } finally {
    store?.close();
  }
}

/** The database beside which a file is the log of one of its sessions. */
function findStoreOfLog(path: string): { store: string; sessionId: string } | undefined {
  for (const { log } of AGENTS.flatMap(({ databases = [] }) => databases)) {
    if (log === undefined) continue;
    const [start = '', end = ''] = log.file.split('*').map((part) => part.replaceAll('/', sep));
    const at = path.lastIndexOf(`${sep}${start}`);
    if (at === -1 || !path.endsWith(end)) continue;
    const sessionId = path.slice(at + 1 + start.length, -end.length);
    if (!sessionId.includes(sep)) return { store: join(path.slice(0, at), log.database), sessionId };
  }
  return undefined;
}

async function* readWithStores(
  path: string,
  known: KnownStores,
  options: ReadSessionsOptions,
): AsyncGenerator<SourceItem, void> {
  for await (const item of readSources([path], options)) {
    if (item.kind === 'transcript' && (isSessionHead(item.location) || (await isPromptHistory(item.location)))) {
      for await (const session of onlyNew(readStore(item.location, options), known)) {
        yield { ...session, consumedInputBytes: item.consumedInputBytes };
      }
      continue;
    }
    if (item.kind === 'transcript' && isSessionPart(item.location)) {
      const { location, consumedInputBytes } = item;
      yield { kind: 'skipped', reason: 'not-a-transcript', location, consumedInputBytes };
      continue;
    }
    const stored = item.kind === 'transcript' ? await findStored(item.location, known.items, options) : undefined;
    const mayBeStore =
      item.kind === 'skipped' && item.reason === 'not-a-transcript' && /\.(db|sqlite3?)$/i.test(item.location);
    if (stored !== undefined) {
      yield* onlyNew([{ ...stored, consumedInputBytes: item.consumedInputBytes }], known);
      continue;
    }
    if (!mayBeStore || !(await isSqliteFile(item.location))) {
      yield item;
      continue;
    }
    for await (const stored of onlyNew(readStore(item.location, options), known)) {
      const isUnknown = stored.kind === 'failed' && stored.error.code === 'unsupported';
      yield isUnknown ? item : { ...stored, consumedInputBytes: item.consumedInputBytes };
    }
  }
}

/** Sessions of databases that have logs, by database and location; each database is read once. */
type StoredItems = Map<string, Map<string, SourceItem>>;

interface KnownStores {
  items: StoredItems;
  /** Locations of the databases' sessions that were read. Members of archives are not among them. */
  seen: Set<string>;
}

/** The session with its rows; undefined if the database does not have it, or cannot be read. */
async function findStored(
  path: string,
  known: StoredItems,
  options: ReadSessionsOptions,
): Promise<SourceItem | undefined> {
  const logged = findStoreOfLog(path);
  if (logged === undefined || !(await isSqliteFile(logged.store))) return undefined;
  let items = known.get(logged.store);
  if (items === undefined) {
    items = new Map();
    known.set(logged.store, items);
    for await (const item of readStore(logged.store, options)) items.set(item.location, item);
  }
  return items.get(`${logged.store}!${logged.sessionId}`);
}

async function* readStore(
  path: string,
  { signal, sinceMs, memory }: ReadSessionsOptions,
): AsyncGenerator<SourceItem, void> {
  let store: SessionStore;
  let sessions: StoredSession[];
  try {
    store = await openSessionStore(path);
    sessions = store.listSessions();
    store.close();
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    yield { kind: 'failed', location: path, error, consumedInputBytes: 0 };
    return;
  }
  const { size, mtimeMs } = await stat(path);
  for (const [index, session] of sessions.entries()) {
    signal?.throwIfAborted();
    const location = `${path}!${session.id}`;
    const place = { location, consumedInputBytes: Math.floor((size * index) / sessions.length) };
    const isOlder = sinceMs !== undefined && session.changedAtMs !== undefined && session.changedAtMs < sinceMs;
    if (isOlder) yield { ...place, kind: 'skipped', reason: 'older-than-since' };
    else if (memory?.isUnchanged(location, session.version)) yield { ...place, kind: 'skipped', reason: 'unchanged' };
    else {
      memory?.expect(location, session.version);
      yield {
        ...place,
        kind: 'transcript',
        path: `${path}/${encodeURIComponent(session.id)}.ndjson`,
        modifiedAtMs: session.changedAtMs ?? mtimeMs,
        reopenable: true,
        open: async () => Readable.from(store.readSession(session.id), { objectMode: false }),
      };
    }
  }
  if (store.notRead !== undefined) {
    yield { kind: 'failed', location: path, error: store.notRead, consumedInputBytes: size };
  }
}
