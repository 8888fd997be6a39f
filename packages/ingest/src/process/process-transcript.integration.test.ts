import { claimTranscript, findSession, listMessages, lockSession, recordAttemptFailure } from '@recount/db';
import { type RawStore, RawStoreError } from '@recount/storage';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runDoctor } from '../consistency/run-doctor.ts';
import { deleteSession } from '../maintenance/deletions.ts';
import { MAX_ATTEMPTS, MAX_OUTAGES } from '../queue/attempts.ts';
import { requeueTranscript } from '../queue/requeue-transcript.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';
import { handleJob } from './handle-job.ts';
import type { JobReport } from './job-report.ts';

let installation: TestInstallation;
let sessionNumber = 0;
const newSession = (): string => `session-${++sessionNumber}`;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());
beforeEach(async () => {
  // Jobs left by another test.
  await installation.clearJobs();
});

const readMessages = (transcriptId: string) =>
  listMessages(installation.database.database, TEST_WORKSPACE, transcriptId, { limit: 1000 });
const readSession = (session: string) => findSession(installation.database.database, TEST_WORKSPACE, session);

/** The readers' view of a session, without ids and arrival times. */
async function readState(session: string) {
  const { rows } = await installation.database.pool.query(
    `SELECT t.sha256, t.status, t.parser_version, t.is_diverged, t.total_messages, t.tokens_out, t.cost_estimate_usd,
            (SELECT count(*)::int FROM recount.transcript_messages m WHERE m.workspace_id = t.workspace_id AND m.row_set_id = t.row_set_id) AS message_rows,
            (SELECT count(*)::int FROM recount.content_blocks b WHERE b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id) AS block_rows,
            s.total_messages AS session_messages, s.transcript_count, (s.primary_transcript_id = t.id) AS is_primary
     FROM recount.transcripts t LEFT JOIN recount.sessions s USING (workspace_id, session_id)
     WHERE t.session_id = $1 ORDER BY t.sha256`,
    [session],
  );
  return rows;
}

