import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { StringDecoder } from 'node:string_decoder';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';
import {
  type Agent,
  type CanonicalHeader,
  type JsonObject,
  parseForeignJson,
  type SessionDatabase,
  type SessionHeadTable,
  type SessionTable,
} from '@recount/core';
import { SourceError } from '@recount/storage/sources';

/** The parts of an agent's layout that a store has. */
export interface Layout {
  sessions: readonly SessionHeadTable[];
  rows: readonly SessionTable[];
  log?: SessionDatabase['log'];
}

export interface ReadableStore {
  agent: Pick<Agent, 'id'>;
  layout: Layout;
  /** The folder that contains the database. */
  folder: string;
}

const CHUNK_CHARACTERS = 64 * 1024;
const WRITTEN_MEANWHILE = 'the agent wrote to its database at the same time; run it again';
/** Beyond this, children get separate lines, so that lines stay short. */
const MAX_NESTED_CHARACTERS = 1024 * 1024;

export type Row = Record<string, SQLOutputValue>;

/**
 * One session as canonical NDJSON (docs/formats/canonical-ndjson.md), which is a header, the session's row, then the
 * rows of all its tables by time. Holds only one row and its children at a time. With a write-ahead log the session is
 * read in one snapshot while the agent may write; without one there is no lock between rows, and a concurrent change is
 * an error.
 */
export function readSession(connection: DatabaseSync, store: ReadableStore, id: string): AsyncGenerator<Buffer, void> {
  return readSnapshot(connection, () => toLines(connection, store, id));
}

/** The lines, in pieces of about 64 KiB, all from the same snapshot. Rejects with a SourceError. */
export async function* readSnapshot(
  connection: DatabaseSync,
  toLines: () => Iterable<object | string>,
): AsyncGenerator<Buffer, void> {
  try {
    const hasLog = connection.prepare('PRAGMA journal_mode').get()?.journal_mode === 'wal';
    if (hasLog) connection.exec('BEGIN');
    const toVersion = (): unknown => connection.prepare('PRAGMA data_version').get()?.data_version;
    const before = toVersion();
    let held = '';
    for (const line of toLines()) {
      held += `${typeof line === 'string' ? line : JSON.stringify(line)}\n`;
      if (held.length < CHUNK_CHARACTERS) continue;
      yield Buffer.from(held);
      held = '';
      await nextTurn();
    }
    if (!hasLog && toVersion() !== before) throw new SourceError('changed', WRITTEN_MEANWHILE);
    yield Buffer.from(held);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    if (connection.isTransaction) connection.exec('ROLLBACK');
  }
}

function* toLines(
  connection: DatabaseSync,
  { agent, layout, folder }: ReadableStore,
  id: string,
): Generator<object | string> {
  const { sessions, log } = layout;
  const logPath = log && join(folder, log.file.replace('*', id));
  const hasLog = log !== undefined && isFileName(id) && existsSync(logPath ?? '');
  const rows = layout.rows.filter(({ table }) => !hasLog || !log.replaces.includes(table));
  const heads = readHeads(connection, sessions, id);
  const [first] = heads.values();
  if (first === undefined) throw new SourceError('changed', 'the session was deleted while the store was read');
  const parent = [...heads.values()].map((head) => head.parent).find((value) => value !== undefined);
  const header: CanonicalHeader = { recount: 'session', version: 1, agent: agent.id, session: id };
  const rowsSince = hasLog && rows[0] !== undefined ? findFirstTime(connection, rows[0], id) : null;
  yield { ...header, ...(parent !== undefined && { parent }), ...(rowsSince !== null && { rowsSince }) };
  yield first.line;
  // Each other row of the session comes once, before the first row that belongs to it.
  const others = new Map([...heads].slice(1).map(([table, { line }]) => [table, line]));
  const sources = rows.map((table) => withHead(readRows(connection, table, id), table.head, others));
  yield* mergeByTime(hasLog && logPath !== undefined ? [readLog(logPath, log.time), ...sources] : sources);
}

