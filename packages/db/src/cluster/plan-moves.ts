import { type ClusterNode, DistributionError, toNodeName } from '../database/cluster.ts';
import type { Cluster, PlacedWorkspace } from './read-cluster.ts';

/** A shard, with the shards of all other tables beside it, that changes its node. */
export interface ShardMove {
  shardId: number;
  /** The size of all tables; null if unknown. */
  bytes: number | null;
  from: ClusterNode;
  to: ClusterNode;
  /** All in the shard, by name. They move together. */
  workspaces: { id: string; name: string }[];
}

/** A workspace that gets a shard for itself, on the node where it is. */
export interface Isolation {
  workspace: PlacedWorkspace;
  /** In the same shard now; they stay on the node too. */
  others: { id: string; name: string }[];
}

/**
 * Ways to move shards. `logical` copies them while they are written, and holds writes back only at the end, for seconds.
 * `block_writes` holds back writes to them until they are there.
 */
export type TransferMode = 'logical' | 'block_writes';

/** @throws DistributionError if there is no such workspace */
export function findPlacedWorkspace({ workspaces }: Pick<Cluster, 'workspaces'>, name: string): PlacedWorkspace {
  const found = workspaces.find((workspace) => workspace.name === name);
  if (found === undefined) throw new DistributionError(`There is no workspace ${name}. \`recount workspaces list\``);
  return found;
}

/** By `host:port`, or by its host if no other has it. @throws DistributionError if it is none, and names them all */
export function findNode({ nodes }: Pick<Cluster, 'nodes'>, name: string): ClusterNode {
  const all = nodes.map(({ node }) => node);
  const named = all.filter((node) => toNodeName(node) === name || node.host === name);
  if (named.length === 1 && named[0] !== undefined) return named[0];
  throw new DistributionError(
    `${named.length === 0 ? 'No node is' : 'Several nodes are'} ${name}. The nodes: ${all.map(toNodeName).join(', ')}`,
  );
}

/**
 * The move of a workspace, and of all others in its shard, to a node; undefined if it is there already.
 * @throws DistributionError if the node takes no shards
 */
export function planPlacement(cluster: Cluster, workspace: PlacedWorkspace, to: ClusterNode): ShardMove | undefined {
  if (workspace.node.id === to.id) return undefined;
  if (!to.takesShards) throw new DistributionError(`The node ${toNodeName(to)} takes no workspaces (shouldhaveshards)`);
  return toMove(cluster, { shardId: workspace.shardId, from: workspace.node, to });
}

/** Undefined if the workspace has a shard for itself already. */
export function planIsolation({ workspaces }: Cluster, workspace: PlacedWorkspace): Isolation | undefined {
  if (workspace.isIsolated) return undefined;
  const others = workspaces.filter(({ shardId, id }) => shardId === workspace.shardId && id !== workspace.id);
  return { workspace, others: others.map(({ id, name }) => ({ id, name })) };
}

/** With the workspaces that are in the shard. */
export function toMove(
  { workspaces, shardBytes }: Pick<Cluster, 'workspaces' | 'shardBytes'>,
  move: Pick<ShardMove, 'shardId' | 'from' | 'to'>,
): ShardMove {
  const moved = workspaces.filter(({ shardId }) => shardId === move.shardId);
  return {
    ...move,
    bytes: shardBytes.get(move.shardId) ?? null,
    workspaces: moved.map(({ id, name }) => ({ id, name })),
  };
}

/** @throws DistributionError if a node does not answer */
export function assertAnswering({ nodes }: Pick<Cluster, 'nodes'>): void {
  for (const { node, fault } of nodes) {
    if (fault === null) continue;
    throw new DistributionError(`The node ${toNodeName(node)} does not answer (${fault}). Start it, and try again`);
  }
}

/**
 * Checks before anything changes.
 * @throws DistributionError if a node does not answer, or its `wal_level` does not let shards move while they are written
 */
export function assertMovable({ nodes }: Pick<Cluster, 'nodes'>, mode: TransferMode): void {
  assertAnswering({ nodes });
  for (const { node, walLevel } of nodes) {
    if (mode === 'logical' && !node.isCoordinator && walLevel !== 'logical') {
      throw new DistributionError(
        `The node ${toNodeName(node)} has wal_level = ${walLevel}, so shards cannot move while they are ` +
          'written. Set it to logical and restart the node, or let ingestion wait for the move: --block-writes',
      );
    }
  }
}
