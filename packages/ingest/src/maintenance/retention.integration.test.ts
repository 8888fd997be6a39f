import { readdir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import {
  annotateSession,
  changeWorkspaceSettings,
  ensureWorkspace,
  findSession,
  lockSession,
  readAnnotations,
  setTranscriptStatus,
  verifyUsage,
} from '@recount/db';
import { RawStoreError, rawObjectKey } from '@recount/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rebuildUsage } from '../consistency/rebuild-usage.ts';
import { runDoctor } from '../consistency/run-doctor.ts';
import { requeueTranscript } from '../queue/requeue-transcript.ts';
import { dumpTables } from '../testing/dump-tables.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';
import { type RetentionReport, retainWorkspace, runRetention } from './retention.ts';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

const DAY_MS = 86_400_000;
/** The lines of the tests are from 2026-01-01. */
const ACTIVITY_MS = Date.UTC(2026, 0, 1);
const CANARY = 'canary-7f3a';

type Settings = { rowsMaxAgeDays: number | null; rawMaxAgeDays: number | null };

const retain = (settings: Partial<Settings>, ageDays: number, dryRun = false) =>
  retainWorkspace(installation, {
    workspaceId: TEST_WORKSPACE,
    settings: { rowsMaxAgeDays: null, rawMaxAgeDays: null, ...settings },
    nowMs: ACTIVITY_MS + ageDays * DAY_MS,
    dryRun,
  });

const withCanary = (session: string, lineCount: number): string =>
  toLine(session, 0, { message: { role: 'user', content: CANARY } }) +
  toTranscript(session, lineCount).split('\n').slice(1).join('\n');

async function ingest(text: string): Promise<string> {
  const { transcript } = await installation.receive(text);
  await installation.work();
  return transcript.id;
}

async function readTotals(): Promise<unknown> {
  const { rows } = await installation.database.pool.query(`
    SELECT (SELECT sum(responses) FROM recount.usage_rollup) AS responses,
      (SELECT sum(cost_units) FROM recount.usage_rollup) AS cost,
      (SELECT sum(messages) FROM recount.message_rollup) AS messages,
      (SELECT sum(tokens_out) FROM recount.usage_ledger) AS tokens`);
  return rows[0];
}

async function isExact(): Promise<boolean> {
  const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
  return checks.every(({ missing, surplus }) => missing + surplus === 0);
}

describe('retainWorkspace', () => {
  it('deletes the texts of a session, and keeps every figure', async () => {
    const id = await ingest(withCanary('s', 20));
    const ofSession = { workspaceId: TEST_WORKSPACE, sessionId: 's', actor: 'system' as const };
    const annotation = { given_title: CANARY, is_starred: true, tags: ['bird'], note: CANARY };
    await installation.database.withTransaction((transaction) => annotateSession(transaction, ofSession, annotation));
    const totals = await readTotals();
    expect(await dumpTables(installation.database)).toContain(CANARY);
    expect(await retain({ rowsMaxAgeDays: 30 }, 29.9)).toMatchObject({ sessions: 0 });
    expect(await retain({ rowsMaxAgeDays: 30 }, 30.1)).toEqual({ sessions: 1, rawObjects: 0, rawBytes: 0, busy: 0 });
    expect(await dumpTables(installation.database)).not.toContain(CANARY);
    const { rows } = await installation.database.pool.query(`
      SELECT (SELECT count(*)::int FROM recount.transcript_messages) AS messages,
        (SELECT count(*)::int FROM recount.content_blocks) AS blocks,
        (SELECT count(*)::int FROM recount.search_segments) AS segments`);
    expect(rows).toEqual([{ messages: 0, blocks: 0, segments: 0 }]);
    expect(await readTotals()).toEqual(totals);
    const session = await findSession(installation.database.database, TEST_WORKSPACE, 's');
    expect(session).toMatchObject({ initial_prompt: null, total_messages: 20 });
    expect((await readAnnotations(installation.database.database, TEST_WORKSPACE, ['s'])).get('s')).toEqual({
      ...{ given_title: null, is_starred: true, tags: ['bird'], note: null },
    });
    expect(session?.cost_estimate_usd).toBeGreaterThan(0);
    expect(await installation.listObjectKeys()).toHaveLength(1);
    expect(await retain({ rowsMaxAgeDays: 30 }, 31)).toMatchObject({ sessions: 0 });
    expect(await installation.find(id)).toMatchObject({ rows_deleted_at: expect.any(String), status: 'ingested' });
  });

  it('leaves rows of the session only in tables of figures, and with its raw object nothing in the store', async () => {
    const ofFigures = ['findings', 'session_events', 'tool_calls', 'transcripts', 'usage_entries', 'usage_ledger'];
    const id = await ingest(`${withCanary('s', 20)}{"broken": ${CANARY}\n`);
    const rowSetId = (await installation.find(id))?.row_set_id;
    const { pool } = installation.database;
    // Read from the database itself, so that new tables are included.
    const { rows: tables } = await pool.query<{ name: string }>(`
      SELECT table_name AS name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
      WHERE table_schema = 'recount' AND table_type = 'BASE TABLE' AND column_name = 'row_set_id' ORDER BY 1`);
    const ofTexts = tables.map(({ name }) => name).filter((name) => !ofFigures.includes(name));
    const listFilled = async (): Promise<string[]> => {
      const filled: string[] = [];
      for (const name of ofTexts) {
        const { rowCount } = await pool.query(`SELECT FROM recount.${name} WHERE row_set_id = $1 LIMIT 1`, [rowSetId]);
        if (rowCount === 1) filled.push(name);
      }
      return filled;
    };
    await pool.query(`INSERT INTO recount.search_waiting (workspace_id, row_set_id, session_id) VALUES ($1, $2, 's')`, [
      TEST_WORKSPACE,
      rowSetId,
    ]);
    expect(await listFilled()).toEqual(ofTexts);
    expect(ofTexts).toContain('transcript_checkpoints');
    await retain({ rowsMaxAgeDays: 1, rawMaxAgeDays: 1 }, 2);
    expect(await listFilled()).toEqual([]);
    expect(await dumpTables(installation.database)).not.toContain(CANARY);
    const entries = await readdir(installation.storeDirectory, { recursive: true, withFileTypes: true });
    expect(entries.filter((entry) => entry.isFile())).toEqual([]);
  });

  it('leaves figures that a recount agrees with, also after they were rebuilt', async () => {
    await ingest(withCanary('s', 20));
    await ingest(withCanary('t', 7));
    const totals = await readTotals();
    await retain({ rowsMaxAgeDays: 1 }, 2);
    expect(await isExact()).toBe(true);
    for await (const _session of rebuildUsage(installation, TEST_WORKSPACE));
    expect(await readTotals()).toEqual(totals);
    expect(await isExact()).toBe(true);
  });

  it('restores the messages of a session that continues, from its beginning', async () => {
    await ingest(withCanary('s', 4));
    await retain({ rowsMaxAgeDays: 1 }, 2);
    const later = toLine('s', 5, { timestamp: new Date(ACTIVITY_MS + 3 * DAY_MS).toISOString() });
    const id = await ingest(withCanary('s', 4) + later);
    expect(await retain({ rowsMaxAgeDays: 1 }, 3.5)).toMatchObject({ sessions: 0 });
    expect(await installation.find(id)).toMatchObject({ rows_deleted_at: null, total_messages: 5 });
    expect(await isExact()).toBe(true);
  });

  it('deletes raw objects by their own age, and keeps the rows', async () => {
    const id = await ingest(withCanary('s', 4));
    const row = await installation.find(id);
    expect(await retain({ rawMaxAgeDays: 10 }, 11)).toEqual({
      sessions: 0,
      rawObjects: 1,
      rawBytes: row?.size_bytes,
      busy: 0,
    });
    expect(await installation.listObjectKeys()).toEqual([]);
    expect(await dumpTables(installation.database)).toContain(CANARY);
    expect(await requeueTranscript(installation, { workspaceId: TEST_WORKSPACE, transcriptId: id }, ['ingested'])).toBe(
      false,
    );
    const findings = [];
    for await (const finding of runDoctor(installation, { fix: true, nowMs: Date.now(), minAgeMs: -1000 }))
      findings.push(finding);
    expect(findings).toEqual([]);
  });

  it('deletes a raw object after the commit, and later if the store is unavailable', async () => {
    const id = await ingest(withCanary('s', 4));
    const row = await installation.find(id);
    const options = {
      workspaceId: TEST_WORKSPACE,
      settings: { rowsMaxAgeDays: null, rawMaxAgeDays: 10 },
      nowMs: ACTIVITY_MS + 11 * DAY_MS,
    };
    const failing: TestInstallation['database']['withTransaction'] = (work) =>
      installation.database.withTransaction(async (transaction, client) => {
        await work(transaction, client);
        throw new Error('The connection broke');
      });
    const database = { ...installation.database, withTransaction: failing };
    await expect(retainWorkspace({ ...installation, database }, options)).rejects.toThrow('broke');
    expect(await installation.find(id)).toEqual(row);
    expect(await installation.listObjectKeys()).toEqual([row?.object_key]);

    const isAway = async () => {
      throw new RawStoreError('unavailable', 'The store is away');
    };
    const rawStore = { ...installation.rawStore, delete: isAway };
    expect(await retainWorkspace({ ...installation, rawStore }, options)).toMatchObject({ rawObjects: 1 });
    expect(await installation.listObjectKeys()).toEqual([row?.object_key]);
    const stop = new AbortController();
    const later = { now: () => Date.now() + 3_600_000, onReport: () => undefined, onFailure: () => undefined };
    const running = runRetention({ ...installation, ...later }, { signal: stop.signal });
    await expect.poll(() => installation.listObjectKeys()).toEqual([]);
    stop.abort();
    await running;
  });

  it('deletes raw objects permanently, and the same upload again is a duplicate', async () => {
    const text = withCanary('s', 4);
    const id = await ingest(text);
    await retain({ rawMaxAgeDays: 10 }, 11);
    const before = await installation.find(id);
    expect(await installation.receive(text)).toMatchObject({ isDuplicate: true, transcript: { id } });
    // A request repeated with its own id writes the same object again.
    expect(await installation.receive(text, { transcriptId: id })).toMatchObject({ isDuplicate: true });
    expect(await installation.find(id)).toEqual(before);
    expect(await installation.listObjectKeys()).toEqual([]);
    expect(await installation.listJobs()).toEqual([]);
  });

  it('deletes raw objects permanently even if the doctor finds a copy', async () => {
    const text = withCanary('s', 4);
    const id = await ingest(text);
    await retain({ rawMaxAgeDays: 10 }, 11);
    const before = await installation.find(id);
    const orphanKey = rawObjectKey({ workspaceId: TEST_WORKSPACE, transcriptId: '01J0000000000000000000ZZZZ' });
    await installation.rawStore.put(orphanKey, Readable.from([Buffer.from(text)]));
    for (const kinds of [['orphan-object'], []]) {
      const findings = [];
      for await (const { kind } of runDoctor(installation, { fix: true, nowMs: Date.now(), minAgeMs: -1000 }))
        findings.push(kind);
      expect(findings).toEqual(kinds);
    }
    expect(await installation.find(id)).toEqual(before);
    expect(await installation.listObjectKeys()).toEqual([]);
  });

  it('lets a transcript that has failed be uploaded again', async () => {
    const text = withCanary('s', 4);
    const { transcript } = await installation.receive(text);
    await installation.clearJobs();
    await setTranscriptStatus(installation.database.database, TEST_WORKSPACE, [transcript.id], { status: 'failed' });
    await installation.database.pool.query(`UPDATE recount.transcripts SET created_at = '2026-01-01'`);
    await retain({ rawMaxAgeDays: 10 }, 11);
    expect(await installation.listObjectKeys()).toEqual([]);
    await ingest(text);
    expect(await installation.find(transcript.id)).toMatchObject({ raw_deleted_at: null, status: 'ingested' });
  });

  it('keeps the raw object of what is not ingested yet', async () => {
    await installation.receive(withCanary('s', 4));
    await installation.database.pool.query(`UPDATE recount.transcripts SET created_at = '2020-01-01'`);
    expect(await retain({ rawMaxAgeDays: 1 }, 100)).toMatchObject({ rawObjects: 0 });
  });

  it('uses the upload time if other clocks were ahead, or there is no time', async () => {
    await ingest(toLine('ahead', 0, { timestamp: '2099-01-01T00:00:00Z' }));
    await ingest(toLine('none', 0, { timestamp: null }));
    await installation.database.pool.query(`UPDATE recount.transcripts SET created_at = '2026-01-01'`);
    expect(await retain({ rowsMaxAgeDays: 30, rawMaxAgeDays: 40 }, 35)).toMatchObject({ sessions: 2, rawObjects: 0 });
    expect(await retain({ rowsMaxAgeDays: 30, rawMaxAgeDays: 40 }, 45)).toMatchObject({ sessions: 0, rawObjects: 2 });
  });

  it('only counts if asked to', async () => {
    await ingest(withCanary('s', 4));
    const before = await dumpTables(installation.database);
    expect(await retain({ rowsMaxAgeDays: 1, rawMaxAgeDays: 1 }, 2, true)).toMatchObject({
      sessions: 1,
      rawObjects: 1,
    });
    expect(await dumpTables(installation.database)).toBe(before);
    expect(await installation.listObjectKeys()).toHaveLength(1);
  });

  it('skips a session that is being written', async () => {
    await ingest(withCanary('s', 4));
    await installation.database.withTransaction(async (transaction) => {
      await lockSession(transaction, TEST_WORKSPACE, 's');
      expect(await retain({ rowsMaxAgeDays: 1 }, 2)).toMatchObject({ sessions: 0, busy: 1 });
    });
    expect(await retain({ rowsMaxAgeDays: 1 }, 2)).toMatchObject({ sessions: 1, busy: 0 });
  });
});

describe('runRetention', () => {
  it('runs in one process at a time, in the workspaces that enable it', async () => {
    await ingest(withCanary('s', 4));
    const other = await ensureWorkspace(installation.database.database, '01J00000000000000000000009', 'other');
    await changeWorkspaceSettings(installation.database.database, TEST_WORKSPACE, { rawMaxAgeDays: 30 });
    await changeWorkspaceSettings(installation.database.database, other.id, { rowsMaxAgeDays: 30 });
    const reports: RetentionReport[] = [];
    const failures: string[] = [];
    const end = new AbortController();
    let rounds = 0;
    const deps = {
      ...installation,
      onReport: (report: RetentionReport) => void reports.push(report),
      onFailure: (reason: string) => void failures.push(reason),
      now: () => {
        rounds++;
        return ACTIVITY_MS + 31 * DAY_MS;
      },
    };
    const runs = [1, 2, 3].map(() => runRetention(deps, { signal: end.signal, intervalMs: 50 }));
    await expect.poll(() => reports.length + failures.length).toBeGreaterThan(0);
    // Later rounds, of any process, find nothing more to delete.
    const before = rounds;
    await expect.poll(() => rounds).toBeGreaterThan(before + 3);
    end.abort();
    await Promise.all(runs);
    expect({ reports, failures }).toEqual({
      reports: [{ workspaceId: TEST_WORKSPACE, sessions: 0, rawObjects: 1, rawBytes: expect.any(Number), busy: 0 }],
      failures: [],
    });
  });
});
