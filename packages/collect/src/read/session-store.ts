import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { AGENTS, type Agent, type SessionTable } from '@recount/core';
import { SourceError } from '@recount/storage/sources';
import { type Layout, quote, readSession, readSnapshot, toSelection, toStoreError } from './canonical-ndjson.ts';
import { type BlobDatabase, listBlobSession, toBlobLines } from './session-blobs.ts';
import { chooseLayout, toLayout } from './store-layout.ts';
import { findAgentOfPlace, findUnknown, listTables, type Tables, toNotReadError } from './store-tables.ts';

/** An agent's store, open for reading. */
export interface SessionStore {
  agent: Agent;
  path: string;
  /** Why the store is not read completely, with what is not read; undefined if it is. */
  notRead?: SourceError | undefined;
  /** All sessions, oldest first, without reading their contents. */
  listSessions(): StoredSession[];
  /**
   * Canonical NDJSON of a session, in pieces of about 64 KiB, read through a separate connection. Rejects with a
   * SourceError.
   */
  readSession(id: string): AsyncGenerator<Buffer, void>;
  close(): void;
}

export interface StoredSession {
  id: string;
  /** Changes if rows or files of the session are added, changed or deleted. */
  version: string;
  /** Milliseconds since 1970, if the store states it. */
  changedAtMs: number | undefined;
}

const SQLITE_MAGIC = 'SQLite format 3\0';
/** The time to wait for an agent that is writing; with a write-ahead log, readers never wait. */
const BUSY_TIMEOUT_MS = 2000;

/** True if a file is an SQLite database; false if it cannot be read. */
export async function isSqliteFile(path: string): Promise<boolean> {
  try {
    const handle = await open(path, 'r');
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(SQLITE_MAGIC.length), 0, SQLITE_MAGIC.length, 0);
      return buffer.toString('latin1', 0, bytesRead) === SQLITE_MAGIC;
    } finally {
      await handle.close();
    }
  } catch {
    return false;
  }
}

/**
 * Opens the store of the agent whose tables the database has. Rejects with a SourceError if it is no agent's, or cannot
 * be read: `unsupported` for a database of another program, `unknown-layout` for one in an agent's place.
 */
export async function openSqliteStore(path: string, agents: readonly Agent[] = AGENTS): Promise<SessionStore> {
  const connect = await loadSqlite(path);
  const connection = connect();
  try {
    const tables = withStoreErrors(() => listTables(connection));
    const toNotRead = (...what: [Agent, ReadonlyMap<string, string>, Layout?]): SourceError | undefined =>
      withStoreErrors(() => toNotReadError(connection, ...what));
    const blobs = findBlobs(path, tables, agents);
    if (blobs !== undefined) {
      const { facts, blobs: messages, unread } = blobs.layout;
      const known = [facts.table, messages.table, ...Object.keys(unread)];
      return toBlobStore(blobs, connection, connect, toNotRead(blobs.agent, findUnknown(tables, known)));
    }
    const chosen = chooseLayout(path, tables, agents);
    if (chosen === undefined) {
      const agent = findAgentOfPlace(path, agents);
      const error = agent && toNotRead(agent, findUnknown(tables, []));
      throw error ?? new SourceError('unsupported', 'a database of no known agent');
    }
    const { agent, database } = chosen;
    const { layout, problems } = toLayout(database, tables);
    return {
      agent,
      path,
      notRead: toNotRead(agent, problems, layout),
      listSessions: () => withStoreErrors(() => listSessions(connection, layout, dirname(path))),
      async *readSession(id) {
        const own = connect();
        try {
          yield* readSession(own, { agent, layout, folder: dirname(path) }, id);
        } finally {
          own.close();
        }
      },
      close: () => connection.close(),
    };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function findBlobs(path: string, tables: Tables, agents: readonly Agent[]): BlobDatabase | undefined {
  for (const agent of agents) {
    const layout = agent.blobs;
    const { facts, blobs } = layout ?? {};
    const hasFacts = facts !== undefined && tables.get(facts.table)?.has(facts.value) === true;
    const columns = tables.get(blobs?.table ?? '');
    const hasBlobs = blobs !== undefined && columns?.has(blobs.id) === true && columns.has(blobs.data);
    if (layout !== undefined && hasFacts && hasBlobs) return { agent, layout, path };
  }
  return undefined;
}

function toBlobStore(
  database: BlobDatabase,
  connection: DatabaseSync,
  connect: () => DatabaseSync,
  notRead: SourceError | undefined,
): SessionStore {
  const { agent, path } = database;
  return {
    agent,
    path,
    notRead,
    listSessions: () => withStoreErrors(() => listBlobSession(connection, database)),
    async *readSession(id) {
      const own = connect();
      try {
        yield* readSnapshot(own, () => toBlobLines(own, database, id));
      } finally {
        own.close();
      }
    },
    close: () => connection.close(),
  };
}

async function loadSqlite(path: string): Promise<() => DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite');
  return () => withStoreErrors(() => new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS }));
}

