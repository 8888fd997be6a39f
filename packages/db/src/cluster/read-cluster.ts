import { type ClusterNode, listNodes, type NodeAnswer, toNodeName, tryNodes } from '../database/cluster.ts';
import type { Database, DatabasePool } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { isDistributed, SHARDED_TABLE } from '../migrations/distribute-tables.ts';
import { listWorkspaces } from '../workspaces/workspaces.ts';

/** A workspace's place in a cluster. */
export interface PlacedWorkspace {
  id: string;
  name: string;
  /** Shard of `recount.transcripts`. All tables' rows of the workspace are in shards beside it, on the same node. */
  shardId: number;
  /** True if no other workspace can be in its shard. */
  isIsolated: boolean;
  node: ClusterNode;
}

interface NodeState {
  node: ClusterNode;
  /** Null if the node answers. */
  fault: string | null;
  /** Null if it does not answer. */
  databaseBytes: number | null;
  /** PostgreSQL's setting; moving shards while they are written needs `logical`. Null if it does not answer. */
  walLevel: string | null;
}

/** A job that moves shards in the background. */
export interface Rebalance {
  jobId: number;
  /** The word of Citus: `scheduled`, `running`, `finished`, `cancelling`, `cancelled`, `failing` or `failed`. */
  state: string;
}

export interface Cluster {
  nodes: NodeState[];
  /** By name. */
  workspaces: PlacedWorkspace[];
  /** Bytes by `shardId`, of all tables; without shards of nodes that do not answer. */
  shardBytes: ReadonlyMap<number, number>;
  /** The latest; null if there was none. */
  rebalance: Rebalance | null;
}

const READ_STATE = `SELECT json_build_object('bytes', pg_database_size(current_database()), 'walLevel', current_setting('wal_level'))`;

/** The nodes, and where the workspaces are. Undefined if the tables are not distributed over a cluster. */
export async function readCluster(pool: DatabasePool): Promise<Cluster | undefined> {
  const { database } = pool;
  if (!(await isDistributed(database))) return undefined;
  const known = await listNodes(database);
  const nodes = (await tryNodes(pool, known, READ_STATE)).map(toState);
  const workspaces = await listPlacedWorkspaces(database, known);
  const answering = new Set(nodes.flatMap(({ node, fault }) => (fault === null ? [node.id] : [])));
  const shardIds = workspaces.filter(({ node }) => answering.has(node.id)).map(({ shardId }) => shardId);
  return {
    nodes,
    workspaces,
    shardBytes: await readShardBytes(pool, [...new Set(shardIds)]),
    rebalance: await readRebalance(database),
  };
}

function toState({ node, result, fault }: NodeAnswer): NodeState {
  if (fault !== null) return { node, fault, databaseBytes: null, walLevel: null };
  const { bytes, walLevel } = JSON.parse(result) as { bytes: number; walLevel: string };
  return { node, fault, databaseBytes: bytes, walLevel };
}

/** Reads only the coordinator, so it works while nodes are down. */
async function listPlacedWorkspaces(database: Database, nodes: readonly ClusterNode[]): Promise<PlacedWorkspace[]> {
  const workspaces = await listWorkspaces(database);
  const ids = sql.param(workspaces.map(({ id }) => id));
  const { rows } = await database.execute<{ id: string; shardId: number; isIsolated: boolean; groupId: number }>(sql`
    SELECT w.id, s.shardid::float8 AS "shardId", s.shardminvalue = s.shardmaxvalue AS "isIsolated",
      p.groupid AS "groupId"
    FROM unnest(${ids}::text[]) AS w (id)
    JOIN pg_dist_shard AS s
      ON s.shardid = get_shard_id_for_distribution_column(${SHARDED_TABLE}::regclass, w.id)
    JOIN pg_dist_placement AS p ON p.shardid = s.shardid`);
  return workspaces.flatMap(({ id, name }) => {
    const place = rows.find((row) => row.id === id);
    const node = nodes.find(({ groupId }) => groupId === place?.groupId);
    if (place === undefined || node === undefined) return [];
    return [{ id, name, shardId: place.shardId, isIsolated: place.isIsolated, node }];
  });
}

async function readShardBytes(
  { withTransaction }: DatabasePool,
  shardIds: readonly number[],
): Promise<Map<number, number>> {
  return await withTransaction(async (transaction) => {
    // Citus adds this to each shard, so that many empty ones are spread too.
    await transaction.execute(sql`SET LOCAL citus.rebalancer_by_disk_size_base_cost = 0`);
    const { rows } = await transaction.execute<{ id: number; bytes: number }>(sql`
      SELECT id::float8 AS id, citus_shard_cost_by_disk_size(id)::float8 AS bytes
      FROM unnest(${sql.param([...shardIds])}::bigint[]) AS id`);
    return new Map(rows.map(({ id, bytes }) => [id, bytes]));
  });
}

/** Null if Citus has never rebalanced this cluster. */
export async function readRebalance(database: Database): Promise<Rebalance | null> {
  const { rows } = await database.execute<{ jobId: number; state: string }>(
    sql`SELECT job_id::float8 AS "jobId", state::text AS state FROM citus_rebalance_status()`,
  );
  return rows[0] ?? null;
}

/** A node that does not answer, with the workspaces that cannot be written or read until it does. */
export interface SilentNode {
  /** `host:port`. */
  node: string;
  fault: string;
  workspaces: { id: string; name: string }[];
}

/** The nodes without an answer within 2 s; none without a cluster. */
export async function listSilentNodes(pool: DatabasePool): Promise<SilentNode[]> {
  const { database } = pool;
  const nodes = await listNodes(database);
  const answers = await tryNodes(
    pool,
    nodes.filter(({ isCoordinator }) => !isCoordinator),
    'SELECT 1',
  );
  const silent = answers.filter(({ fault }) => fault !== null);
  if (silent.length === 0) return [];
  const workspaces = (await isDistributed(database)) ? await listPlacedWorkspaces(database, nodes) : [];
  return silent.map(({ node, fault }) => ({
    node: toNodeName(node),
    fault: fault ?? '',
    workspaces: workspaces
      .filter((workspace) => workspace.node.groupId === node.groupId)
      .map(({ id, name }) => ({ id, name })),
  }));
}
