import type { Cluster, ClusterNode, ShardMove } from '@recount/db';
import { formatBytes, formatCountOf } from '../terminal/format-values.ts';
import { formatTable } from '../terminal/table.ts';
import { toSingleLine } from '../terminal/text-width.ts';

/** `host:port`; the same as `toNodeName`, without loading the database's package. */
const toName = ({ host, port }: Pick<ClusterNode, 'host' | 'port'>): string => `${host}:${port}`;

const MAX_NAMED = 5;

/** Names for a sentence, the first five; `no workspace` if there are none. */
export function toWorkspaceNames(workspaces: readonly { name: string }[]): string {
  if (workspaces.length === 0) return 'no workspace';
  const named = workspaces.slice(0, MAX_NAMED).map(({ name }) => toSingleLine(name));
  const more = workspaces.length - named.length;
  return named.join(', ') + (more > 0 ? ` and ${formatCountOf(more, 'other')}` : '');
}

/** A sentence on the uploads that wait while a workspace gets a separate shard, because the rows are copied. */
export function formatWait(workspaces: readonly { name: string }[], bytes: number | undefined): string {
  const size = bytes === undefined ? '' : ` (${formatBytes(bytes)})`;
  return `Uploads to ${toWorkspaceNames(workspaces)} wait while the shard${size} is copied; reports do not.`;
}

/** Two tables, nodes and workspaces, with sentences about nodes that do not answer. */
export function formatCluster({ nodes, workspaces, shardBytes, rebalance }: Cluster, maxWidth: number): string[] {
  const count = (node: ClusterNode): number => workspaces.filter((placed) => placed.node.id === node.id).length;
  const silent = nodes.filter(({ fault }) => fault !== null);
  return [
    ...formatTable(
      [
        { header: 'NODE' },
        { header: 'ROLE' },
        { header: 'STATE' },
        { header: 'WORKSPACES', align: 'right' },
        { header: 'DATABASE', align: 'right' },
      ],
      nodes.map(({ node, fault, databaseBytes }) => [
        toName(node),
        toRole(node),
        fault === null ? 'ok' : 'no answer',
        String(count(node)),
        databaseBytes === null ? '' : formatBytes(databaseBytes),
      ]),
      maxWidth,
    ),
    '',
    ...formatWorkspaces({ workspaces, shardBytes }, maxWidth),
    ...silent.map(({ node, fault }) => {
      const held = workspaces.filter((placed) => placed.node.groupId === node.groupId);
      const until = held.length === 0 ? '' : ` Until then ${toWorkspaceNames(held)} cannot be read or written.`;
      return `The node ${toName(node)} does not answer (${toSingleLine(fault ?? '')}). Start it.${until}`;
    }),
    ...(rebalance === null || rebalance.state === 'finished'
      ? []
      : [`Rebalancing: job ${rebalance.jobId} is ${rebalance.state}.`]),
  ];
}

function formatWorkspaces(
  { workspaces, shardBytes }: Pick<Cluster, 'workspaces' | 'shardBytes'>,
  maxWidth: number,
): string[] {
  if (workspaces.length === 0) return ['There are no workspaces yet.'];
  return formatTable(
    [
      { header: 'WORKSPACE', minWidth: 12 },
      { header: 'NODE' },
      { header: 'SHARD', align: 'right' },
      { header: 'SIZE', align: 'right' },
      { header: 'SHARD IS', isOptional: true },
    ],
    workspaces.map(({ name, node, shardId, isIsolated }) => {
      const bytes = shardBytes.get(shardId);
      const size = bytes === undefined ? '' : formatBytes(bytes);
      return [toSingleLine(name), toName(node), String(shardId), size, isIsolated ? 'its own' : 'for several'];
    }),
    maxWidth,
  );
}

function toRole({ isCoordinator, takesShards }: ClusterNode): string {
  if (isCoordinator) return takesShards ? 'coordinator, with shards' : 'coordinator';
  return takesShards ? 'node' : 'node without shards';
}

export function toClusterJson({ nodes, workspaces, shardBytes, rebalance }: Cluster) {
  return {
    nodes: nodes.map(({ node, fault, databaseBytes, walLevel }) => ({
      node: toName(node),
      is_coordinator: node.isCoordinator,
      takes_shards: node.takesShards,
      fault,
      database_bytes: databaseBytes,
      wal_level: walLevel,
    })),
    workspaces: workspaces.map(({ id, name, node, shardId, isIsolated }) => ({
      id,
      name,
      node: toName(node),
      shard_id: shardId,
      shard_bytes: shardBytes.get(shardId) ?? null,
      is_isolated: isIsolated,
    })),
    rebalance: rebalance && { job_id: rebalance.jobId, state: rebalance.state },
  };
}

/** A sentence about a move that happens, or would. */
export function formatMove({ shardId, bytes, from, to, workspaces }: ShardMove, happens: boolean): string {
  const size = bytes === null ? '' : `, ${formatBytes(bytes)}`;
  const verb = happens ? 'moves' : 'would move';
  return `Shard ${shardId} (${toWorkspaceNames(workspaces)}${size}) ${verb} from ${toName(from)} to ${toName(to)}.`;
}

export const toMoveJson = ({ shardId, bytes, from, to, workspaces }: ShardMove) => ({
  shard_id: shardId,
  bytes,
  from: toName(from),
  to: toName(to),
  workspaces,
});
