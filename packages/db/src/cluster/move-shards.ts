import { setTimeout } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import { SHARDED_TABLE } from '../migrations/distribute-tables.ts';
import { findNode, type ShardMove, type TransferMode, toMove } from './plan-moves.ts';
import { type Cluster, readRebalance } from './read-cluster.ts';

/**
 * Citus' names. Its `auto` copies by logical replication, and refuses tables whose rows it cannot tell apart;
 * `recount migrate` lets it tell them apart. As literals, because an ordinary role may not name their type.
 */
const CITUS_MODES = { logical: sql.raw(`'auto'`), block_writes: sql.raw(`'block_writes'`) } as const;

/** Moves a shard, and all beside it; resolves when it is there. Citus undoes a move that is interrupted. */
export async function moveShard(
  database: Database,
  { shardId, from, to }: ShardMove,
  mode: TransferMode,
): Promise<void> {
  await database.execute(sql`
    SELECT citus_move_shard_placement(${shardId}::bigint, ${from.host}::text, ${from.port}::int, ${to.host}::text,
      ${to.port}::int, ${CITUS_MODES[mode]})`);
}

/**
 * Gives a workspace a separate shard on its node; returns the shard's id. Writes to all workspaces of its shard wait
 * for it. Citus 13.2 can also split a shard while it is written, but never ends if a row is deleted at that time.
 */
export async function isolateWorkspace(database: Database, workspaceId: string): Promise<number> {
  const { rows } = await database.execute<{ shardId: number }>(sql`
    SELECT isolate_tenant_to_new_shard(${SHARDED_TABLE}::regclass, ${workspaceId}::text, 'CASCADE',
      ${CITUS_MODES.block_writes})::float8 AS "shardId"`);
  return rows[0]?.shardId ?? 0;
}

/** The moves that Citus would make for nodes of equal size. Changes nothing. */
export async function planRebalance(database: Database, cluster: Cluster): Promise<ShardMove[]> {
  const { rows } = await database.execute<{ shardId: number; from: string; to: string }>(sql`
    SELECT shardid::float8 AS "shardId", sourcename || ':' || sourceport AS from, targetname || ':' || targetport AS to
    FROM get_rebalance_table_shards_plan(${SHARDED_TABLE}::regclass) WHERE table_name = ${SHARDED_TABLE}::regclass`);
  return rows.map(({ shardId, from, to }) =>
    toMove(cluster, { shardId, from: findNode(cluster, from), to: findNode(cluster, to) }),
  );
}

/** Starts the moves of `planRebalance` in the background of the coordinator; returns the job's number. */
export async function startRebalance(database: Database, mode: TransferMode): Promise<number> {
  const { rows } = await database.execute<{ jobId: number }>(sql`
    SELECT citus_rebalance_start(shard_transfer_mode => ${CITUS_MODES[mode]})::float8
      AS "jobId"`);
  return rows[0]?.jobId ?? 0;
}

const POLL_MS = 1000;
const RUNNING = new Set(['scheduled', 'running', 'cancelling', 'failing']);

/** Resolves with the final state of the job; it continues if `signal` ends the wait. */
export async function waitForRebalance(database: Database, signal: AbortSignal): Promise<string> {
  for (;;) {
    const state = (await readRebalance(database))?.state ?? 'finished';
    if (!RUNNING.has(state)) return state;
    await setTimeout(POLL_MS, undefined, { signal });
  }
}
