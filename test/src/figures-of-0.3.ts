import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DatabasePool } from '@recount/db';

/**
 * Rows of a table as version 0.3 made them from the corpus, with their number, and the SHA-256 of their values in these
 * columns.
 */
export interface TableFigures {
  columns: string[];
  rows: number;
  sha256: string;
}

type Row = Record<string, unknown>;

/**
 * The only sessions whose rows differ from version 0.3's. The first has flat lines
 * (`{"type":"tool_use","tool_name":…}`), which 0.3 counted as unknown. Two more messages, two more blocks and a tool
 * call are read from it. In the others, prompts typed while the agent worked, and what hooks told it, are messages now.
 */
const CHANGED_SESSIONS: ReadonlySet<unknown> = new Set([
  'ses_stage0_drift',
  '8e2c794b-d7f6-4079-8167-7e43865db44d',
  '83939d24-ff58-4068-b6dc-4ed84ce12b10',
  'ses_stage0_small',
]);

/**
 * Compared unchanged. Default are ids that depend on the time of an upload; `entry_number`, which depends on the order
 * of the responses' ends; `metadata` and `issue_counts`, where lines without a message may now have an invalid time.
 */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  usage_ledger: ['row_set_id'],
  usage_entries: ['row_set_id', 'entry_number'],
  transcript_messages: ['row_set_id'],
  content_blocks: ['row_set_id'],
  session_events: ['row_set_id', 'transcript_id'],
  message_rollup: [],
  message_day_rollup: [],
  sessions: ['primary_transcript_id', 'created_at', 'updated_at', 'metadata'],
};

/** For sessions without usage these are now null, because they are unknown; in 0.3 they were 0. */
const UNKNOWN_WITHOUT_USAGE = ['tokens_in', 'tokens_out', 'cache_read', 'cache_write', 'cost_estimate_usd'];

/** These have more columns to group by than in 0.3: compared by their sums for each session. */
const SUMMED_TABLES = ['usage_rollup', 'usage_day_rollup', 'tool_day_rollup'];

const FILE = new URL('./figures-of-0.3.json', import.meta.url);
export const readFiguresOf03 = (): Record<string, TableFigures> => JSON.parse(readFileSync(FILE, 'utf8'));

/** The rows of a workspace with the corpus, in the columns that 0.3 had. */
export async function readFigures(
  database: Pick<DatabasePool, 'pool'>,
  workspaceId: string,
  of03: Readonly<Record<string, Pick<TableFigures, 'columns'>>>,
): Promise<Record<string, TableFigures>> {
  const figures: Record<string, TableFigures> = {};
  for (const table of [...Object.keys(TABLES), ...SUMMED_TABLES]) {
    const { rows } = await database.pool.query<{ row: Row }>(
      `SELECT to_jsonb(r) AS row FROM recount.${table} AS r WHERE workspace_id = $1`,
      [workspaceId],
    );
    figures[table] = toFigures(
      table,
      rows.map(({ row }) => row),
      of03[table]?.columns ?? [],
    );
  }
  return figures;
}

/** Exported to create the file from rows of version 0.3. */
export function toFigures(table: string, all: readonly Row[], columns: string[]): TableFigures {
  const isChanged = (row: Row): boolean =>
    CHANGED_SESSIONS.has(row.session_id) || CHANGED_SESSIONS.has(row.credited_session_id);
  const rows = (table === 'session_events' ? leaveOutTurns(all) : all).filter((row) => !isChanged(row));
  const left = new Set(['workspace_id', ...(TABLES[table] ?? [])]);
  const kept = columns.filter((column) => !left.has(column)).sort();
  const compared = SUMMED_TABLES.includes(table) ? sumBySession(rows, kept) : rows;
  const toValue = (row: Row, column: string): unknown =>
    (column === 'price_version' ? toVersionOf03(row[column]) : row[column]) ??
    (row.api_response_count === 0 && UNKNOWN_WITHOUT_USAGE.includes(column) ? 0 : null);
  const lines = compared.map((row) => JSON.stringify(kept.map((column) => toValue(row, column)))).sort();
  const sha256 = createHash('sha256').update(lines.join('\n')).digest('hex');
  return { columns: [...columns].sort(), rows: lines.length, sha256 };
}

/** Numbers the other events as in 0.3, which had no events for turns. */
function leaveOutTurns(events: readonly Row[]): Row[] {
  const turns = events.filter(({ kind }) => kind === 'turn');
  const countBefore = (event: Row): number =>
    turns.filter(
      (turn) => turn.row_set_id === event.row_set_id && Number(turn.event_number) < Number(event.event_number),
    ).length;
  return events
    .filter(({ kind }) => kind !== 'turn')
    .map((event) => ({ ...event, event_number: Number(event.event_number) - countBefore(event) }));
}

/** The rates of the corpus' models are the same; later rules only know more makers. */
const toVersionOf03 = (version: unknown): unknown =>
  typeof version === 'string' ? version.replace(/-rules-\d+$/, '-rules-1') : version;

function sumBySession(rows: readonly Row[], columns: readonly string[]): Row[] {
  const sums = new Map<unknown, Row>();
  for (const row of rows) {
    const sum = sums.get(row.session_id) ?? { session_id: row.session_id };
    sums.set(row.session_id, sum);
    for (const column of columns) {
      const value = row[column];
      if (typeof value === 'number') sum[column] = Number(sum[column] ?? 0) + value;
    }
  }
  return [...sums.values()];
}
