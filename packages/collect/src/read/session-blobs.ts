import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { type Agent, type CanonicalHeader, parseForeignJson, type SessionBlobs } from '@recount/core';
import { prepare, quote, type Row, toLine } from './canonical-ndjson.ts';

/** A database with a single session, identified by its path. */
export interface BlobDatabase {
  agent: Agent;
  layout: SessionBlobs;
  path: string;
}

const LEFT_BRACE = 0x7b;

/** The session as a store lists it, if it has any messages. */
export function listBlobSession(connection: DatabaseSync, database: BlobDatabase) {
  const { blobs } = database.layout;
  const row = readFactsRow(connection, database);
  const table = quote(blobs.table);
  const count = connection.prepare(`SELECT count(*) AS n, max(rowid) AS last FROM ${table}`).get();
  const [first] = listMessageIds(connection, database);
  if (first === undefined) return [];
  const version = createHash('sha256').update(`${row?.value} ${count?.n} ${count?.last}`);
  const times = [database.path, `${database.path}-wal`].map(
    (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs,
  );
  return [
    {
      id: row?.sessionId ?? basename(dirname(database.path)),
      version: version.digest('base64url').slice(0, 22),
      changedAtMs: Math.max(...times.map((time) => time ?? 0)),
    },
  ];
}

/**
 * The row of facts, the messages in the order of the latest state, that state, then messages that it no longer has, in
 * the order of writing. If the state cannot be read, all messages come in that order.
 */
export function* toBlobLines(connection: DatabaseSync, database: BlobDatabase, id: string): Generator<object> {
  const { agent, layout } = database;
  const { blobs } = layout;
  const row = readFactsRow(connection, database);
  const find = prepare(
    connection,
    `SELECT rowid AS "rowid", * FROM ${quote(blobs.table)} WHERE ${quote(blobs.id)} = ?`,
  );
  const read = (blobId: string | undefined): Row | undefined =>
    blobId === undefined ? undefined : (find.get(blobId) as Row | undefined);
  const header: CanonicalHeader = { recount: 'session', version: 1, agent: agent.id, session: id };
  yield header;
  if (row !== undefined) yield { table: layout.facts.table, row: row.facts };
  const root = read(row?.rootId);
  const data = root?.[blobs.data];
  const ordered = data instanceof Uint8Array ? layout.readOrder(data) : [];
  const seen = new Set<string>();
  for (const blobId of ordered) {
    const line = toMessageLine(read(blobId), blobs);
    if (line === undefined) continue;
    yield line;
    seen.add(blobId);
  }
  if (root !== undefined && seen.size > 0) yield toLine(blobs.table, root);
  for (const blobId of listMessageIds(connection, database)) {
    const line = seen.has(blobId) ? undefined : toMessageLine(read(blobId), blobs);
    if (line !== undefined) yield line;
  }
}

function readFactsRow(connection: DatabaseSync, { layout }: BlobDatabase) {
  const { table, value } = layout.facts;
  const row = connection.prepare(`SELECT ${quote(value)} AS value FROM ${quote(table)} ORDER BY rowid LIMIT 1`).get();
  const text = row?.value instanceof Uint8Array ? Buffer.from(row.value).toString() : row?.value;
  return typeof text === 'string' ? { value: text, ...layout.readFacts(text) } : undefined;
}

/** Ids of the blobs that may be JSON, in the order of writing. */
function* listMessageIds(connection: DatabaseSync, { layout }: BlobDatabase): Generator<string> {
  const { table, id, data } = layout.blobs;
  const rows = connection
    .prepare(
      `SELECT ${quote(id)} AS id FROM ${quote(table)} WHERE hex(substr(${quote(data)}, 1, 1)) = ? ORDER BY rowid`,
    )
    .iterate(LEFT_BRACE.toString(16).toUpperCase());
  for (const row of rows) yield String(row.id);
}

/** A row whose bytes are JSON, with these as text; undefined for any other. */
function toMessageLine(row: Row | undefined, { table, data }: SessionBlobs['blobs']): object | undefined {
  const value = row?.[data];
  const text = value instanceof Uint8Array ? Buffer.from(value).toString() : value;
  if (row === undefined || typeof text !== 'string') return undefined;
  try {
    parseForeignJson(text);
  } catch {
    return undefined;
  }
  return toLine(table, { ...row, [data]: text });
}
