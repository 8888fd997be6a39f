/**
 * Hints for PostgreSQL's planner. It plans by statistics, which are made about a minute after rows are inserted. Until
 * then it assumes that a new workspace is empty and that tables are small, and reads all rows of a workspace or a table
 * instead of looking a few up by key. A thousand times the work for each transcript. Statements must be fast in the
 * minute that fills a workspace, so they leave the planner no such choice:
 *
 * - a workspace's id is hidden from the statistics (`isInWorkspace`, `opaqueWorkspaceId`);
 * - a row-by-row lookup is `JOIN LATERAL (SELECT … OFFSET 0)`, which the planner cannot turn into another join;
 * - a transaction that only looks rows up disables the alternatives (`preferIndexes`), and one that reads everything
 * disables lookups (`preferScans`);
 * - before a group of small transcripts, outdated statistics are renewed (`refreshStatistics`, `refreshShardStatistics`).
 *
 * Citus must see the workspace to find its node. On its connections the first of these is undone, and the nodes instead
 * plan without looking at parameters (`adaptToCitus`). Settings are sent to the nodes. Everything else that is specific
 * to Citus is here too.
 */
import type pg from 'pg';
import { type NodePgDatabase, type SQL, sql } from '../drizzle.cjs';

type Transaction = Pick<NodePgDatabase, 'execute'>;

/** Condition that `workspace_id` and `column`, both of `alias`, are the workspace and one of the ids. */
export function isInWorkspace(alias: string, column: string, workspaceId: string, ids: readonly string[]): SQL {
  const [workspace, id] = [sql.raw(`${alias}.workspace_id`), sql.raw(`${alias}.${column}`)];
  return sql`(${workspace} = ${opaqueWorkspaceId(workspaceId)} AND ${id} = ANY(${sql.param([...ids])}::text[]))`;
}

/** The workspace's id for comparisons, as a value unknown to the planner. */
export const opaqueWorkspaceId = (workspaceId: string): SQL => sql`(SELECT ${workspaceId}::text)`;

/**
 * For each connection. While statistics are missing, an estimate may be so high that PostgreSQL compiles a short
 * statement, which takes much longer than running it.
 */
export const WITHOUT_JIT = 'SET jit = off';

const OPAQUE_WORKSPACE_ID = /\(SELECT (\$\d+::text)\)/g;

/**
 * Makes the nodes plan a transaction's statements without looking at parameters, including the workspace's id. The
 * coordinator must look at it, so there the setting is reverted without being sent on. Two queries, because Citus sends
 * on the whole text of a query that contains a setting. The nodes do not know the setting of `WITHOUT_JIT` either.
 */
const HIDE_PARAMETERS_FROM_NODES = [
  'SET LOCAL citus.propagate_set_commands = local; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL jit = off',
  'SET LOCAL citus.propagate_set_commands = none; SET LOCAL plan_cache_mode = DEFAULT',
];

/** The coordinator reports errors of a node's COPY, and of its connections to nodes, with this code. */
const LOST_CODE = 'XX000';
/**
 * Codes that decide whether the transcript or the database is at fault, by the messages of servers with English
 * messages.
 */
const CODES_BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [/^could not (?:extend|write|create|open|fsync) |No space left on device/, '53100'],
  [/^out of (?:shared )?memory/, '53200'],
  [/read-only transaction/, '25006'],
  [/^terminating connection|^the database system is /, '57P01'],
  [
    /^(?:(?:failure on )?connection .*(?:lost|closed|failed|marked as essential)|server closed the connection|could not receive data)/,
    '08006',
  ],
];

/**
 * Messages about a statement that was planned or sent while its shard was moved or replaced. Citus reads the place of
 * each table by itself, so the tables of one statement may be in different places for a moment. Faulty statements have
 * the same codes (0A000, 42P01, XX000), and fail always.
 */
const SHARD_MOVED =
  /\bnon-colocated\b|^found no worker with all shard placements|^could not find (?:valid entry for (?:shard|citus table)|any shard)|^relation "[^"]+_\d+" does not exist/i;
/** For serialization_failure: the same transaction succeeds when it is tried again. */
const TRY_AGAIN_CODE = '40001';
const MOVED_CODES = new Set(['0A000', '42P01', LOST_CODE]);

/**
 * The original code of a node's error, if its message concerns the database; `40001` if a shard moved at that time;
 * otherwise the coordinator's.
 */
export function restoreCode<Failure extends { code?: string; message?: string }>(error: Failure): Failure {
  if (MOVED_CODES.has(error.code ?? '') && SHARD_MOVED.test(error.message ?? '')) error.code = TRY_AGAIN_CODE;
  if (error.code !== LOST_CODE) return error;
  const [, code] = CODES_BY_MESSAGE.find(([pattern]) => pattern.test(error.message ?? '')) ?? [];
  if (code !== undefined) error.code = code;
  return error;
}

const citusClients = new WeakSet<pg.ClientBase>();

/** True for a connection to Citus. */
export const isOnCitus = (client: pg.ClientBase): boolean => citusClients.has(client);

interface CopyQuery {
  handleError(error: { code?: string; message?: string }): void;
}

const isCopy = (query: unknown): query is CopyQuery =>
  typeof query === 'object' && query !== null && 'submit' in query && 'handleError' in query;

/**
 * Makes a connection to Citus send the hidden workspaces of statements as plain parameters, and hides them from the
 * nodes' planners in transactions that may write. Read-only ones are left alone, because reports are planned by the
 * values.
 */
