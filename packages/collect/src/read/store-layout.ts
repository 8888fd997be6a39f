import { basename } from 'node:path';
import type { Agent, SessionDatabase, SessionHeadTable, SessionTable } from '@recount/core';
import type { Layout } from './canonical-ndjson.ts';
import { findUnknown, type Tables } from './store-tables.ts';

interface ChosenLayout {
  agent: Agent;
  database: SessionDatabase;
}

/** The agent's layout that the tables fit. Several agents may use the same layout. The file's name then decides. */
export function chooseLayout(path: string, tables: Tables, agents: readonly Agent[]): ChosenLayout | undefined {
  const fitting = agents.flatMap((agent) =>
    (agent.databases ?? []).filter((database) => fits(database, tables)).map((database) => ({ agent, database })),
  );
  const name = basename(path);
  const isNamed = ({ agent: { places = [] } }: ChosenLayout): boolean =>
    places.some(
      ({ holds, files }) =>
        holds === 'database' && files.some((file) => name.startsWith(basename(file).split('*')[0] ?? '')),
    );
  return fitting.find(isNamed) ?? fitting[0];
}

function fits({ sessions, rows, has = [], lacks = [] }: SessionDatabase, tables: Tables): boolean {
  const isThere = (column: string): boolean => {
    const [table = '', name = ''] = column.split('.');
    return tables.get(table)?.has(name) === true;
  };
  return (
    has.every(isThere) &&
    !lacks.some(isThere) &&
    sessions.some(({ table, id }) => tables.get(table)?.has(id) === true) &&
    rows.some(({ table, owner, order }) => [owner, ...order].every((column) => tables.get(table)?.has(column) === true))
  );
}

/** The part of the layout that the store has, and by the names of the other tables, what is wrong with them. */
export function toLayout(
  { sessions, rows, log, unread }: SessionDatabase,
  tables: Tables,
): { layout: Layout; problems: Map<string, string> } {
  const known = [
    ...sessions.map(({ table }) => table),
    ...rows.flatMap(({ table, children }) => [table, ...(children ? [children.table] : [])]),
    ...Object.keys(unread),
  ];
  const problems = findUnknown(tables, known);
  const lacks = (table: string, column: string): boolean => {
    const columns = tables.get(table);
    if (columns === undefined || columns.has(column)) return columns === undefined;
    problems.set(table, `has no column ${column}`);
    return true;
  };
  const toRows = (table: SessionTable): SessionTable[] => {
    const columns = tables.get(table.table);
    if (table.needs !== undefined && columns?.has(table.needs) !== true) return [];
    if (lacks(table.table, table.owner)) return [];
    const { children, unless, ...own } = table;
    const order = table.order.filter((column) => columns?.has(column));
    const [presentChildren] = children === undefined || lacks(table.table, 'id') ? [] : toRows(children);
    const isCopied = unless !== undefined && tables.get(unless)?.has('id') === true;
    return [
      {
        ...own,
        order: order.length > 0 ? order : ['rowid'],
        changed: columns?.has(table.changed) === true ? table.changed : 'rowid',
        ...(isCopied && { unless }),
        ...(presentChildren && { children: presentChildren }),
      },
    ];
  };
  const toHead = (head: SessionHeadTable): SessionHeadTable[] => {
    if (lacks(head.table, head.id)) return [];
    const columns = tables.get(head.table);
    const { parent, changed, without = [], summedIn, ...own } = head;
    return [
      {
        ...own,
        without: summedIn === undefined || tables.has(summedIn) ? without : [],
        ...(parent !== undefined && columns?.has(parent) === true && { parent }),
        ...(changed !== undefined && columns?.has(changed) === true && { changed }),
      },
    ];
  };
  return { layout: { sessions: sessions.flatMap(toHead), rows: rows.flatMap(toRows), log }, problems };
}
