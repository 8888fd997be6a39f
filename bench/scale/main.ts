import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createDatabasePool } from '@recount/db';
import { createDatabase, dropDatabase, type LocalPostgres, startLocalPostgres } from '@recount/local-postgres';
import { checkRun, findDifferences, type RunCheck } from './check-run.ts';
import { type DrainFigures, drainQueue } from './drain-queue.ts';
import { writeMixedTranscripts } from './mixed-transcripts.ts';
import { type ReceivedFleet, receiveFleet } from './receive-fleet.ts';
import { toReport } from './report.ts';
import { type RelationSize, readRelationSizes } from './server-counters.ts';

// node bench/scale/main.ts [FOLDER] [--copies 1] [--workers 1,2,4,4,2,1]
// Drains a queue of the folder's transcripts, or of generated ones, with that many worker processes, one run after the
// other, each from the same state. Exits with 1 if anything was lost, counted twice or counted differently. Linux only.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    copies: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1,2,4,4,2,1' },
  },
});
const workerCounts = values.workers.split(',').map(Number);

const folder = await mkdtemp(join(tmpdir(), 'recount-scale-'));
const settings = { shared_preload_libraries: 'pg_stat_statements' };
const postgres = await startLocalPostgres({ directory: join(folder, 'postgres'), settings });
try {
  const rawStoreFolder = join(folder, 'raw');
  const source = positionals[0] ?? (await generate(join(folder, 'generated')));
  const received = { source, rawStoreFolder, copies: Number(values.copies) };
  const fleet = await receiveFleet(postgres.connectionString, received);
  console.error(`Received ${fleet.transcripts} transcripts, ${(fleet.bytes / 1e6).toFixed(0)} MB`);
  if (!(await runAll(postgres, rawStoreFolder, fleet))) process.exitCode = 1;
} finally {
  await postgres.stop();
  // As root, the database is elsewhere.
  for (const path of [folder, postgres.directory]) await rm(path, { recursive: true, force: true });
}

async function generate(generatedFolder: string): Promise<string> {
  await mkdir(generatedFolder);
  await writeMixedTranscripts(generatedFolder);
  return generatedFolder;
}

/** Prints the report; returns false if a run was faulty or differs from the first. */
async function runAll(server: LocalPostgres, rawStoreFolder: string, fleet: ReceivedFleet): Promise<boolean> {
  const runs: DrainFigures[] = [];
  const faults: string[] = [];
  let first: RunCheck | undefined;
  let sizes: RelationSize[] = [];
  for (const [index, workers] of workerCounts.entries()) {
    const run = await runOnce(server, rawStoreFolder, fleet, { number: index + 1, workers });
    runs.push(run.figures);
    sizes = run.sizes;
    first ??= run.check;
    const differences = findDifferences(first, run.check).map((table) => `${table} differs from the first run's`);
    const found = [...run.check.faults, ...differences].map((fault) => `run ${index + 1}: ${fault}`);
    faults.push(...found);
    console.error(`Run ${index + 1}, ${workers} workers: ${run.figures.seconds.toFixed(1)} s, ${found.length} faults`);
  }
  console.log(toReport(fleet, runs, sizes));
  console.log(`\n${faults.length === 0 ? 'Nothing lost or doubled; all runs gave the same rows.' : faults.join('\n')}`);
  return faults.length === 0;
}

async function runOnce(
  server: LocalPostgres,
  rawStoreFolder: string,
  fleet: ReceivedFleet,
  { number, workers }: { number: number; workers: number },
): Promise<{ figures: DrainFigures; check: RunCheck; sizes: RelationSize[] }> {
  // The received database is the template, and may have no connections while it is copied.
  const serverUrl = new URL(server.connectionString);
  const template = serverUrl.pathname.slice(1);
  serverUrl.pathname = '/postgres';
  const name = `run_${number}`;
  const connectionString = await createDatabase(serverUrl.href, name, template);
  const database = createDatabasePool({ connectionString });
  try {
    const figures = await drainQueue(database, { connectionString, rawStoreFolder, workers });
    return { figures, check: await checkRun(database, fleet), sizes: await readRelationSizes(database) };
  } finally {
    await database.close();
    await dropDatabase(serverUrl.href, name);
  }
}
