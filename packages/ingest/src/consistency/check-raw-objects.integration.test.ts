import { randomUUID } from 'node:crypto';
import { findLiveSession, findLiveStream, type LiveStreamRow, recordRawObjectDeletions } from '@recount/db';
import { type RawStore, rawObjectKey, streamObjectKey } from '@recount/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newStreamId, openLiveWriter } from '../live/open-live-writer.ts';
import { deleteSession } from '../maintenance/deletions.ts';
import { finishDeletions } from '../raw-objects/delete-raw-objects.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import { type Finding, runDoctor } from './run-doctor.ts';

const LIMITS = { maxOpenStreams: 10, maxBytes: 1_000_000 };

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
  // As stored by versions that could not read the format. Today the stream becomes a transcript.
  const { pool } = installation.database;
  await pool.query(`
    CREATE FUNCTION recount.keep_as_stream() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN NEW.transcript_id := NULL; RETURN NEW; END'`);
  await pool.query(`
    CREATE TRIGGER keep_as_stream BEFORE UPDATE ON recount.live_streams
      FOR EACH ROW EXECUTE FUNCTION recount.keep_as_stream()`);
});
afterEach(() => installation.close());

const toCodexStream = (threadId: string): string =>
  [
    { type: 'thread.started', thread_id: threadId },
    { type: 'turn.started' },
    { type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text: 'done' } },
    { type: 'turn.completed', usage: { input_tokens: 100, cached_input_tokens: 40, output_tokens: 7 } },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

async function record(sessionId: string, rawStore: RawStore = installation.rawStore): Promise<LiveStreamRow> {
  const deps = { ...installation, rawStore };
  const request = {
    workspaceId: TEST_WORKSPACE,
    uploaderKeyId: 'key',
    streamId: newStreamId(),
    sessionId,
    agent: 'codex',
    offset: 0,
  };
  const writer = await openLiveWriter(deps, { ...request, sourceFormat: 'exec-json' }, LIMITS);
  await writer.append(Buffer.from(toCodexStream(sessionId)));
  return await writer.end({});
}

async function put(key: string, text: string): Promise<void> {
  await installation.rawStore.put(
    key,
    (async function* () {
      yield Buffer.from(text);
    })(),
  );
}

async function examine(fix: boolean, checksums = false): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of runDoctor(installation, { fix, checksums, nowMs: Date.now() + 2000, minAgeMs: 0 })) {
    findings.push(finding);
  }
  return findings;
}

const findStream = (streamId: string) =>
  findLiveStream(installation.database.database, { workspaceId: TEST_WORKSPACE, streamId });
const findTotals = (sessionId: string) =>
  findLiveSession(installation.database.database, { workspaceId: TEST_WORKSPACE, sessionId });

