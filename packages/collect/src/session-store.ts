import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { AGENTS, type Agent, type SessionDatabase, type SessionTable } from '@recount/core';
import { SourceError } from '@recount/storage/sources';
import { quote, readSession, readSnapshot, toStoreError } from './canonical-ndjson.ts';
import { type BlobDatabase, listBlobSession, toBlobLines } from './session-blobs.ts';

/** An agent's store, open for reading. */
export interface SessionStore {
  agent: Agent;
  path: string;
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
/** How long to wait for an agent that is writing; with a write-ahead log, readers never wait. */
const BUSY_TIMEOUT_MS = 2000;

/** Whether a file is an SQLite database; false if it cannot be read. */
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
 * be read.
 */
export async function openSqliteStore(path: string, agents: readonly Agent[] = AGENTS): Promise<SessionStore> {
  const connect = await loadSqlite(path);
  const connection = connect();
  try {
    const tables = withStoreErrors(() => readTables(connection));
    const blobs = findBlobs(path, tables, agents);
    if (blobs !== undefined) return toBlobStore(blobs, connection, connect);
    const agent = chooseAgent(path, tables, agents);
    if (agent?.database === undefined) throw new SourceError('unsupported', 'a database of no known agent');
    const layout = toLayout(agent.database, tables);
    return {
      agent,
      path,
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

function toBlobStore(database: BlobDatabase, connection: DatabaseSync, connect: () => DatabaseSync): SessionStore {
  const { agent, path } = database;
  return {
    agent,
    path,
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

/** Columns by table. */
type Tables = ReadonlyMap<string, ReadonlySet<string>>;

function readTables(connection: DatabaseSync): Tables {
  const names = connection.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
  return new Map(
    names.map(({ name }) => {
      const columns = connection.prepare('SELECT name FROM pragma_table_info(?)').all(String(name));
      return [String(name), new Set(columns.map((column) => String(column.name)))];
    }),
  );
}

/** Several agents may use the same layout: the file's name then decides. */
function chooseAgent(path: string, tables: Tables, agents: readonly Agent[]): Agent | undefined {
  const fitting = agents.filter(({ database }) => database !== undefined && fits(database, tables));
  const name = basename(path);
  const isNamed = ({ places = [] }: Agent): boolean =>
    places.some(
      ({ holds, files }) =>
        holds === 'database' && files.some((file) => name.startsWith(basename(file).split('*')[0] ?? '')),
    );
  return fitting.find(isNamed) ?? fitting[0];
}

function fits({ sessions, rows }: SessionDatabase, tables: Tables): boolean {
  const [first] = rows;
  return (
    tables.get(sessions.table)?.has(sessions.id) === true &&
    [first.owner, ...first.order].every((column) => tables.get(first.table)?.has(column) === true)
  );
}

interface Layout {
  sessions: SessionDatabase['sessions'];
  rows: readonly SessionTable[];
  log?: SessionDatabase['log'];
}

/** The parts of the layout that this version of the store has. */
function toLayout({ sessions, rows, log }: SessionDatabase, tables: Tables): Layout {
  const toPresent = (table: SessionTable): SessionTable[] => {
    const columns = tables.get(table.table);
    if (columns?.has(table.owner) !== true) return [];
    const { children, ...own } = table;
    const order = table.order.filter((column) => columns.has(column));
    const [presentChildren] = children === undefined ? [] : toPresent(children);
    const changed = columns.has(table.changed) ? table.changed : 'rowid';
    return [
      {
        ...own,
        order: order.length > 0 ? order : ['rowid'],
        changed,
        ...(presentChildren && { children: presentChildren }),
      },
    ];
  };
  const columns = tables.get(sessions.table);
  const { parent, changed, without = [], ...own } = sessions;
  const hasAllTables = rows.every(({ table }) => tables.has(table));
  return {
    sessions: {
      ...own,
      without: hasAllTables ? without : [],
      ...(parent !== undefined && columns?.has(parent) === true && { parent }),
      ...(changed !== undefined && columns?.has(changed) === true && { changed }),
    },
    rows: rows.flatMap(toPresent),
    log,
  };
}

function listSessions(connection: DatabaseSync, { sessions, rows, log }: Layout, folder: string): StoredSession[] {
  const changed = sessions.changed === undefined ? 'NULL' : quote(sessions.changed);
  const found = connection
    .prepare(`SELECT ${quote(sessions.id)} AS id, ${changed} AS changed FROM ${quote(sessions.table)} ORDER BY rowid`)
    .all();
  const parts = new Map<string, string[]>(found.map((row) => [String(row.id), [String(row.changed)]]));
  for (const table of rows) {
    for (const { owner, text } of readChanges(connection, table)) parts.get(owner)?.push(text);
  }
  if (log !== undefined) {
    for (const [id, texts] of parts) {
      const stats = statSync(join(folder, log.file.replace('*', id)), { throwIfNoEntry: false });
      if (stats !== undefined) texts.push(`log ${stats.size} ${stats.mtimeMs}`);
    }
  }
  return found.map(({ id, changed: changedAt }) => ({
    id: String(id),
    version: createHash('sha256')
      .update(parts.get(String(id))?.join('\n') ?? '')
      .digest('base64url')
      .slice(0, 22),
    changedAtMs: toTimeMs(changedAt),
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

/** The number of each session's rows in a table, and their latest change: a deletion shows in the number. */
function* readChanges(connection: DatabaseSync, table: SessionTable): Generator<{ owner: string; text: string }> {
  const { children } = table;
  const owner = `t.${quote(table.owner)}`;
  const statements = [
    `SELECT ${owner} AS owner, count(*) AS n, max(t.${quote(table.changed)}) AS latest, max(t.rowid) AS last
     FROM ${quote(table.table)} t GROUP BY 1`,
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
