import { sql } from '../drizzle.cjs';
import type { Database, DatabasePool } from './database.ts';

/** The database cannot be distributed, or is not all of a cluster. The message says what to do. */
export class DistributionError extends Error {
  override readonly name = 'DistributionError';
}

/** For `connection_failure`, so that callers treat it as any database that cannot be reached. */
class NodeError extends DistributionError {
  readonly code = '08006';
}

/**
 * Only the coordinator of a Citus cluster has the jobs and the version of the schema.
 * @throws DistributionError if the database is another node
 */
export async function refuseClusterNode(database: Database): Promise<void> {
  if (!(await isOnCluster(database))) return;
  const { rows } = await database.execute<{ coordinator: string | null }>(sql`
    SELECT (SELECT nodename || ':' || nodeport FROM pg_dist_node WHERE groupid = 0 LIMIT 1) AS coordinator
    FROM pg_dist_local_group WHERE groupid > 0`);
  if (rows[0] === undefined) return;
  const { coordinator } = rows[0];
  const place = coordinator === null ? '' : ` (${coordinator})`;
  throw new DistributionError(`This database is a node of a Citus cluster. Connect to its coordinator${place}`);
}

/** True if the database has the extension citus, so it may have nodes. */
export async function isOnCluster(database: Database): Promise<boolean> {
  const { rows } = await database.execute<{ exists: boolean }>(
    sql`SELECT to_regclass('pg_catalog.pg_dist_local_group') IS NOT NULL AS exists`,
  );
  return rows[0]?.exists === true;
}

/**
 * The answers of all nodes to a query of one value, the coordinator's included.
 * @throws DistributionError that names the first node without an answer; its `code` is `08006`
 */
export async function askNodes(database: Database, query: string): Promise<string[]> {
  const { rows } = await database.execute<{ node: string; success: boolean; result: string }>(sql`
    SELECT n.nodename || ':' || n.nodeport AS node, r.success, r.result
    FROM run_command_on_all_nodes(${query}) AS r LEFT JOIN pg_dist_node AS n USING (nodeid)`);
  const silent = rows.find(({ success }) => !success);
  if (silent !== undefined) {
    throw new NodeError(
      `The node ${silent.node} of the cluster does not answer (${silent.result}). Start it, and retry`,
    );
  }
  return rows.map(({ result }) => result);
}

/** A server of a Citus cluster. */
export interface ClusterNode {
  id: number;
  /** All servers that have the same rows, i.e. a primary and its replicas. The coordinator's is 0. */
  groupId: number;
  host: string;
  port: number;
  /** True for the coordinator, which may also hold shards. */
  isCoordinator: boolean;
  /** False for a node that gets no shards, e.g. the coordinator, or one that is about to leave. */
  takesShards: boolean;
}

/** `host:port`, as commands name a node. */
export const toNodeName = ({ host, port }: Pick<ClusterNode, 'host' | 'port'>): string => `${host}:${port}`;

/** The nodes that the coordinator uses, the coordinator first. Asks none of them. Empty without a cluster. */
export async function listNodes(database: Database): Promise<ClusterNode[]> {
  if (!(await isOnCluster(database))) return [];
  const { rows } = await database.execute<{ [name in keyof ClusterNode]: ClusterNode[name] }>(sql`
    SELECT nodeid AS id, groupid AS "groupId", nodename AS host, nodeport AS port, groupid = 0 AS "isCoordinator",
      shouldhaveshards AS "takesShards"
    FROM pg_dist_node WHERE noderole = 'primary' AND isactive ORDER BY groupid, nodename, nodeport`);
  return rows;
}

/** A node's answer, or why there is none. */
export type NodeAnswer =
  | { node: ClusterNode; result: string; fault: null }
  | { node: ClusterNode; result: null; fault: string };

const NODE_TIMEOUT_MS = 2000;
/** For query_canceled, by the timeout. */
const CANCELED = '57014';

/**
 * Asks each node a query of one value, and waits for it at most 2 s, so that a node that hangs, or whose machine is
 * away, is an answer too. Uses one connection for each node.
 */
export async function tryNodes(
  database: Pick<DatabasePool, 'withTransaction'>,
  nodes: readonly ClusterNode[],
  query: string,
): Promise<NodeAnswer[]> {
  return await Promise.all(nodes.map((node) => tryNode(database, node, query)));
}

async function tryNode(
  database: Pick<DatabasePool, 'withTransaction'>,
  node: ClusterNode,
  query: string,
): Promise<NodeAnswer> {
  try {
    return await database.withTransaction(async (transaction) => {
      await transaction.execute(
        sql.raw(
          `SET LOCAL statement_timeout = ${NODE_TIMEOUT_MS}; SET LOCAL citus.node_connection_timeout = ${NODE_TIMEOUT_MS / 2}`,
        ),
      );
      const { success, result } = await runOnNode(transaction, node, query);
      return success ? { node, result, fault: null } : { node, result: null, fault: result };
    });
  } catch (error) {
    const { code } = ((error as Error).cause ?? error) as { code?: unknown };
    if (code !== CANCELED) throw error;
    return { node, result: null, fault: `no answer within ${NODE_TIMEOUT_MS / 1000} s` };
  }
}

/** A node's answer to a query of one value; `result` is its message if it fails. Waits as long as that takes. */
export async function runOnNode(
  database: Database,
  { host, port }: Pick<ClusterNode, 'host' | 'port'>,
  query: string,
): Promise<{ success: boolean; result: string }> {
  const { rows } = await database.execute<{ success: boolean; result: string }>(sql`
    SELECT success, coalesce(result, '') AS result
    FROM master_run_on_worker(ARRAY[${host}]::text[], ARRAY[${port}]::int[], ARRAY[${query}]::text[], false)`);
  return rows[0] ?? { success: false, result: 'no answer' };
}