describe('processTranscript', () => {
  it('writes what the parser found, with its place in the raw object', async () => {
    const session = newSession();
    const text = toTranscript(session, 6);
    const { transcript } = await installation.receive(text);
    await installation.work();
    const rows = await readMessages(transcript.id);
    expect(rows.map(({ message }) => message.ordinal)).toEqual([0, 1, 2, 3, 4, 5]);
    for (const { message, blocks } of rows) {
      const line = Buffer.from(text).subarray(message.byte_offset, message.byte_offset + message.byte_length);
      expect(JSON.parse(line.toString()).uuid).toBe(message.uuid);
      expect(blocks).toHaveLength(1);
    }
    expect(await readSession(session)).toMatchObject({
      total_messages: 6,
      tokens_in: 30,
      tokens_out: 101 + 103 + 105,
      cache_read: 3000,
      cost_estimate_usd: (30 * 3 + 309 * 15 + 3000 * 0.3) / 1e6,
      project: '/home/ada/app',
      initial_prompt: 'prompt 0',
    });
  });

  it('reaches the same state from any order of a session’s versions', async () => {
    const base = toTranscript('S', 8);
    const versions = (session: string): string[] => {
      const text = base.replaceAll('"S"', `"${session}"`);
      const lines = text.split('\n').slice(0, -1);
      return [
        text,
        `${lines.slice(0, 3).join('\n')}\n`,
        // Cut within a line, like a file that is read while it is being written.
        text.slice(0, Math.floor(text.length / 2)),
        // A fork under the same id, and its beginning.
        `${lines.slice(0, 4).join('\n')}\n${toLine(session, 50)}${toLine(session, 51)}${toLine(session, 52)}`,
        `${lines.slice(0, 4).join('\n')}\n${toLine(session, 50)}`,
        // An edited file.
        text.replace('prompt 0', 'prompt X'),
      ];
    };
    const reference = newSession();
    for (const text of versions(reference)) await installation.receive(text, { sessionId: reference });
    await installation.work();
    const toComparable = (rows: Awaited<ReturnType<typeof readState>>) =>
      rows.map(({ sha256: _hash, ...row }) => row).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    const expected = toComparable(await readState(reference));
    expect(expected.filter(({ status }) => status === 'superseded')).toHaveLength(3);
    expect(expected.filter(({ is_diverged }) => is_diverged)).toHaveLength(2);

    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 }),
        fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
        async (order, workAfter) => {
          const session = newSession();
          const texts = versions(session);
          for (const [index, version] of order.entries()) {
            await installation.receive(texts[version] ?? '', { sessionId: session });
            if (workAfter[index]) await installation.work();
          }
          await installation.work();
          expect(toComparable(await readState(session))).toEqual(expected);
        },
      ),
    );
  });

  it('leaves nothing of an aborted or failing run, and keeps the previous rows', async () => {
    const session = newSession();
    const { transcript } = await installation.receive(toTranscript(session, 6));
    await installation.work();
    const before = await readMessages(transcript.id);
    const job = { workspaceId: TEST_WORKSPACE, transcriptId: transcript.id };
    await requeueTranscript(installation, job, ['ingested']);

    const reports: string[] = [];
    const deps = { ...installation, onReport: ({ outcome }: { outcome: string }) => reports.push(outcome) };
    const controller = new AbortController();
    controller.abort();
    expect(await handleJob(deps, job, { maxLineBytes: 1024, signal: controller.signal })).toEqual({
      status: 'handed-back',
    });
    await installation.rawStore.delete(transcript.object_key);
    await installation.rawStore.put(
      transcript.object_key,
      (async function* () {
        yield Buffer.from('{"type":"user","message":{"content":"tampered"}}\n');
      })(),
    );
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const outcome = await handleJob(deps, job, { maxLineBytes: 1024 });
      expect(outcome).toMatchObject({ status: 'failed', reason: expect.stringContaining('SHA-256') });
      expect(await readMessages(transcript.id)).toEqual(before);
    }
    expect(await installation.find(transcript.id)).toMatchObject({
      status: 'ingested',
      failure_reason: expect.stringContaining('SHA-256'),
    });
    expect(reports).toEqual(['handed-back', ...Array.from({ length: MAX_ATTEMPTS }, () => 'failed')]);
    expect(await installation.listJobs()).toEqual([]);
    await deleteSession(installation, TEST_WORKSPACE, session);
  });

  it('marks a transcript that was never ingested as failed when its attempts are used up', async () => {
    const session = newSession();
    const { transcript } = await installation.receive(toTranscript(session, 2));
    await installation.rawStore.delete(transcript.object_key);
    const job = { workspaceId: TEST_WORKSPACE, transcriptId: transcript.id };
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      expect(await installation.listJobs()).toEqual([job]);
      const outcome = await handleJob({ ...installation, onReport: () => undefined }, job, { maxLineBytes: 1024 });
      expect(outcome.status).toBe('failed');
    }
    expect(await installation.find(transcript.id)).toMatchObject({ status: 'failed', attempt_count: MAX_ATTEMPTS });
    expect(await installation.listJobs()).toEqual([]);
    expect(await readSession(session)).toBeUndefined();
    await deleteSession(installation, TEST_WORKSPACE, session);
  });

  it('treats an unavailable store or database as an outage, for as long as permitted', async () => {
    const session = newSession();
    const { transcript } = await installation.receive(toTranscript(session, 2));
    const job = { workspaceId: TEST_WORKSPACE, transcriptId: transcript.id };
    const reports: JobReport[] = [];
    const work = (get: RawStore['get'], outageCount: number) =>
      handleJob(
        { ...installation, rawStore: { ...installation.rawStore, get }, onReport: (report) => reports.push(report) },
        { ...job, outageCount },
        { maxLineBytes: 1024 },
      );
    const isStoreAway: RawStore['get'] = async () => {
      throw new RawStoreError('unavailable', 'S3: HTTP 503');
    };
    const isDatabaseAway: RawStore['get'] = async (...object) => {
      await installation.database.pool.query(`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'idle in transaction'`);
      return await installation.rawStore.get(...object);
    };
    const reason = 'RawStoreError: S3: HTTP 503';
    expect(await work(isStoreAway, MAX_OUTAGES - 1)).toEqual({ status: 'outage', reason });
    expect(await work(isDatabaseAway, MAX_OUTAGES - 1)).toMatchObject({ status: 'outage' });
    expect(await work(isStoreAway, MAX_OUTAGES)).toEqual({ status: 'failed', reason });
    expect(reports.map(({ outcome }) => outcome)).toEqual(['outage', 'outage', 'failed']);
    expect(await installation.find(transcript.id)).toMatchObject({
      ...{ status: 'queued', failure_reason: reason, attempt_count: 1 },
    });
    expect(await work(installation.rawStore.get, MAX_OUTAGES)).toEqual({ status: 'done' });
  });

  it('ingests a transcript once if two workers have its job', async () => {
    const session = newSession();
    const { transcript } = await installation.receive(toTranscript(session, 40));
    const job = { workspaceId: TEST_WORKSPACE, transcriptId: transcript.id };
    const deps = { ...installation, onReport: () => undefined };
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => handleJob(deps, job, { maxLineBytes: 1e6 })));
    expect(outcomes.every(({ status }) => status === 'done')).toBe(true);
    expect(await readMessages(transcript.id)).toHaveLength(40);
  });
});

