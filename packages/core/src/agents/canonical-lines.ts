import type { JsonObject, JsonValue } from '../lines/json.ts';
import { readObject, readText } from '../records/fields.ts';
import type { Format } from './agent.ts';
import { parseJsonText } from './reader-kit.ts';

/** The first line of a session that `packages/collect` read from an agent's store. */
export interface CanonicalHeader {
  recount: 'session';
  version: 1;
  /** Id of the agent. */
  agent: string;
  session: string;
  /** The session that started this one as a sub-agent. */
  parent?: string;
  /**
   * If the session has a log beside the database, this is the time of the first table's first row, as the store has it.
   */
  rowsSince?: string | number;
}

/** A row of the store: `{"table":"message","rowid":1,"row":{…},"children":[…]}`. */
export interface CanonicalRow {
  table: string;
  rowid: number | undefined;
  row: JsonObject;
  children: CanonicalRow[];
}

/** One file of a session that is spread over many: `{"file":"message/ses_1/msg_1.json","value":{…},"children":[…]}`. */
export interface CanonicalFile {
  file: string;
  value: JsonObject;
  children: CanonicalFile[];
}

function isCanonicalHeader(line: JsonObject, agentId: string): boolean {
  return line.recount === 'session' && line.agent === agentId;
}

export function readCanonicalRow(line: JsonObject): CanonicalRow | undefined {
  const row = readObject(line.row);
  const table = readText(line.table);
  if (table === null || row === undefined) return undefined;
  const children = Array.isArray(line.children) ? line.children : [];
  return {
    table,
    rowid: typeof line.rowid === 'number' ? line.rowid : undefined,
    row,
    children: children.flatMap((child) => readCanonicalRow(readObject(child) ?? {}) ?? []),
  };
}

export function readCanonicalFile(line: JsonObject): CanonicalFile | undefined {
  const value = readObject(line.value);
  const file = readText(line.file);
  if (file === null || value === undefined) return undefined;
  const children = Array.isArray(line.children) ? line.children : [];
  return { file, value, children: children.flatMap((child) => readCanonicalFile(readObject(child) ?? {}) ?? []) };
}

/** The number of files of a line are no JSON object, including files inside others; torn ones are there as text. */
export function countUnreadableFiles(line: JsonObject): number {
  const own = readText(line.file) !== null && readObject(line.value) === undefined ? 1 : 0;
  const children = Array.isArray(line.children) ? line.children : [];
  return children.reduce((count: number, child) => count + countUnreadableFiles(readObject(child) ?? {}), own);
}

/**
 * Parses the JSON that a column holds as text, without characters that Postgres rejects. Undefined if it is not JSON.
 */
export function readJsonColumn(value: JsonValue | undefined): JsonValue | undefined {
  return typeof value === 'string' ? parseJsonText(value) : value;
}

/** A row that is not read, with the JSON in its columns parsed, to be searched for what it holds. */
export function toUnreadRow({ row, children }: CanonicalRow): JsonObject {
  const columns = Object.entries(row).map(([name, value]) => {
    const isJson = typeof value === 'string' && /^\s*[[{]/.test(value);
    return [name, (isJson ? parseJsonText(value) : value) ?? value] as const;
  });
  return { ...Object.fromEntries(columns), ...(children.length > 0 && { children: children.map(toUnreadRow) }) };
}

/** The format of sessions that `packages/collect` reads from the agent's store. */
export function toCanonicalFormat(
  agentId: string,
  createReader: Format['createReader'],
  outranks?: Format['outranks'],
): Format {
  return {
    id: `${agentId}-session`,
    kind: 'session',
    isRewritten: true,
    ...(outranks !== undefined && { outranks }),
    detect: (line) => (isCanonicalHeader(line, agentId) ? 1 : 0),
    identify(line, found) {
      if (!isCanonicalHeader(line, agentId)) return;
      found.sessionId ??= readText(line.session) ?? undefined;
      found.parentSessionId ??= readText(line.parent) ?? undefined;
      found.hasMessage = true;
    },
    createReader,
  };
}
