import type { Cluster, ClusterNode } from '@recount/db';
import { expect, it } from 'vitest';
import { formatCluster, formatMove, toClusterJson, toWorkspaceNames } from './format-cluster.ts';

const toNode = (id: number): ClusterNode => ({
  id,
  groupId: id,
  host: `node-${id}`,
  port: 5432,
  isCoordinator: id === 0,
  takesShards: id !== 0,
});
const CLUSTER: Cluster = {
  nodes: [
    { node: toNode(0), fault: null, databaseBytes: 12e6, walLevel: 'logical' },
    { node: toNode(1), fault: 'connection\nrefused', databaseBytes: null, walLevel: null },
  ],
  workspaces: [{ id: '01J', name: 'core', shardId: 102_028, isIsolated: false, node: toNode(1) }],
  shardBytes: new Map(),
  rebalance: { jobId: 7, state: 'running' },
};

it('shows nodes, workspaces, and what the failure of a node means', () => {
  expect(formatCluster(CLUSTER, 100)).toEqual([
    'NODE         ROLE         STATE      WORKSPACES  DATABASE',
    'node-0:5432  coordinator  ok                  0     12 MB',
    'node-1:5432  node         no answer           1',
    '',
    'WORKSPACE  NODE          SHARD  SIZE  SHARD IS',
    'core       node-1:5432  102028        for several',
    expect.stringMatching(/^The node node-1:5432 does not answer \(connection.refused\)\. Start it\. Until then core/),
    'Rebalancing: job 7 is running.',
  ]);
});

it('gives scripts the same as JSON', () => {
  expect(toClusterJson(CLUSTER)).toMatchObject({
    nodes: [{ node: 'node-0:5432', fault: null, is_coordinator: true }, { fault: 'connection\nrefused' }],
    workspaces: [{ name: 'core', node: 'node-1:5432', shard_id: 102_028, shard_bytes: null, is_isolated: false }],
    rebalance: { job_id: 7, state: 'running' },
  });
});

it('words a move that would happen, and one that does', () => {
  const move = { shardId: 5, bytes: 1500, from: toNode(1), to: toNode(2), workspaces: [{ id: '01J', name: 'core' }] };
  expect(formatMove(move, false)).toBe('Shard 5 (core, 1.5 kB) would move from node-1:5432 to node-2:5432.');
  expect(formatMove({ ...move, bytes: null, workspaces: [] }, true)).toBe(
    'Shard 5 (no workspace) moves from node-1:5432 to node-2:5432.',
  );
});

it('names the first five workspaces', () => {
  expect(toWorkspaceNames(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => ({ name })))).toBe(
    'a, b, c, d, e and 2 others',
  );
});