describe('two workers that have the same job', () => {
  it('count one attempt, because the second one finds it held', async () => {
    const session = newSession();
    const { transcript } = await installation.receive(toTranscript(session, 4));
    const job = { workspaceId: TEST_WORKSPACE, transcriptId: transcript.id };
    const work = () => handleJob({ ...installation, onReport: () => undefined }, job, { maxLineBytes: 1024 });
    let first: Promise<{ status: string }> | undefined;
    await installation.database.withTransaction(async (transaction) => {
      await lockSession(transaction, TEST_WORKSPACE, session);
      first = work();
      await vi.waitFor(async () => expect(await installation.find(transcript.id)).toMatchObject({ attempt_count: 1 }));
      expect(await work()).toEqual({ status: 'done' });
      expect(await installation.find(transcript.id)).toMatchObject({ attempt_count: 1, status: 'processing' });
    });
    expect(await first).toEqual({ status: 'done' });
    expect(await installation.find(transcript.id)).toMatchObject({
      ...{ status: 'ingested', total_messages: 4, attempt_count: 1 },
    });
  });

  it('ingest the transcript although the first one’s attempt fails while the second waits', async () => {
    const session = newSession();
    const { transcript } = await installation.receive(toTranscript(session, 4));
    const job = { workspaceId: TEST_WORKSPACE, transcriptId: transcript.id };
    const { database } = installation.database;
    let outcome: Promise<{ status: string }> | undefined;
    await installation.database.withTransaction(async (transaction) => {
      await lockSession(transaction, TEST_WORKSPACE, session);
      await claimTranscript(database, TEST_WORKSPACE, transcript.id);
      outcome = handleJob({ ...installation, onReport: () => undefined }, job, { maxLineBytes: 1024 });
      await vi.waitFor(async () => expect(await installation.find(transcript.id)).toMatchObject({ attempt_count: 2 }));
      const late = { reason: 'the first was cut off', isCounted: false, attempt: 1 };
      expect(await recordAttemptFailure(database, TEST_WORKSPACE, transcript.id, late)).toBe(false);
    });
    expect(await outcome).toEqual({ status: 'done' });
    expect(await installation.find(transcript.id)).toMatchObject({ status: 'ingested', total_messages: 4 });
  });
});

