import type { Cluster, DatabasePool, ShardMove, TransferMode } from '@recount/db';
import { Command } from 'commander';
import {
  formatCluster,
  formatMove,
  formatWait,
  toClusterJson,
  toMoveJson,
  toWorkspaceNames,
} from '../cluster/format-cluster.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { toPrintWidth } from '../terminal/print-width.ts';

interface ChangeOptions {
  yes?: boolean;
  json?: boolean;
  blockWrites?: boolean;
}

export function createClusterCommand(context: CliContext): Command {
  const cluster = new Command('cluster')
    .description('Nodes of a Citus cluster: which has which workspace, and moving workspaces between them')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL, whose tables \`recount migrate --distribute\` has spread over the nodes. All but status only say
what they would do, until --yes does it. A workspace is read and written while it moves; its writes wait for some
seconds at the end, or with --block-writes all the time. isolate always lets the writes of all workspaces in the shard
wait: do it before a workspace is large.

Examples:
  $ recount cluster status
  $ recount cluster isolate research --yes
  $ recount cluster place research node-3.example:5432 --yes
  $ recount cluster rebalance`,
    );
  cluster
    .command('status')
    .description('Show which nodes answer, how large they are, and which has which workspace')
    .option('--json', 'print JSON')
    .action((options: ChangeOptions) => showStatus(context, options));
  addChangeOptions(cluster.command('place'))
    .description('Move a workspace, and those in the same shard, to a node')
    .argument('<workspace>', 'its name')
    .argument('<node>', 'host:port, as status shows it')
    .action((workspace: string, node: string, options: ChangeOptions) =>
      placeWorkspace(context, { workspace, node }, options),
    );
  cluster
    .command('isolate')
    .option('--yes', 'do it')
    .option('--json', 'print JSON')
    .description('Give a workspace a separate shard, so that it can move alone; writes of all in its shard wait')
    .argument('<workspace>', 'its name')
    .action((workspace: string, options: ChangeOptions) => isolateWorkspace(context, workspace, options));
  addChangeOptions(cluster.command('rebalance'))
    .description('Spread shards evenly over the nodes, e.g. after one was added')
    .action((options: ChangeOptions) => rebalance(context, options));
  return cluster;
}

function addChangeOptions(command: Command): Command {
  return command
    .option('--yes', 'do it')
    .option('--block-writes', 'hold back writes until it is done; for nodes without wal_level = logical')
    .option('--json', 'print JSON');
}

const toMode = ({ blockWrites = false }: ChangeOptions): TransferMode => (blockWrites ? 'block_writes' : 'logical');

async function withCluster(
  context: CliContext,
  run: (pool: DatabasePool, cluster: Cluster) => Promise<void>,
): Promise<void> {
  const [{ withDatabase }, { readCluster }] = await Promise.all([
    import('../connection/open-installation.ts'),
    import('@recount/db'),
  ]);
  await withDatabase(context, async (pool) => {
    const cluster = await readCluster(pool);
    if (cluster === undefined) {
      throw new CliError(
        'The database is one PostgreSQL, not spread over a Citus cluster, so there are no nodes. ' +
          '`recount migrate --distribute` spreads it; docs/scaling.md says how.',
      );
    }
    await run(pool, cluster);
  });
}

async function showStatus(context: CliContext, { json = false }: ChangeOptions): Promise<void> {
  await withCluster(context, async (_, cluster) => {
    if (cluster.nodes.some(({ fault }) => fault !== null)) context.exitCode = 1;
    if (json) return printJson(context, toClusterJson(cluster));
    for (const line of formatCluster(cluster, toPrintWidth(context))) print(context, line);
  });
}

async function placeWorkspace(
  context: CliContext,
  names: { workspace: string; node: string },
  options: ChangeOptions,
): Promise<void> {
  const { assertMovable, findNode, findPlacedWorkspace, moveShard, planPlacement } = await import('@recount/db');
  await withCluster(context, async ({ database }, cluster) => {
    const workspace = findPlacedWorkspace(cluster, names.workspace);
    const move = planPlacement(cluster, workspace, findNode(cluster, names.node));
    await carryOut(context, options, {
      moves: move === undefined ? [] : [move],
      none: `The workspace ${names.workspace} is at ${names.node} already.`,
      assertPossible: () => assertMovable(cluster, toMode(options)),
      async run() {
        if (move !== undefined) await moveShard(database, move, toMode(options));
      },
    });
  });
}

async function rebalance(context: CliContext, options: ChangeOptions): Promise<void> {
  const { assertAnswering, assertMovable, planRebalance, startRebalance, waitForRebalance } = await import(
    '@recount/db'
  );
  const signal = context.listenForInterruption();
  await withCluster(context, async ({ database }, cluster) => {
    // The plan asks all nodes for their sizes.
    assertAnswering(cluster);
    await carryOut(context, options, {
      moves: await planRebalance(database, cluster),
      none: 'The shards are spread evenly over the nodes already.',
      assertPossible: () => assertMovable(cluster, toMode(options)),
      async run() {
        const jobId = await startRebalance(database, toMode(options));
        note(context, `Job ${jobId} runs on the coordinator, also without this command.`);
        const state = await waitForRebalance(database, signal);
        if (state !== 'finished') {
          throw new CliError(`The job ended as ${state}. SELECT * FROM citus_rebalance_status() says why.`);
        }
      },
    });
  });
}

interface Change {
  moves: readonly ShardMove[];
  /** Said if there is nothing to move. */
  none: string;
  /** Throws if it would fail. */
  assertPossible(): void;
  run(): Promise<void>;
}

/** Says what would be moved, or with `yes` moves it. */
async function carryOut(context: CliContext, { yes = false, json = false }: ChangeOptions, change: Change) {
  const { moves, none } = change;
  const isNeeded = moves.length > 0;
  if (isNeeded) change.assertPossible();
  if (!json) {
    for (const move of moves) note(context, formatMove(move, yes));
    if (!isNeeded) note(context, none);
  }
  if (isNeeded && yes) await change.run();
  if (json) return printJson(context, { moves: moves.map(toMoveJson), done: isNeeded && yes });
  if (isNeeded) note(context, yes ? 'Done.' : 'Nothing was changed. --yes does it.');
}

async function isolateWorkspace(context: CliContext, name: string, options: ChangeOptions): Promise<void> {
  const db = await import('@recount/db');
  const { yes = false, json = false } = options;
  await withCluster(context, async ({ database }, cluster) => {
    const workspace = db.findPlacedWorkspace(cluster, name);
    const plan = db.planIsolation(cluster, workspace);
    const node = db.toNodeName(workspace.node);
    if (plan !== undefined) db.assertMovable(cluster, 'block_writes');
    if (!json && plan === undefined) note(context, `The workspace ${name} has a separate shard already, at ${node}.`);
    if (!json && plan !== undefined) {
      const others = plan.others.length === 0 ? '' : `, without ${toWorkspaceNames(plan.others)}`;
      note(context, `The workspace ${name} ${yes ? 'gets' : 'would get'} a separate shard at ${node}${others}.`);
      const bytes = cluster.shardBytes.get(workspace.shardId);
      note(context, formatWait([workspace, ...plan.others], bytes));
    }
    const isDone = plan !== undefined && yes;
    const shardId = isDone ? await db.isolateWorkspace(database, workspace.id) : workspace.shardId;
    if (json) {
      const others = plan?.others ?? [];
      return printJson(context, { workspace: name, node, shard_id: shardId, others, done: isDone });
    }
    if (plan !== undefined) note(context, yes ? `Done: shard ${shardId}.` : 'Nothing was changed. --yes does it.');
  });
}
