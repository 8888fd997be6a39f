import { Readable } from 'node:stream';
import { createDatabasePool, type DatabasePool, deleteSession, ensureWorkspace } from '@recount/db';
import { handleJob, receiveTranscript } from '@recount/ingest';
import type { RawStore } from '@recount/storage';
import { median } from '../child.ts';
import { generateTranscript } from '../generate-transcript.ts';
import { REAL_LINES } from '../transcript/session.ts';
import { type Cost, measureOnce } from './measure.ts';
import type { QuestionCost } from './measure-questions.ts';
import { FLEET_WORKSPACE } from './seed-fleet.ts';

/** Real transcripts have a mean of 0.8 MB and a median of 0.3. */
const TRANSCRIPT_BYTES = 500_000;
const ROUNDS = 15;
const FIRST_SEED = 1000;
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Ingests a generated, realistic transcript and returns its session; `line` is appended to it. */
export async function ingestGenerated(
  database: DatabasePool,
  rawStore: RawStore,
  seed: number,
  targetBytes = TRANSCRIPT_BYTES,
  line = '',
): Promise<{ sessionId: string }> {
  const deps = { database, rawStore, onReport: () => undefined };
  const chunks = [...generateTranscript({ seed, targetBytes, shape: REAL_LINES }), Buffer.from(line)];
  const request = { workspaceId: FLEET_WORKSPACE, uploaderKeyId: null, maxBytes: 2 ** 33 };
  const { transcript } = await receiveTranscript(deps, { ...request, body: Readable.from(chunks) });
  const job = { workspaceId: FLEET_WORKSPACE, transcriptId: transcript.id };
  const outcome = await handleJob(deps, job, { maxLineBytes: MAX_LINE_BYTES });
  if (outcome.status !== 'done') throw new Error(`the job ended as ${outcome.status}`);
  return { sessionId: transcript.session_id };
}

/**
 * The cost of one more transcript in the fleet, alternating with the same transcript in an otherwise empty database,
 * which includes ingesting it, and deleting its session, which restores the fleet.
 */
export async function* measureIngestion(
  fleet: DatabasePool,
  emptyConnectionString: string,
  rawStore: RawStore,
): AsyncGenerator<QuestionCost> {
  const empty = createDatabasePool({ connectionString: emptyConnectionString });
  try {
    await ensureWorkspace(empty.database, FLEET_WORKSPACE, FLEET_WORKSPACE);
    const places = { 'in the fleet': fleet, 'in an empty database': empty };
    const tallies = new Map<string, Tally>();
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const [place, database] of Object.entries(places)) {
        for (const [step, cost] of Object.entries(await handleOne(database, rawStore, FIRST_SEED + round))) {
          const question = `${step} ${place}`;
          const tally = tallies.get(question) ?? { times: [], cpuMs: 0 };
          tallies.set(question, tally);
          // The first round warms up.
          if (round === 0) continue;
          tally.times.push(cost.milliseconds);
          tally.cpuMs += cost.serverCpuMs;
        }
      }
    }
    for (const [question, { times, cpuMs }] of tallies) {
      yield { question, cost: { milliseconds: median(times), serverCpuMs: cpuMs / ROUNDS } };
    }
  } finally {
    await empty.close();
  }
}

interface Tally {
  times: number[];
  cpuMs: number;
}

async function handleOne(database: DatabasePool, rawStore: RawStore, seed: number): Promise<Record<string, Cost>> {
  let sessionId = '';
  const ingest = await measureOnce(database, async () => {
    ({ sessionId } = await ingestGenerated(database, rawStore, seed));
  });
  const remove = await measureOnce(database, () =>
    database.withTransaction((transaction) => deleteSession(transaction, FLEET_WORKSPACE, sessionId)),
  );
  return { ingest, delete: remove };
}