/** The session's rows by their tables, in the layout's order. */
function readHeads(
  connection: DatabaseSync,
  sessions: readonly SessionHeadTable[],
  id: string,
): Map<string, { line: object; parent: string | undefined }> {
  return new Map(
    sessions.flatMap(({ table, id: column, parent, without }) => {
      const statement = `SELECT rowid AS "rowid", * FROM ${quote(table)} WHERE ${quote(column)} = ?`;
      const row = prepare(connection, statement).get(id) as Row | undefined;
      if (row === undefined) return [];
      const kept = Object.entries(row).filter(([name]) => without?.includes(name) !== true);
      const parentId = parent === undefined ? null : row[parent];
      const head = {
        line: toLine(table, Object.fromEntries(kept)),
        parent: typeof parentId === 'string' && parentId !== '' ? parentId : undefined,
      };
      return [[table, head] as const];
    }),
  );
}

function* withHead(
  rows: Iterable<TimedLine>,
  table: string | undefined,
  heads: Map<string, object>,
): Generator<TimedLine> {
  for (const { time, lines } of rows) yield { time, lines: toLinesWithHead(lines, table, heads) };
}

/** The head is read when the lines are written, because another table's rows may come first. */
function* toLinesWithHead(
  lines: Iterable<object | string>,
  table: string | undefined,
  heads: Map<string, object>,
): Generator<object | string> {
  const head = table === undefined ? undefined : heads.get(table);
  if (table !== undefined && head !== undefined) {
    heads.delete(table);
    yield head;
  }
  yield* lines;
}

/** Ids come from the database, so none may lead out of the folder. */
function isFileName(id: string): boolean {
  return /^[\w-]+$/.test(id);
}

function findFirstTime(connection: DatabaseSync, { table, owner, order }: SessionTable, id: string): unknown {
  const column = quote(order[0] ?? 'rowid');
  const row = prepare(connection, `SELECT min(${column}) AS "time" FROM ${quote(table)} WHERE ${quote(owner)} = ?`).get(
    id,
  );
  return toJsonValue(row?.time ?? null);
}

const LOG_CHUNK_BYTES = 256 * 1024;

/** Lines of a file unchanged; lines without a time keep their position in the file. */
function* readLog(path: string, timeField: string): Generator<TimedLine> {
  const file = openSync(path, 'r');
  try {
    const decoder = new StringDecoder('utf8');
    const chunk = Buffer.alloc(LOG_CHUNK_BYTES);
    let time: SQLOutputValue = null;
    let rest = '';
    for (let size = readSync(file, chunk); size > 0; size = readSync(file, chunk)) {
      const lines = (rest + decoder.write(chunk.subarray(0, size))).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        time = readTime(line, timeField) ?? time;
        yield { time, lines: [line] };
      }
    }
    // A line that is still being written is left to the next run.
  } finally {
    closeSync(file);
  }
}

function readTime(line: string, field: string): string | undefined {
  try {
    const time = (parseForeignJson(line) as JsonObject)[field];
    return typeof time === 'string' ? time : undefined;
  } catch {
    return undefined;
  }
}

/** Converts an error of SQLite to a SourceError without quoting the database. */
export function toStoreError(cause: unknown): SourceError {
  if (cause instanceof SourceError) return cause;
  const { errcode = 0, errstr = 'unknown error' } = cause as { errcode?: number; errstr?: string };
  // The lower byte is the primary code: 5 is SQLITE_BUSY, 6 SQLITE_LOCKED, 11 SQLITE_CORRUPT, 26 SQLITE_NOTADB.
  const primary = errcode & 0xff;
  if (primary === 5 || primary === 6) return new SourceError('changed', WRITTEN_MEANWHILE, { cause });
  const code = primary === 11 || primary === 26 ? 'corrupt' : 'read-failed';
  return new SourceError(code, `the database cannot be read (${errstr})`, { cause });
}

/** A row with its sort time. */
interface TimedLine {
  time: SQLOutputValue;
  lines: Iterable<object | string>;
}

/** Rows of a session in order. Looks up their rowids first, because sorting whole rows would hold them all. */
function* readRows(connection: DatabaseSync, table: SessionTable, owner: SQLOutputValue): Generator<TimedLine> {
  const places = prepare(
    connection,
    `SELECT rowid AS "rowid", ${quote(table.order[0] ?? 'rowid')} AS "time" FROM ${quote(table.table)}
     t ${toSelection(table, `t.${quote(table.owner)} = ?`)} ORDER BY ${[...table.order, 'rowid'].map(quote).join(', ')}`,
  ).all(owner as string) as Row[];
  const whole = prepare(connection, `SELECT rowid AS "rowid", * FROM ${quote(table.table)} WHERE rowid = ?`);
  for (const { rowid, time } of places) {
    const row = whole.get(rowid as bigint) as Row | undefined;
    // Without a snapshot the row may be gone. The change is detected at the end.
    if (row !== undefined) yield { time: time ?? null, lines: toRowLines(connection, table, unpack(row, table)) };
  }
}