describe('streams that are stored as they arrive', () => {
  it('are consistent with their rows', async () => {
    await record('codex-thread');
    expect(await examine(true)).toEqual([]);
  });

  it('get their rows and totals back if the database was restored from an older backup', async () => {
    const before = await record('codex-thread');
    const { last_event_id: _lastEventId, ...totals } = (await findTotals('codex-thread')) ?? {};
    const key = streamObjectKey({ workspaceId: TEST_WORKSPACE, streamId: before.id });
    await installation.database.pool.query('DELETE FROM recount.live_streams; DELETE FROM recount.live_sessions');
    const orphan = { kind: 'orphan-stream', objectKey: key, sizeBytes: before.stored_bytes };
    expect(await examine(false)).toEqual([{ ...orphan, fixed: false }]);
    expect(await examine(true)).toEqual([{ ...orphan, fixed: true }]);
    const { writer_id, started_at, last_received_at, ended_at, has_events, ...figures } = before;
    expect(await findStream(before.id)).toMatchObject(figures);
    expect(await findTotals('codex-thread')).toMatchObject(totals);
    expect(await examine(true)).toEqual([]);
    await deleteSession(installation, TEST_WORKSPACE, 'codex-thread');
    expect(await installation.listObjectKeys()).toEqual([]);
  });

  it('outlive a deletion that was recorded before a row named them', async () => {
    const { object_key: key } = await record('codex-thread');
    await recordRawObjectDeletions(installation.database.database, TEST_WORKSPACE, [key ?? '']);
    for await (const _deletion of finishDeletions(installation, new Date(Date.now() + 1000).toISOString()));
    expect(await installation.listObjectKeys()).toEqual([key]);
  });

  it('are left alone if they are unreadable, or their workspace is gone', async () => {
    const streamId = newStreamId();
    const keys = [TEST_WORKSPACE, 'unknown-workspace'].map((workspaceId) => streamObjectKey({ workspaceId, streamId }));
    await put(keys[0] ?? '', 'no lines of an agent\n');
    await put(keys[1] ?? '', toCodexStream('codex-thread'));
    const findings = await examine(true);
    expect(findings).toHaveLength(2);
    for (const objectKey of keys) {
      expect(findings).toContainEqual(expect.objectContaining({ kind: 'orphan-stream', objectKey, fixed: false }));
    }
    expect(await installation.listObjectKeys()).toEqual(keys.toSorted());
  });

  it('are reported if their objects are missing or have another size', async () => {
    const [gone, cut] = [await record('gone'), await record('cut')];
    await installation.rawStore.delete(gone.object_key ?? '');
    await put(cut.object_key ?? '', 'short\n');
    const findings = await examine(true);
    expect(findings).toHaveLength(2);
    expect(findings).toContainEqual(
      expect.objectContaining({ kind: 'missing-stream', streamId: gone.id, objectKey: gone.object_key }),
    );
    expect(findings).toContainEqual(
      expect.objectContaining({ kind: 'wrong-stream-size', streamId: cut.id, sizeBytes: 6 }),
    );
  });

  it('count once if they arrived again while the database did not know them', async () => {
    const before = await record('codex-thread');
    await installation.database.pool.query(
      'DELETE FROM recount.live_streams; DELETE FROM recount.live_sessions; DELETE FROM recount.live_events',
    );
    await record('codex-thread');
    const totals = await findTotals('codex-thread');
    expect(await examine(true)).toMatchObject([{ kind: 'orphan-stream', fixed: true }]);
    expect(await findStream(before.id)).toMatchObject({ is_counted: false, sha256: before.sha256 });
    expect(await findTotals('codex-thread')).toEqual(totals);
  });

  it('are reported by checksum if their bytes have changed', async () => {
    const { id, object_key: key, sha256 } = await record('codex-thread');
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    await put(key ?? '', toCodexStream('codex-thread').replace('done', 'gone'));
    expect(await examine(true)).toEqual([]);
    expect(await examine(true, true)).toMatchObject([{ kind: 'wrong-stream-content', streamId: id }]);
  });

  it('leave nothing if their session is deleted while they are stored', async () => {
    const put: RawStore['put'] = async (...object) => {
      const stored = await installation.rawStore.put(...object);
      await deleteSession(installation, TEST_WORKSPACE, 'deleted');
      return stored;
    };
    const recorded = record('deleted', { ...installation.rawStore, put });
    await expect(recorded).rejects.toThrow('The stream was deleted with its session');
    expect(await installation.listObjectKeys()).toEqual([]);
  });
});

describe('an orphan transcript without a session', () => {
  it('becomes a session named after its file', async () => {
    const transcriptId = newStreamId();
    const line = { type: 'user', uuid: randomUUID(), message: { role: 'user', content: 'hello' } };
    await put(rawObjectKey({ workspaceId: TEST_WORKSPACE, transcriptId }), `${JSON.stringify(line)}\n`);
    expect(await examine(true)).toMatchObject([
      { kind: 'orphan-object', fixed: true },
      { kind: 'undescribed-objects', count: 1 },
    ]);
    await installation.work();
    const { rows } = await installation.database.pool.query('SELECT session_id, status FROM recount.transcripts');
    expect(rows).toEqual([{ session_id: transcriptId, status: 'ingested' }]);
    expect(await examine(true)).toEqual([]);
  });
});

describe('the description of a transcript', () => {
  it('is missed without --fix, which writes it again', async () => {
    const { transcript } = await installation.receive(toTranscript('described', 4));
    await installation.work();
    await installation.rawStore.delete(`${transcript.object_key}.about.json`);
    expect(await examine(false)).toEqual([{ kind: 'undescribed-objects', count: 1, fixed: false }]);
    expect(await examine(true)).toEqual([{ kind: 'undescribed-objects', count: 1, fixed: true }]);
    expect(await examine(false)).toEqual([]);
  });

  it.each([
    ['session_id', 'another-session'],
    ['person', 'Mallory'],
    ['sha256', '0'.repeat(64)],
    ['agent_id', 'b2'],
  ])('is found by --checksums, and repaired, if its %s was changed', async (field, value) => {
    const { transcript } = await installation.receive(toTranscript('described', 4), { person: 'Ada' });
    await installation.work();
    expect(await examine(false, true)).toEqual([]);
    const stored = await installation.rawStore.readDescription(transcript.object_key);
    await installation.rawStore.describe(transcript.object_key, { ...stored, [field]: value });
    const finding = { kind: 'wrong-description', transcriptId: transcript.id, reason: `differs in ${field}` };
    expect(await examine(false, true)).toMatchObject([{ ...finding, fixed: false }]);
    expect(await examine(true, true)).toMatchObject([{ ...finding, fixed: true }]);
    expect(await examine(false, true)).toEqual([]);
    const again = await installation.rawStore.readDescription(transcript.object_key);
    expect({ ...again, received_at: undefined }).toEqual({ ...stored, received_at: undefined });
  });
});
