import { parseArgs } from 'node:util';
import { findCorpus } from '../corpus.ts';
import { formatReport } from './report.ts';
import { runChaos } from './run-chaos.ts';

const HELP = `Usage: pnpm chaos [--kills N] [--seed N] [--store s3|folder] [--restart-node COMMAND]

Kills API, workers, PostgreSQL and a backfill at random while several clients upload, breaks their connections and the
raw store's answers, starts rivals on the cluster, damages raw objects and fills the database's disk. Then compares every row
with an undisturbed run, and with the database made again from the raw store. Exit code 1 where anything is lost, doubled,
damaged or stuck.

  --kills N    SIGKILLs, default 200
  --seed N     of victims, faults and uploads; the order of events in time remains the machine's. Default 1
  --store KIND raw store: s3 (an emulator behind a proxy that injects faults; default) or folder
  --restart-node COMMAND
               with a cluster: restarts its nodes, too, each time by this command with the node's port in $PORT
  --keep       leaves logs and data where they are, and says where

Where RECOUNT_TEST_CITUS_URL names the coordinator of a Citus cluster on this machine, it runs on a database there: connections are
broken on all nodes instead of PostgreSQL being killed; the disk is not filled, and there are no rivals.
`;

const INTERRUPTED_EXIT_CODE = 130;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      store: { type: 'string', default: 's3' },
      'restart-node': { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const kills = Number(values.kills);
  const seed = Number(values.seed);
  const { store } = values;
  const isValid = Number.isSafeInteger(kills) && kills >= 0 && Number.isSafeInteger(seed);
  if (values.help || !isValid || (store !== 's3' && store !== 'folder')) {
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  const { RECOUNT_TEST_CITUS_URL: citusUrl } = process.env;
  const report = await runChaos({
    kills,
    seed,
    store,
    corpus: findCorpus(),
    cluster: citusUrl ? { citusUrl, restartCommand: values['restart-node'] } : undefined,
    keep: values.keep,
    onProgress: (text) => console.log(text),
  });
  console.log(formatReport(report));
  return report.failures.length === 0 ? 0 : 1;
}

// Calls `exit`, whose handlers end everything that was started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(INTERRUPTED_EXIT_CODE));
// Otherwise Node may wait forever for unsent data of broken sockets.
process.exit(await main());
