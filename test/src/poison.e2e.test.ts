import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureWorkspace, type TranscriptRow } from '@recount/db';
import { endPauses } from '@recount/ingest/testing/work-jobs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runRecount } from './chaos/run-recount.ts';
import { startTestBackend, type TestBackend } from './test-backend.ts';

const WORKSPACE = '01J0000000000000000000000A';
const MAX_ATTEMPTS = 5;
const HEALTHY_COUNT = 20;
const MAX_WAIT_MS = 240_000;

let backend: TestBackend;
beforeAll(async () => {
  backend = await startTestBackend('poison');
  await ensureWorkspace(backend.database.database, WORKSPACE, 'default');
});
afterAll(() => backend.stop());

const toTranscript = (session: string): string =>
  `${JSON.stringify({ type: 'user', sessionId: session, uuid: 'u', message: { role: 'user', content: 'hello' } })}\n`;

const receive = (session: string): Promise<TranscriptRow> =>
  backend.receive(WORKSPACE, [Buffer.from(toTranscript(session))]);

const writeObject = ({ object_key }: TranscriptRow, text: string): Promise<void> =>
  writeFile(join(backend.directory, 'raw', object_key), text);

async function readStatuses(): Promise<Record<string, TranscriptRow>> {
  const { rows } = await backend.database.pool.query<TranscriptRow>('SELECT * FROM recount.transcripts');
  return Object.fromEntries(rows.map((row) => [row.session_id, row]));
}

async function waitFor(condition: (rows: Record<string, TranscriptRow>) => boolean, endsPauses = false): Promise<void> {
  const deadlineMs = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const rows = await readStatuses();
    if (condition(rows)) return;
    if (performance.now() > deadlineMs) {
      throw new Error(
        JSON.stringify(
          Object.values(rows).map(({ session_id, status, failure_reason }) => [session_id, status, failure_reason]),
        ),
      );
    }
    // The pauses between attempts add up to half a minute.
    if (endsPauses) await endPauses(backend.database);
    await sleep(50);
  }
}

const requeue = (...commandArguments: string[]) => runRecount(['requeue', ...commandArguments], backend.environment);

describe('a transcript that fails every time', () => {
  it('is marked as failed with its reason, delays no other, and is retried on request', async () => {
    const poisoned = await receive('poisoned');
    const missing = await receive('missing');
    // Bytes of a different transcript, and bytes that no parser can read.
    await writeObject(poisoned, toTranscript('another').repeat(3));
    await backend.rawStore.delete(missing.object_key);
    const healthy = Array.from({ length: HEALTHY_COUNT }, (_, index) => `healthy-${index}`);
    for (const session of healthy) await receive(session);
    const worker = await backend.start('worker', { RECOUNT_WORKER_CONCURRENCY: '1' });
    await waitFor((rows) => healthy.every((session) => rows[session]?.status === 'ingested'));
    const meanwhile = await readStatuses();
    expect(meanwhile.poisoned?.status).not.toBe('failed');
    expect(meanwhile.missing?.status).not.toBe('failed');

    const areGivenUp = (rows: Record<string, TranscriptRow>): boolean =>
      rows.poisoned?.status === 'failed' && rows.missing?.status === 'failed';
    await waitFor(areGivenUp, true);
    const givenUp = await readStatuses();
    expect(givenUp.poisoned).toMatchObject({
      attempt_count: MAX_ATTEMPTS,
      failure_reason: expect.stringMatching(/^RawObjectMismatchError: Raw object has SHA-256 [0-9a-f]{64}, not /),
    });
    expect(givenUp.missing).toMatchObject({
      attempt_count: MAX_ATTEMPTS,
      failure_reason: expect.stringMatching(/^RawStoreError: No raw object at /),
    });
    const { rows: leftovers } = await backend.database.pool.query(
      `SELECT (SELECT count(*)::int FROM recount.transcript_messages WHERE row_set_id = ANY($1)) AS messages,
              (SELECT count(*)::int FROM recount.sessions WHERE session_id IN ('poisoned', 'missing', 'another')) AS sessions`,
      [[poisoned.id, missing.id]],
    );
    expect(leftovers).toEqual([{ messages: 0, sessions: 0 }]);

    const all = await requeue('--failed');
    expect(all.stdout.trim().split('\n').sort()).toEqual([poisoned.id, missing.id].sort());
    await waitFor(({ poisoned: row }) => row?.attempt_count !== 0);
    await waitFor(areGivenUp, true);

    await writeObject(poisoned, toTranscript('poisoned'));
    expect(await requeue(poisoned.id)).toMatchObject({ exitCode: 0, stdout: `${poisoned.id}\n` });
    await waitFor((rows) => rows.poisoned?.status === 'ingested');
    expect((await readStatuses()).poisoned).toMatchObject({ total_messages: 1, failure_reason: null });
    expect((await readStatuses()).missing?.status).toBe('failed');
    expect(worker.crashes).toEqual([]);
  });
});
