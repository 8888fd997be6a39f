import { createInterface } from 'node:readline';
import {
  type AnnotationRow,
  type BudgetCrossingRow,
  type Database,
  hasWorkspace,
  isPeopleTable,
  listAllCrossings,
  listAnnotations,
  listBillRows,
  listPeopleRows,
  type PeopleRow,
  readAnnotationState,
  readBillState,
  readCrossingState,
  readPeopleState,
  type StoredBillRow,
} from '@recount/db';
import {
  annotationRecordKey,
  billRecordKey,
  crossingRecordKey,
  peopleRecordKey,
  type RawStore,
  RawStoreError,
} from '@recount/storage';

/** Rows that `readRowRecord` holds in memory. */
const PAGE_ROWS = 500;

/** Rows of a workspace that no transcript tells, and that the raw store therefore has, one JSON object a line. */
export interface RowRecord<Row> {
  toKey(workspaceId: string): string;
  /** Changes with the rows; undefined if there are none. */
  readState(database: Database, workspaceId: string): Promise<string | undefined>;
  listRows(database: Database, workspaceId: string): AsyncIterable<readonly Row[]>;
  isRow(row: Partial<Row>): boolean;
  /** True if the object begins with a line that has the state. */
  startsWithState?: boolean;
}

export const ANNOTATION_RECORD: RowRecord<AnnotationRow> = {
  toKey: annotationRecordKey,
  readState: readAnnotationState,
  listRows: listAnnotations,
  isRow: (row) => typeof row.session_id === 'string' && typeof row.is_starred === 'boolean' && Array.isArray(row.tags),
};

export const CROSSING_RECORD: RowRecord<BudgetCrossingRow> = {
  toKey: crossingRecordKey,
  readState: readCrossingState,
  listRows: listAllCrossings,
  isRow: (row) =>
    typeof row.budget_id === 'string' && typeof row.period_start === 'string' && typeof row.figure === 'number',
};

export const PEOPLE_RECORD: RowRecord<PeopleRow> = {
  toKey: peopleRecordKey,
  readState: readPeopleState,
  listRows: listPeopleRows,
  isRow: ({ table, row }) => isPeopleTable(table) && typeof row === 'object' && row !== null,
};

export const BILL_RECORD: RowRecord<StoredBillRow> = {
  toKey: billRecordKey,
  readState: readBillState,
  listRows: listBillRows,
  isRow: ({ vendor, row_key: key, day }) => [vendor, key, day].every((value) => typeof value === 'string'),
};

/** All records of rows but telemetry, which has many objects. */
export const ROW_RECORDS: readonly RowRecord<unknown>[] = [
  ANNOTATION_RECORD,
  CROSSING_RECORD,
  PEOPLE_RECORD,
  BILL_RECORD,
];

/**
 * Writes a workspace's rows to the raw store, and deletes the object if there are none. Returns a text that changes with
 * them; does nothing if that is `written`.
 */
export async function recordRows<Row>(
  database: Database,
  rawStore: RawStore,
  record: RowRecord<Row>,
  { workspaceId, written }: { workspaceId: string; written: string | undefined },
): Promise<string> {
  const state = (await record.readState(database, workspaceId)) ?? 'none';
  if (state === written) return state;
  const key = record.toKey(workspaceId);
  const start = record.startsWithState ? [[{ state }]] : [];
  if (state !== 'none') await rawStore.put(key, toLines(start, record.listRows(database, workspaceId)));
  // Deleted since then, and no one would look for the record.
  if (state === 'none' || !(await hasWorkspace(database, workspaceId))) await rawStore.delete(key);
  return state;
}

async function* toLines(...parts: Pages[]): AsyncGenerator<Uint8Array> {
  for (const pages of parts) {
    for await (const rows of pages) yield Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
}

type Pages = Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>;

/** The rows that the raw store has of a workspace, page by page. Lines that cannot be read are left out. */
export async function* readRowRecord<Row>(
  rawStore: RawStore,
  record: RowRecord<Row>,
  workspaceId: string,
): AsyncGenerator<Row[]> {
  let rows: Row[] = [];
  try {
    const input = await rawStore.get(record.toKey(workspaceId));
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      rows.push(...toRows(record, line));
      if (rows.length < PAGE_ROWS) continue;
      yield rows;
      rows = [];
    }
  } catch (error) {
    if (!(error instanceof RawStoreError) || error.code !== 'not-found') throw error;
  }
  if (rows.length > 0) yield rows;
}

function toRows<Row>({ isRow }: RowRecord<Row>, line: string): Row[] {
  try {
    const row = JSON.parse(line) as Partial<Row> | null;
    return row !== null && typeof row === 'object' && isRow(row) ? [row as Row] : [];
  } catch {
    return [];
  }
}
