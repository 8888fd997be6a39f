import { deleteSession as deleteSessionRows, verifyUsage } from '@recount/db';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation, toLine } from '../testing/test-installation.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

const SESSIONS = ['session-a', 'session-b', 'session-c'];
const UPLOADERS = ['ada', 'bob', 'mallory'];

/** A response, as a transcript may claim it, with an id as long as the API's. */
interface Claim {
  response: number;
  second: number;
  model: string;
  output: number;
  isFinal: boolean;
}

interface Upload {
  session: string;
  uploader: string;
  /** Distinguishes versions of a session where neither is the other's beginning. */
  branch: string;
  claims: Claim[];
}

const toText = ({ session, branch, claims }: Upload): string =>
  claims
    .map(({ response, second, model, output, isFinal }, index) =>
      toLine(session, second, {
        uuid: `uuid-${branch}-${index}`,
        type: 'assistant',
        gitBranch: branch,
        requestId: undefined,
        message: {
          id: `msg_${String(response).padStart(24, '0')}`,
          role: 'assistant',
          model,
          stop_reason: isFinal ? 'end_turn' : null,
          content: [],
          usage: { input_tokens: 10, output_tokens: output },
        },
      }),
    )
    .join('');

const claimArbitrary: fc.Arbitrary<Claim> = fc.record({
  response: fc.nat(2),
  second: fc.constantFrom(1, 2, 5000),
  model: fc.constantFrom('claude-sonnet-4-5', 'claude-sonnet-4-5', 'claude-opus-4-1'),
  output: fc.constantFrom(1, 500, 500, 100_000),
  isFinal: fc.boolean(),
});
const uploadArbitrary: fc.Arbitrary<Upload> = fc.record({
  session: fc.constantFrom(...SESSIONS),
  uploader: fc.constantFrom(...UPLOADERS),
  branch: fc.constantFrom('main', 'other'),
  claims: fc.array(claimArbitrary, { minLength: 1, maxLength: 4 }),
});

async function readState(table: string, columns: string): Promise<unknown> {
  const { rows } = await installation.database.pool.query(
    `SELECT (${columns})::text AS row FROM recount.${table} AS r ORDER BY 1`,
  );
  return rows;
}
const readLedger = () => readState('usage_ledger', "to_jsonb(r) - 'row_set_id'");
const readSessions = async () => ({
  sessions: await readState('sessions', "to_jsonb(r) - 'created_at' - 'updated_at'"),
  diverged: await readState(
    'transcripts',
    "to_jsonb(r) - 'created_at' - 'ingested_at' - 'superseded_by' - 'row_set_id' - 'attempt_count'",
  ),
});

async function clear(): Promise<void> {
  for (const sessionId of SESSIONS) {
    await installation.database.withTransaction((transaction) =>
      deleteSessionRows(transaction, TEST_WORKSPACE, sessionId),
    );
  }
}

/** Receives the uploads in the order of `uploads` and ingests them in the order of `ranks`. */
async function run(uploads: readonly Upload[], ids: readonly string[], ranks: readonly number[]): Promise<void> {
  await clear();
  for (const [index, upload] of uploads.entries()) {
    await installation.receive(toText(upload), {
      sessionId: upload.session,
      uploaderKeyId: upload.uploader,
      transcriptId: ids[index],
    });
  }
  await installation.database.pool.query(
    `UPDATE recount.ingest_jobs AS j SET priority = -r.rank
     FROM unnest($1::text[], $2::int[]) AS r(id, rank) WHERE j.transcript_id = r.id`,
    [ids, ids.map((_, index) => ranks[index] ?? 0)],
  );
  await installation.work();
  const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
  for (const check of checks) expect(check).toMatchObject({ missing: 0, surplus: 0 });
}

it('gives the same ledger in any order of arrival, and the same sessions in any order of ingestion, with any forger', async () => {
  let runNumber = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(uploadArbitrary, { minLength: 2, maxLength: 6, selector: toText }),
      fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
      async (uploads, ranks) => {
        runNumber += 1;
        const toIds = () =>
          uploads.map((_, index) => `01J${String(runNumber).padStart(13, '0')}${String(index).padStart(10, '0')}`);
        const ids = toIds();
        await run(
          uploads,
          ids,
          uploads.map((_, index) => index),
        );
        const [ledger, sessions] = [await readLedger(), await readSessions()];
        await run(uploads, ids, ranks);
        expect(await readLedger()).toEqual(ledger);
        expect(await readSessions()).toEqual(sessions);
        const received = uploads.map((upload, index) => ({ upload, rank: ranks[index] ?? 0 }));
        received.sort((a, b) => a.rank - b.rank);
        await run(
          received.map(({ upload }) => upload),
          ids,
          ranks,
        );
        expect(await readLedger()).toEqual(ledger);
      },
    ),
  );
});
