import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../find-free-port.ts';
import { createRandom } from '../random.ts';
import { createAttacks } from './attacks.ts';
import { startBackfillClient } from './backfill-client.ts';
import { checkAfterwards } from './check-afterwards.ts';
import { injectDatabaseFaults, injectStoreFaults } from './faults.ts';
import { type Installation, startInstallation } from './installation.ts';
import { killProcesses } from './kill-loop.ts';
import type { ChaosOptions, ChaosReport } from './report.ts';
import { createTally } from './tally.ts';
import { type Attempted, CHAOS_WORKSPACE, type UploadResult, upload } from './upload-client.ts';
import { createUploadPlan, type PlannedUpload, readTranscriptFiles, type UploadPlan } from './uploads.ts';

const CLIENT_COUNT = 4;
const MAX_CLIENT_PAUSE_MS = 500;
const SAMPLES = fileURLToPath(new URL('../../../samples', import.meta.url));

/** Uploads and kills until there were enough kills, then compares the state with an undisturbed run. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, onProgress = () => undefined } = options;
  const random = createRandom(seed);
  const source = options.corpus ?? SAMPLES;
  const files = await readTranscriptFiles(source);
  const directory = await mkdtemp(join(tmpdir(), 'recount-chaos-'));
  onProgress(`Working in ${directory}`);
  const { store, cluster } = options;
  const installation = await startInstallation(directory, { store, cluster, apiPort: await findFreePort() });
  try {
    const { key } = await installation.createWorkspace(CHAOS_WORKSPACE, 'default');
    const tallies = { victims: createTally(), faults: createTally(), answers: createTally(), attacks: createTally() };
    const startedAtMs = performance.now();
    await Promise.all([installation.api, ...installation.workers].map((program) => program.waitUntilReady()));
    const environment = { ...installation.environment, RECOUNT_SERVER: installation.apiUrl, RECOUNT_API_KEY: key };
    const backfill = startBackfillClient(source, environment);
    const plan = createUploadPlan(files, random.fork());
    const clients = startClients(plan, (planned) =>
      upload({ baseUrl: installation.apiUrl, key, answers: tallies.answers }, planned),
    );
    const faults = [injectDatabaseFaults(installation.databaseProxy, random.fork(), tallies.faults)];
    if (installation.storeProxy) {
      faults.push(injectStoreFaults(installation.storeProxy, random.fork(), tallies.faults));
    }
    const attacks = createAttacks({
      installation,
      random: random.fork(),
      tally: tallies.attacks,
      attempted: clients.attempted,
      repeat: plan.repeat,
    });
    await Promise.race([
      clients.failed,
      killProcesses(options.kills, {
        installation,
        backfill,
        random: random.fork(),
        victims: tallies.victims,
        attack: attacks.next,
        countAcknowledged: () => clients.attempted.length,
        onKill: (count, victim) =>
          onProgress(`${count}/${options.kills}: ${victim}; ${clients.attempted.length} uploads`),
      }),
    ]);
    for (const fault of faults) fault.stop();
    await Promise.all([clients.finish(), backfill.finish()]);
    const chaosMs = performance.now() - startedAtMs;
    onProgress('Faults off, every upload acknowledged');
    const results = await checkAfterwards(installation, {
      attempted: clients.attempted,
      damaged: attacks.damaged,
      source,
      key,
      onProgress,
    });
    return {
      options,
      kills: tallies.victims.toObject(),
      faults: tallies.faults.toObject(),
      answers: tallies.answers.toObject(),
      uploads: clients.attempted.length,
      acknowledged: clients.attempted.filter(({ receipt }) => receipt !== undefined).length,
      backfillRuns: backfill.runs(),
      chaosMs,
      longestPostgresStartMs: installation.postgres.longestStartMs(),
      failedPostgresStarts: installation.postgres.failedStarts,
      attacks: tallies.attacks.toObject(),
      healedByClients: clients.attempted.filter(({ receipt }) => receipt?.rawObject === 'healed').length,
      ...results,
      failures: [...attacks.failures, ...results.failures],
    };
  } finally {
    await installation.stop();
    if (!options.keep) await removeAll(installation, directory);
  }
}

function startClients(plan: UploadPlan, send: (planned: PlannedUpload) => Promise<UploadResult>) {
  const attempted: Attempted[] = [];
  let isFinishing = false;
  const runClient = async (): Promise<void> => {
    while (!isFinishing) {
      const planned = plan.next();
      attempted.push({ planned, ...(await send(planned)) });
      await sleep(Math.random() * MAX_CLIENT_PAUSE_MS);
    }
  };
  const done = Promise.all(Array.from({ length: CLIENT_COUNT }, runClient));
  return {
    attempted,
    /** Never resolves; rejects if the server refuses a valid upload. */
    failed: done.then(() => new Promise<never>(() => {})),
    async finish(): Promise<void> {
      isFinishing = true;
      await done;
    },
  };
}

async function removeAll(installation: Installation, directory: string): Promise<void> {
  const { directory: ofPostgres } = installation.postgres;
  if (ofPostgres !== undefined) await rm(ofPostgres, { recursive: true, force: true });
  await rm(directory, { recursive: true, force: true });
}