export function adaptToCitus(client: pg.ClientBase): void {
  citusClients.add(client);
  const query = client.query.bind(client) as (...query: unknown[]) => unknown;
  const send = (...words: unknown[]): unknown => {
    const answer = query(...words);
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((error: unknown) => {
      throw restoreCode(error as { code?: string; message?: string });
    });
  };
  const begin = async (...query: unknown[]): Promise<unknown> => {
    const result = await send(...query);
    for (const setting of HIDE_PARAMETERS_FROM_NODES) await send(setting);
    return result;
  };
  client.query = ((query: unknown, ...rest: unknown[]) => {
    if (typeof query === 'string') return send(query.replace(OPAQUE_WORKSPACE_ID, '$1'), ...rest);
    if (isCopy(query)) {
      const handleError = query.handleError.bind(query);
      query.handleError = (error) => handleError(restoreCode(error));
    }
    const isText = typeof query === 'object' && query !== null && 'text' in query && !('submit' in query);
    if (!isText) return send(query, ...rest);
    if (query.text === 'begin') return begin(query, ...rest);
    return send({ ...query, text: String(query.text).replace(OPAQUE_WORKSPACE_ID, '$1') }, ...rest);
  }) as typeof client.query;
}

/** A table by its full name, with the columns that its statistics are about. */
export interface AnalyzedTable {
  name: string;
  columns: readonly string[];
}

/** A shard with fewer rows is analyzed by its node in time. */
const MIN_ANALYZED_ROWS = 16;

/**
 * Runs ANALYZE on the shards that contain a workspace's rows, if most rows of the first table's shard were written
 * since its last statistics. The coordinator cannot see shards grow. Their node has to be asked. Does nothing if the
 * tables are not distributed, or another process is doing it.
 */
export async function refreshShardStatistics(
  database: Transaction,
  workspaceId: string,
  tables: readonly [AnalyzedTable, ...AnalyzedTable[]],
): Promise<void> {
  const first = tables[0].name;
  const { rows } = await database.execute<{ has_grown: boolean }>(sql`
    SELECT pg_stat_get_live_tuples(tableoid) >= ${MIN_ANALYZED_ROWS}::int
      AND pg_stat_get_mod_since_analyze(tableoid) * 4 >= pg_stat_get_live_tuples(tableoid) * 3 AS has_grown
    FROM ${sql.raw(first)} WHERE workspace_id = ${workspaceId} LIMIT 1`);
  if (rows[0]?.has_grown !== true) return;
  const names = tables.map(({ name }) => name);
  // All columns of the first table, so only then does its node count changes from here on.
  const columns = tables.map((table, index) => (index === 0 ? '' : ` (${table.columns.join(', ')})`));
  await database.execute(sql`
    WITH shards AS (
      SELECT n.nodename, n.nodeport, shard_name(s.logicalrelid, s.shardid) || t.columns AS analyzed
      FROM pg_dist_partition AS d
      JOIN pg_dist_shard AS own ON own.shardid = get_shard_id_for_distribution_column(d.logicalrelid, ${workspaceId}::text)
      JOIN pg_dist_shard AS s ON s.shardminvalue = own.shardminvalue
      JOIN unnest(${sql.param(names)}::text[], ${sql.param(columns)}::text[]) AS t (name, columns)
        ON t.name::regclass = s.logicalrelid
      JOIN pg_dist_placement AS p ON p.shardid = s.shardid
      JOIN pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary'
      WHERE d.logicalrelid = ${first}::regclass AND d.partmethod = 'h'
    ), nodes AS (
      SELECT nodename, nodeport, 'ANALYZE (SKIP_LOCKED) ' || string_agg(analyzed, ', ') AS command
      FROM shards GROUP BY nodename, nodeport
    )
    SELECT r.success FROM nodes AS n
    CROSS JOIN LATERAL master_run_on_worker(ARRAY[n.nodename], ARRAY[n.nodeport], ARRAY[n.command], false) AS r`);
}

/**
 * Settings until the end of the transaction, on each node that takes part in it. Nodes do not know `WITHOUT_JIT`. Without
 * some kinds of plans, estimates are so high that they would compile each statement.
 */
async function setLocally(transaction: Transaction, settings: Readonly<Record<string, string>>): Promise<void> {
  const all = { 'citus.propagate_set_commands': 'local', jit: 'off', ...settings };
  const statements = Object.entries(all).map(([name, value]) => `SET LOCAL ${name} = ${value}`);
  await transaction.execute(sql.raw(statements.join('; ')));
}

/** Makes the rest of the transaction look rows up one by one, as an ingestion does. */
export async function preferIndexes(transaction: Transaction): Promise<void> {
  await setLocally(transaction, { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' });
}

/** Runs `work`, which compares whole tables, with lookups of one table's rows in the other disabled. */
export async function preferScans<T>(transaction: Transaction, work: () => Promise<T>): Promise<T> {
  await setLocally(transaction, { enable_nestloop: 'off' });
  const result = await work();
  await setLocally(transaction, { enable_nestloop: 'DEFAULT' });
  return result;
}

/**
 * Settings for reports, until the end of the transaction. Sums use hashing. A report has few groups of many rows, and
 * Postgres would otherwise sort all rows. Sessions are joined by hashing too. In a workspace without statistics, each row
 * of a roll-up would be compared with every session.
 */
export async function preferHashing(transaction: Transaction): Promise<void> {
  await setLocally(transaction, { work_mem: `'16MB'`, enable_sort: 'off', enable_nestloop: 'off' });
}