describe('an abort', () => {
  it('ends a worker’s wait for a session’s lock', async () => {
    const session = newSession();
    const { transcript } = await installation.receive(toTranscript(session, 4));
    const job = { workspaceId: TEST_WORKSPACE, transcriptId: transcript.id };
    const controller = new AbortController();
    await installation.database.withTransaction(async (transaction) => {
      await lockSession(transaction, TEST_WORKSPACE, session);
      const options = { maxLineBytes: 1024, signal: controller.signal };
      const outcome = handleJob({ ...installation, onReport: () => undefined }, job, options);
      await vi.waitFor(async () => expect(await installation.find(transcript.id)).toMatchObject({ attempt_count: 1 }));
      controller.abort();
      expect(await outcome).toEqual({ status: 'handed-back' });
    });
    await installation.work();
    expect(await installation.find(transcript.id)).toMatchObject({ status: 'ingested' });
  });
});

describe('an upload whose first copy is lost or was given up', () => {
  it('replaces that copy', async () => {
    const session = newSession();
    const text = toTranscript(session, 4);
    const { transcript } = await installation.receive(text);
    await installation.rawStore.delete(transcript.object_key);
    for (let [job] = await installation.listJobs(); job !== undefined; [job] = await installation.listJobs()) {
      const outcome = await handleJob({ ...installation, onReport: () => undefined }, job, { maxLineBytes: 1024 });
      expect(outcome.status).toBe('failed');
    }
    const again = await installation.receive(text);
    expect(again).toMatchObject({ isDuplicate: true, transcript: { id: transcript.id, status: 'queued' } });
    expect(await installation.listObjectKeys()).toContain(again.transcript.object_key);
    await installation.work();
    expect(await installation.find(transcript.id)).toMatchObject({ status: 'ingested', total_messages: 4 });
  });

  it('does not keep a shorter version from being ingested', async () => {
    const session = newSession();
    const longer = await installation.receive(toTranscript(session, 8));
    await installation.work();
    await installation.rawStore.delete(longer.transcript.object_key);
    const { transcript } = await installation.receive(toTranscript(session, 4).replace('prompt 0', 'fork'));
    await installation.work();
    expect(await installation.find(transcript.id)).toMatchObject({ status: 'ingested', is_diverged: true });
    await deleteSession(installation, TEST_WORKSPACE, session);
  });
});

describe('deleteSession', () => {
  it('leaves no row and no object', async () => {
    const session = newSession();
    await installation.receive(toTranscript(session, 4));
    await installation.receive(toTranscript(session, 5).replace('prompt 0', 'fork'));
    await installation.work();
    const before = await installation.listObjectKeys();
    expect(await deleteSession(installation, TEST_WORKSPACE, session)).toBe(true);
    expect((await installation.listObjectKeys()).length).toBe(before.length - 2);
    expect(await readState(session)).toEqual([]);
    expect(await readSession(session)).toBeUndefined();
    expect(await deleteSession(installation, TEST_WORKSPACE, session)).toBe(false);
  });
});