function withStoreErrors<Result>(operation: () => Result): Result {
  try {
    return operation();
  } catch (error) {
    throw toStoreError(error);
  }
}

function listSessions(connection: DatabaseSync, { sessions, rows, log }: Layout, folder: string): StoredSession[] {
  const parts = new Map<string, string[]>();
  const changes = new Map<string, number | undefined>();
  for (const { table, id, changed } of sessions) {
    const time = changed === undefined ? 'NULL' : quote(changed);
    const statement = `SELECT ${quote(id)} AS id, ${time} AS changed FROM ${quote(table)} ORDER BY rowid`;
    for (const row of connection.prepare(statement).iterate()) {
      const sessionId = String(row.id);
      parts.set(sessionId, [...(parts.get(sessionId) ?? []), String(row.changed)]);
      const [timeMs, otherMs] = [toTimeMs(row.changed), changes.get(sessionId)];
      changes.set(sessionId, timeMs === undefined || (otherMs ?? 0) > timeMs ? otherMs : timeMs);
    }
  }
  for (const table of rows) {
    for (const { owner, text } of readChanges(connection, table)) parts.get(owner)?.push(text);
  }
  if (log !== undefined) {
    for (const [id, texts] of parts) {
      const stats = statSync(join(folder, log.file.replace('*', id)), { throwIfNoEntry: false });
      if (stats !== undefined) texts.push(`log ${stats.size} ${stats.mtimeMs}`);
    }
  }
  return [...parts].map(([id, texts]) => ({
    id,
    version: createHash('sha256').update(texts.join('\n')).digest('base64url').slice(0, 22),
    changedAtMs: changes.get(id),
  }));
}

/** Stores have seconds or milliseconds since 1970, or text in UTC. */
function toTimeMs(time: unknown): number | undefined {
  const number = typeof time === 'number' ? time : undefined;
  if (number !== undefined) return number < 1e11 ? number * 1000 : number;
  const timeMs =
    typeof time === 'string' ? Date.parse(/[Zz]|[+-]\d\d:?\d\d$/.test(time) ? time : `${time}Z`) : Number.NaN;
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/** The number of each session's rows in a table, and their latest change. A deletion shows in the number. */
function* readChanges(connection: DatabaseSync, table: SessionTable): Generator<{ owner: string; text: string }> {
  const { children } = table;
  const owner = `t.${quote(table.owner)}`;
  const statements = [
    `SELECT ${owner} AS owner, count(*) AS n, max(t.${quote(table.changed)}) AS latest, max(t.rowid) AS last
     FROM ${quote(table.table)} t ${toSelection(table, 'TRUE')} GROUP BY 1`,
  ];
  if (children !== undefined) {
    statements.push(
      `SELECT ${owner} AS owner, count(*) AS n, max(c.${quote(children.changed)}) AS latest, max(c.rowid) AS last
       FROM ${quote(table.table)} t JOIN ${quote(children.table)} c ON c.${quote(children.owner)} = t."id" GROUP BY 1`,
    );
  }
  for (const statement of statements) {
    for (const { owner, n, latest, last } of connection.prepare(statement).iterate()) {
      yield { owner: String(owner), text: `${table.table} ${n} ${latest} ${last}` };
    }
  }
}
