import { Readable } from 'node:stream';
import { createDatabasePool, type DatabasePool, ensureWorkspace } from '@recount/db';
import { handleJob, indexWaitingSessions, receiveTranscript } from '@recount/ingest';
import type { RawStore } from '@recount/storage';
import { median } from '../child.ts';
import { generateTranscript } from '../generate-transcript.ts';
import { REAL_LINES } from '../transcript/session.ts';
import { type Cost, readServerCpu } from './measure.ts';
import { FLEET_WORKSPACE } from './seed-fleet.ts';

/** The mean of real sizes is 0.8 MB, the median 0.3. */
const TRANSCRIPT_BYTES = 500_000;
const ROUNDS = 15;
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const noQueue = {
  enqueue: async () => undefined,
  enqueueSmall: async () => undefined,
  findPending: async () => new Set<string>(),
};

/** Ingests a generated transcript of the shape of real ones and returns its session; `line` comes last. */
async function ingestGenerated(
  database: DatabasePool,
  rawStore: RawStore,
  seed: number,
  targetBytes = TRANSCRIPT_BYTES,
  line = '',
): Promise<{ sessionId: string; milliseconds: number }> {
  const deps = { database, rawStore, queue: noQueue, onReport: () => undefined };
  const chunks = [...generateTranscript({ seed, targetBytes, shape: REAL_LINES }), Buffer.from(line)];
  const request = { workspaceId: FLEET_WORKSPACE, uploaderKeyId: null, maxBytes: 2 ** 33 };
  const { transcript } = await receiveTranscript(deps, { ...request, body: Readable.from(chunks) });
  const startMs = performance.now();
  const job = { workspaceId: FLEET_WORKSPACE, transcriptId: transcript.id };
  const outcome = await handleJob(deps, job, { maxLineBytes: MAX_LINE_BYTES });
  if (outcome.status !== 'done') throw new Error(`the job ended as ${outcome.status}`);
  return { sessionId: transcript.session_id, milliseconds: performance.now() - startMs };
}

/** Ingests one and makes its search documents. */
export async function ingestSearched(
  ...transcript: Parameters<typeof ingestGenerated>
): Promise<{ sessionId: string; milliseconds: number }> {
  const ingested = await ingestGenerated(...transcript);
  await indexWaitingSessions(transcript[0]);
  return ingested;
}

/** What one more transcript costs in the fleet, and what the same ones cost in a database that had none, in turn. */
export async function measureIngestion(
  fleet: DatabasePool,
  emptyConnectionString: string,
  rawStore: RawStore,
): Promise<{ fleet: Cost; empty: Cost }> {
  const empty = createDatabasePool({ connectionString: emptyConnectionString });
  try {
    await ensureWorkspace(empty.database, FLEET_WORKSPACE, FLEET_WORKSPACE);
    const runs = {
      fleet: { database: fleet, times: [], cpuMs: 0 },
      empty: { database: empty, times: [], cpuMs: 0 },
    } satisfies Record<string, Run>;
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const run of Object.values<Run>(runs)) {
        const before = await readServerCpu(run.database);
        const { milliseconds } = await ingestGenerated(run.database, rawStore, 1000 + round);
        // The first one warms up.
        if (round === 0) continue;
        run.times.push(milliseconds);
        run.cpuMs += (await readServerCpu(run.database)) - before;
      }
    }
    return { fleet: toCost(runs.fleet), empty: toCost(runs.empty) };
  } finally {
    await empty.close();
  }
}

interface Run {
  database: DatabasePool;
  times: number[];
  cpuMs: number;
}

const toCost = ({ times, cpuMs }: Run): Cost => ({ milliseconds: median(times), serverCpuMs: cpuMs / ROUNDS });
