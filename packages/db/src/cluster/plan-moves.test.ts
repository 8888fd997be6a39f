import { describe, expect, it } from 'vitest';
import type { ClusterNode } from '../database/cluster.ts';
import { assertMovable, findNode, findPlacedWorkspace, planIsolation, planPlacement } from './plan-moves.ts';
import type { Cluster } from './read-cluster.ts';

const toNode = (id: number, takesShards = true): ClusterNode => ({
  id,
  groupId: id,
  host: id === 9 ? 'node-8' : `node-${id}`,
  port: id === 9 ? 5433 : 5432,
  isCoordinator: id === 0,
  takesShards,
});
const [coordinator, first, second] = [toNode(0, false), toNode(1), toNode(2)];
const place = (name: string, node: ClusterNode, shardId: number, isIsolated = false) => ({
  id: `id-${name}`,
  name,
  shardId,
  isIsolated,
  node,
});
const CLUSTER: Cluster = {
  nodes: [coordinator, first, second].map((node) => ({ node, fault: null, databaseBytes: 1, walLevel: 'logical' })),
  workspaces: [place('core', first, 101), place('research', first, 101), place('web', second, 102, true)],
  shardBytes: new Map([[101, 7000]]),
  rebalance: null,
};

it('moves a workspace with all others in its shard', () => {
  expect(planPlacement(CLUSTER, findPlacedWorkspace(CLUSTER, 'core'), second)).toEqual({
    shardId: 101,
    bytes: 7000,
    from: first,
    to: second,
    workspaces: [
      { id: 'id-core', name: 'core' },
      { id: 'id-research', name: 'research' },
    ],
  });
});

it('leaves a workspace where it is already, and moves none to a node that takes no shards', () => {
  const core = findPlacedWorkspace(CLUSTER, 'core');
  expect(planPlacement(CLUSTER, core, first)).toBeUndefined();
  expect(() => planPlacement(CLUSTER, core, coordinator)).toThrow('node-0:5432 takes no workspaces');
});

it('isolates a workspace from those in its shard, unless it is alone', () => {
  const core = findPlacedWorkspace(CLUSTER, 'core');
  expect(planIsolation(CLUSTER, core)?.others).toEqual([{ id: 'id-research', name: 'research' }]);
  expect(planIsolation(CLUSTER, findPlacedWorkspace(CLUSTER, 'web'))).toBeUndefined();
});

describe('names', () => {
  it('finds a node by its host if no other has it', () => {
    expect(findNode(CLUSTER, 'node-2')).toBe(second);
    expect(findNode(CLUSTER, 'node-2:5432')).toBe(second);
    const nodes = [toNode(8), toNode(9)].map((node) => ({ node, fault: null, databaseBytes: 1, walLevel: null }));
    expect(() => findNode({ nodes }, 'node-8')).toThrow(
      'Several nodes are node-8. The nodes: node-8:5432, node-8:5433',
    );
    expect(findNode({ nodes }, 'node-8:5433').id).toBe(9);
  });

  it('names all nodes if there is none of that name', () => {
    expect(() => findNode(CLUSTER, 'node-7')).toThrow('No node is node-7. The nodes: node-0:5432, node-1:5432');
  });

  it('says that there is no such workspace', () => {
    expect(() => findPlacedWorkspace(CLUSTER, 'none')).toThrow('There is no workspace none');
  });
});

describe('before a move', () => {
  const withState = (state: { fault?: string; walLevel?: string }) => ({
    nodes: CLUSTER.nodes.map((node, index) => (index === 1 ? { ...node, ...state } : node)),
  });

  it('asks for wal_level = logical, unless writes wait', () => {
    expect(() => assertMovable(CLUSTER, 'logical')).not.toThrow();
    const nodes = withState({ walLevel: 'replica' });
    expect(() => assertMovable(nodes, 'logical')).toThrow('node-1:5432 has wal_level = replica');
    expect(() => assertMovable(nodes, 'block_writes')).not.toThrow();
  });

  it('names a node that does not answer', () => {
    expect(() => assertMovable(withState({ fault: 'refused' }), 'block_writes')).toThrow(
      'The node node-1:5432 does not answer (refused)',
    );
  });
});
