import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type ReadSourcesOptions, readSources, SourceError, type SourceItem } from '@recount/storage/sources';
import type { SessionMemory } from './session-memory.ts';
import { isSqliteFile, openSessionStore, type SessionStore, type StoredSession } from './session-store.ts';

export interface ReadSessionsOptions extends ReadSourcesOptions {
  /** What of databases was brought before: sessions in which nothing has changed since are skipped. Default: none. */
  memory?: SessionMemory | undefined;
}

/**
 * What `readSources` finds, and of agents' databases each session as canonical NDJSON. A database that lies in a given folder,
 * but is no agent's, stays skipped as `not-a-transcript`.
 */
export async function* readSessions(
  paths: readonly string[],
  options: ReadSessionsOptions = {},
): AsyncGenerator<SourceItem, void> {
  let consumedInputBytes = 0;
  for (const path of paths) {
    const before = consumedInputBytes;
    const items = (await isSqliteFile(path)) ? readStore(path, options) : readWithStores(path, options);
    for await (const item of items) {
      consumedInputBytes = before + item.consumedInputBytes;
      yield { ...item, consumedInputBytes };
    }
  }
}

async function* readWithStores(path: string, options: ReadSessionsOptions): AsyncGenerator<SourceItem, void> {
  for await (const item of readSources([path], options)) {
    const mayBeStore =
      item.kind === 'skipped' && item.reason === 'not-a-transcript' && /\.(db|sqlite3?)$/i.test(item.location);
    if (!mayBeStore || !(await isSqliteFile(item.location))) {
      yield item;
      continue;
    }
    for await (const stored of readStore(item.location, options)) {
      const isUnknown = stored.kind === 'failed' && stored.error.code === 'unsupported';
      yield isUnknown ? item : { ...stored, consumedInputBytes: item.consumedInputBytes };
    }
  }
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
}
