import { sep } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { Agent, SessionHeadTable, SessionTable } from '@recount/core';
import { SourceError } from '@recount/storage/sources';
import { toNameTest } from '../find/match-files.ts';
import { type Layout, quote, toSelection } from './canonical-ndjson.ts';

/** Columns by table. */
export type Tables = ReadonlyMap<string, ReadonlySet<string>>;

/** Tables named in a message; the rest are counted. */
const MAX_NAMED = 5;
const MAX_NAME_LENGTH = 64;

/** The tables that the agent itself has made, without SQLite's own and indexes for searching. */
export function listTables(connection: DatabaseSync): Tables {
  const names = connection
    .prepare(
      `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
    )
    .all();
  return new Map(
    names.map(({ name }) => {
      const columns = connection.prepare('SELECT name FROM pragma_table_info(?)').all(String(name));
      return [String(name), new Set(columns.map((column) => String(column.name)))];
    }),
  );
}

/** The tables that are not among the known ones, whose names may end in `*`. */
export function findUnknown(tables: Tables, known: readonly string[]): Map<string, string> {
  const isKnown = known.map((name) =>
    name.endsWith('*') ? (table: string) => table.startsWith(name.slice(0, -1)) : (table: string) => table === name,
  );
  const unknown = [...tables.keys()].filter((table) => !isKnown.some((test) => test(table)));
  return new Map(unknown.map((table) => [table, 'is unknown']));
}

/**
 * The unread parts of an agent's store, by the names of its tables. They are tables with a problem, and rows of the
 * layout whose session, or message, is in none of its tables. Undefined if there are no such rows.
 */
export function toNotReadError(
  connection: DatabaseSync,
  agent: Agent,
  problems: ReadonlyMap<string, string>,
  layout?: Layout,
): SourceError | undefined {
  const count = (rest: string): number => Number(connection.prepare(`SELECT count(*) AS n FROM ${rest}`).get()?.n);
  const toNamed = (table: string, rows: number, problem: string): string[] =>
    rows > 0 ? [`${toShownName(table)} (${rows} row${rows === 1 ? '' : 's'}) ${problem}`] : [];
  const orphans = (layout?.rows ?? []).flatMap((table) => {
    const { children } = table;
    const ofTable = toNamed(table.table, count(toOrphans(table, layout?.sessions ?? [])), 'belongs to no session');
    if (children === undefined) return ofTable;
    const parent = { table: table.table, id: 'id' };
    const problem = `belongs to no ${toShownName(table.table)}`;
    return [...ofTable, ...toNamed(children.table, count(toOrphans(children, [parent])), problem)];
  });
  const unknown = [...problems].flatMap(([table, problem]) => toNamed(table, count(quote(table)), problem));
  const named = [...unknown, ...orphans];
  if (named.length === 0) return undefined;
  const rest = named.length - MAX_NAMED;
  const list = [...named.slice(0, MAX_NAMED), ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
  const message = `this version of recount does not read all of ${agent.label}’s database: table ${list}. ${unknown.length > 0 ? 'Update recount; the' : 'The'} rows stay where they are`;
  return new SourceError('unknown-layout', message);
}

/** The rows of a table whose owner is in no such table. */
function toOrphans(table: SessionTable, owners: readonly Pick<SessionHeadTable, 'table' | 'id'>[]): string {
  const owner = `t.${quote(table.owner)}`;
  const isOwned = owners.map(
    (head) => `EXISTS (SELECT 1 FROM ${quote(head.table)} head WHERE head.${quote(head.id)} = ${owner})`,
  );
  return `${quote(table.table)} t ${toSelection(table, `NOT (${isOwned.join(' OR ')})`)}`;
}

/** Names come from the database, so they must not control the terminal. */
const toShownName = (table: string): string => table.replaceAll(/[^\p{L}\p{N}_ .-]/gu, '?').slice(0, MAX_NAME_LENGTH);

/** The agent that keeps a database in such a place: `opencode/opencode.db`, whatever is above it. */
export function findAgentOfPlace(path: string, agents: readonly Agent[]): Agent | undefined {
  const parts = path.split(sep);
  const isIn = (pattern: string): boolean => {
    const tests = pattern.split('/').map(toNameTest);
    const ends = parts.slice(-tests.length);
    return ends.length === tests.length && tests.every((test, index) => test(ends[index] ?? ''));
  };
  return agents.find(({ places = [] }) =>
    places.some(
      ({ holds, bases, files, listed }) =>
        holds === 'database' && toPatterns(bases, files, listed?.file).some((pattern) => isIn(pattern)),
    ),
  );
}

/** With the last folder of the base, unless the file's own pattern has a folder. */
function toPatterns(bases: readonly string[], files: readonly string[], listed: string | undefined): string[] {
  if (listed !== undefined) return [listed];
  return files.flatMap((file) => {
    if (file.includes('/')) return [file];
    return bases.map((base) => `${base.split('/').at(-1)}/${file}`);
  });
}