describe('runDoctor', () => {
  // Checks everything, including what other tests left behind.
  let shared: TestInstallation;
  beforeEach(async () => {
    shared = installation;
    installation = await createTestInstallation();
  });
  afterEach(async () => {
    await installation.close();
    installation = shared;
  });

  it('finds and repairs orphan objects and lost jobs, and reports missing objects', async () => {
    const session = newSession();
    const lost = await installation.receive(toTranscript(session, 3));
    const missing = await installation.receive(toTranscript(session, 5));
    await installation.clearJobs();
    await installation.rawStore.delete(missing.transcript.object_key);
    const toOrphanKey = (workspace: string) => `workspaces/${workspace}/transcripts/01J0000000000000000000ZZZZ.jsonl`;
    const [orphanKey, strangeKey] = [toOrphanKey(TEST_WORKSPACE), toOrphanKey('unknown-workspace')];
    const orphanSession = newSession();
    for (const key of [orphanKey, strangeKey]) {
      await installation.rawStore.put(
        key,
        (async function* () {
          yield Buffer.from(toTranscript(orphanSession, 3));
        })(),
      );
    }
    const examine = async (fix: boolean) => {
      const findings = [];
      for await (const finding of runDoctor(installation, { fix, nowMs: Date.now() + 1000, minAgeMs: 0 })) {
        findings.push(finding);
      }
      return findings;
    };
    const expected = (fixed: boolean) => [
      expect.objectContaining({ kind: 'orphan-object', objectKey: orphanKey, fixed }),
      expect.objectContaining({ kind: 'orphan-object', objectKey: strangeKey, fixed: false }),
      expect.objectContaining({ kind: 'lost-job', transcriptId: lost.transcript.id, fixed }),
      expect.objectContaining({ kind: 'missing-object', transcriptId: missing.transcript.id }),
      expect.objectContaining({ kind: 'lost-job', transcriptId: missing.transcript.id, fixed }),
    ];
    const readNoted = async () =>
      (
        await installation.database.pool.query(
          `SELECT workspace_id, actor, subjects, details->>'kind' AS kind FROM recount.audit_log
           WHERE action = 'doctor.fix' ORDER BY id`,
        )
      ).rows;
    expect(await examine(false)).toEqual(expected(false));
    expect(await readNoted()).toEqual([]);
    // The object of the lost job was stored without a description.
    expect(await examine(true)).toEqual([...expected(true), expect.objectContaining({ kind: 'undescribed-objects' })]);
    const by = { workspace_id: TEST_WORKSPACE, actor: 'system' };
    const noted = await readNoted();
    expect(noted).toHaveLength(4);
    expect(noted).toContainEqual({ ...by, subjects: [orphanKey], kind: 'orphan-object' });
    expect(noted).toContainEqual({ ...by, subjects: [lost.transcript.id], kind: 'lost-job' });
    expect(noted).toContainEqual({ ...by, subjects: [missing.transcript.id], kind: 'lost-job' });
    expect(noted).toContainEqual({ ...by, workspace_id: '', subjects: [], kind: 'undescribed-objects' });
    const keys = await installation.listObjectKeys();
    expect(keys).toContain(orphanKey);
    expect(keys).toContain(strangeKey);
    expect(await installation.listJobs()).toHaveLength(3);
    expect(await readState(orphanSession)).toMatchObject([{ status: 'queued' }]);
  });

  it('deletes an orphan whose bytes were uploaded again for a session that they do not name themselves', async () => {
    const session = newSession();
    const text = toTranscript(newSession(), 3);
    const { transcript } = await installation.receive(text, { sessionId: session });
    const before = await installation.listObjectKeys();
    const orphanKey = `workspaces/${TEST_WORKSPACE}/transcripts/01J0000000000000000000YYYY.jsonl`;
    const putOrphan = () =>
      installation.rawStore.put(
        orphanKey,
        (async function* () {
          yield Buffer.from(text);
        })(),
      );
    const fix = async () => {
      const findings = [];
      for await (const finding of runDoctor(installation, { fix: true, nowMs: Date.now() + 1000, minAgeMs: 0 })) {
        if (finding.kind === 'orphan-object' && finding.objectKey === orphanKey) findings.push(finding);
      }
      return findings;
    };
    await putOrphan();
    expect(await fix()).toMatchObject([{ fixed: true }]);
    expect(await installation.listObjectKeys()).toEqual(before);
    const { rows } = await installation.database.pool.query('SELECT id FROM recount.transcripts WHERE sha256 = $1', [
      transcript.sha256,
    ]);
    expect(rows).toEqual([{ id: transcript.id }]);

    await installation.rawStore.delete(transcript.object_key);
    await putOrphan();
    expect(await fix()).toMatchObject([{ fixed: true }]);
    expect(await installation.find(transcript.id)).toMatchObject({ object_key: orphanKey });
  });
});