/** Longer texts stay as they are: OpenClaw's are at most 4 MiB. */
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;

/** The row with its compressed text as text; unchanged if it cannot be unpacked. */
function unpack(row: Row, { packed }: SessionTable): Row {
  const bytes = packed === undefined ? undefined : row[packed.column];
  if (packed === undefined || !(bytes instanceof Uint8Array) || (row[packed.into] ?? null) !== null) return row;
  try {
    const text = zstdDecompressSync(bytes, { maxOutputLength: MAX_UNPACKED_BYTES }).toString();
    return { ...row, [packed.into]: text, [packed.column]: null };
  } catch {
    return row;
  }
}

function* toRowLines(
  connection: DatabaseSync,
  { table, children }: SessionTable,
  row: Row,
): Generator<object | string> {
  const line = toLine(table, row);
  if (children === undefined) {
    yield line;
    return;
  }
  const nested: (object | string)[] = [];
  let characters = 0;
  const rest: Iterator<TimedLine> = readRows(connection, children, row.id ?? null);
  for (let next = rest.next(); next.done !== true; next = rest.next()) {
    const [child] = next.value.lines;
    if (child === undefined) continue;
    characters += characters > MAX_NESTED_CHARACTERS ? 0 : JSON.stringify(child).length;
    if (characters <= MAX_NESTED_CHARACTERS) {
      nested.push(child);
      continue;
    }
    yield { ...line, children: nested };
    yield child;
    for (let later = rest.next(); later.done !== true; later = rest.next()) yield* later.value.lines;
    return;
  }
  yield { ...line, children: nested };
}

/** The WHERE of a table named `t`, which selects the rows to read. */
export function toSelection({ only, unless }: SessionTable, condition: string): string {
  const conditions = [condition];
  if (only !== undefined) {
    const prefix = `'${only.prefix.replaceAll("'", "''")}'`;
    conditions.push(`substr(t.${quote(only.column)}, 1, ${only.prefix.length}) = ${prefix}`);
  }
  if (unless !== undefined) {
    conditions.push(`NOT EXISTS (SELECT 1 FROM ${quote(unless)} copied WHERE copied."id" = t."id")`);
  }
  return `WHERE ${conditions.join(' AND ')}`;
}

/** Merges sorted rows of several tables; for equal times, the earlier table comes first. */
function* mergeByTime(sources: readonly Generator<TimedLine>[]): Generator<object | string> {
  const heads = sources.map((source) => source.next());
  for (;;) {
    let first: number | undefined;
    for (const [index, head] of heads.entries()) {
      if (head.done === true) continue;
      const best = first === undefined ? undefined : heads[first];
      if (best === undefined || best.done === true || isBefore(head.value.time, best.value.time)) first = index;
    }
    const head = first === undefined ? undefined : heads[first];
    if (first === undefined || head === undefined || head.done === true) return;
    yield* head.value.lines;
    const source = sources[first];
    if (source !== undefined) heads[first] = source.next();
  }
}

function isBefore(a: SQLOutputValue, b: SQLOutputValue): boolean {
  return toSortableTime(a) < toSortableTime(b);
}

/** All times of a store are numbers in one unit, or text: ISO 8601, or `2026-07-01 12:34:56` in UTC. */
function toSortableTime(time: SQLOutputValue): number {
  if (typeof time !== 'string') return Number(time ?? 0);
  return Date.parse(/[Zz]$|[+-]\d\d:?\d\d$/.test(time) ? time : `${time}Z`) || 0;
}

export function toLine(table: string, { rowid, ...row }: Row): { table: string; rowid: unknown; row: object } {
  const values = Object.entries(row).map(([name, value]) => [name, toJsonValue(value)]);
  return { table, rowid: toJsonValue(rowid ?? null), row: Object.fromEntries(values) };
}

/** Integers beyond 2^53 become text, bytes become `{"base64":"…"}`. */
function toJsonValue(value: SQLOutputValue): unknown {
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value;
}

export function prepare(connection: DatabaseSync, sql: string): StatementSync {
  const statement = connection.prepare(sql);
  statement.setReadBigInts(true);
  return statement;
}

export const quote = (name: string): string => (name === 'rowid' ? name : `"${name.replaceAll('"', '""')}"`);
