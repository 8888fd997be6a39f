import {
  deleteSession,
  ensureWorkspace,
  indexSearchBatch,
  parseSearchTarget,
  readSearchBacklog,
  type SearchResult,
  searchTranscripts,
} from '@recount/db';
import { isOnCitus } from '@recount/local-postgres/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { requeueTranscript } from '../queue/requeue-transcript.ts';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation, toLine } from '../testing/test-installation.ts';
import { indexWaitingSessions, runSearchIndexer } from './run-search-indexer.ts';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

const path = (session: string) => ({ path: `/home/ada/${session}.jsonl` });

/** Texts of 20 kB, so that a batch holds about two hundred. */
const toLongTranscript = (session: string, lineCount: number): string =>
  Array.from({ length: lineCount }, (_, index) =>
    toLine(session, 2 * index, { message: { role: 'user', content: `needle ${index} ${'hay '.repeat(5000)}` } }),
  ).join('');

const toTranscript = (session: string, ...texts: string[]): string =>
  texts.map((content, index) => toLine(session, 2 * index, { message: { role: 'user', content } })).join('');

async function search(q: string): Promise<SearchResult[]> {
  const target = parseSearchTarget('text', q);
  if (typeof target === 'string') throw new Error(target);
  const request = { timeZone: 'UTC', subagents: 'include' as const };
  const page = { sort: 'newest' as const, limit: 1000 };
  return (await searchTranscripts(installation.database, TEST_WORKSPACE, target, request, page)).results;
}

async function readDocuments(): Promise<unknown[]> {
  const { rows } = await installation.database.pool.query(
    'SELECT d.*, words::text AS words FROM recount.search_documents AS d ORDER BY session_id, message_id, block_order',
  );
  return rows;
}

const countWaiting = async () => (await readSearchBacklog(installation.database.database)).waitingSessions;

describe('an ingested session', () => {
  it('is pending, and found once it is indexed', async () => {
    await installation.receive(toTranscript('a', 'first needle', 'second needle'), path('a'));
    await installation.work();
    expect(await search('needle')).toEqual([]);
    expect(await readSearchBacklog(installation.database.database)).toMatchObject({
      waitingSessions: 1,
      oldestWaitingSince: expect.any(String),
      failingSessions: 0,
    });
    expect(await indexWaitingSessions(installation.database)).toBe(2);
    expect(await search('needle')).toHaveLength(2);
    expect(await countWaiting()).toBe(0);
  });

  it('is indexed in batches, and any batch may be interrupted', async () => {
    await installation.receive(toLongTranscript('long', 300), path('long'));
    await installation.work();
    const batch = await indexSearchBatch(installation.database);
    expect(batch).toMatchObject({ sessions: 0 });
    expect(batch?.documents).toBeLessThan(250);
    await expect(
      indexSearchBatch({
        ...installation.database,
        withTransaction: (work) =>
          installation.database.withTransaction(async (...transaction) => {
            await work(...transaction);
            throw new Error('killed');
          }),
      }),
    ).rejects.toThrow('killed');
    expect(await search('needle')).toHaveLength(batch?.documents ?? 0);
    const { rows } = await installation.database.pool.query(
      "SELECT failure_count, next_attempt_at > waiting_since + interval '2 seconds' AS is_put_off FROM recount.search_index_state",
    );
    expect(rows).toEqual([{ failure_count: 1, is_put_off: true }]);
    await installation.database.pool.query(
      "UPDATE recount.search_index_state SET next_attempt_at = now() - interval '1 second'",
    );
    expect(await indexWaitingSessions(installation.database)).toBe(300 - (batch?.documents ?? 0));
    expect(await search('needle')).toHaveLength(300);
  });

  it('is indexed by the group, and completely whatever is interrupted', async () => {
    const sessions = Array.from({ length: 12 }, (_, number) => `session-${number}`);
    for (const session of sessions) await installation.receive(toLongTranscript(session, 30), path(session));
    await installation.work();
    const batch = await indexSearchBatch(installation.database);
    expect(batch?.sessions).toBeGreaterThan(3);
    expect(batch?.sessions).toBeLessThan(12);
    expect(await countWaiting()).toBe(12 - (batch?.sessions ?? 0));
    await indexWaitingSessions(installation.database);
    expect(await readDocuments()).toHaveLength(360);
  });

  it('gets the same index from any builder', async () => {
    for (const session of ['a', 'b', 'c', 'd']) {
      await installation.receive(toLongTranscript(session, 30), path(session));
    }
    await installation.work();
    await Promise.all(Array.from({ length: 4 }, () => indexWaitingSessions(installation.database)));
    const documents = await readDocuments();
    expect(documents).toHaveLength(120);
    await installation.database.pool.query(
      "DELETE FROM recount.search_documents; UPDATE recount.search_index_state SET indexed_at = NULL, after_message_id = ''",
    );
    await indexWaitingSessions(installation.database);
    expect(await readDocuments()).toEqual(documents);
  });
});

describe('a workspace', () => {
  it('is checked directly if something was ingested there', async () => {
    await installation.receive(toTranscript('a', 'needle'), path('a'));
    await installation.work();
    const workspaces = new Set<string>();
    const options = { workspaces, looksEverywhere: false };
    expect(await indexSearchBatch(installation.database, options)).toBeUndefined();
    workspaces.add('01J00000000000000000000009').add(TEST_WORKSPACE);
    expect(await indexSearchBatch(installation.database, options)).toMatchObject({ sessions: 1, documents: 1 });
    expect([...workspaces]).toEqual([TEST_WORKSPACE]);
    expect(await indexSearchBatch(installation.database, options)).toBeUndefined();
    expect([...workspaces]).toEqual([]);
  });

  it('is indexed by a second batch while the first is running', async () => {
    const texts = Array.from({ length: 150 }, (_, number) => `needle ${number}`);
    for (let number = 0; number < 12; number += 1) {
      await installation.receive(toTranscript(`session-${number}`, ...texts), path(`session-${number}`));
    }
    await installation.work();
    const options = { workspaces: new Set([TEST_WORKSPACE]), looksEverywhere: false };
    const [worked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = indexSearchBatch(
      {
        ...installation.database,
        withTransaction: (work) =>
          installation.database.withTransaction(async (...transaction) => {
            const batch = await work(...transaction);
            worked.resolve();
            await held.promise;
            return batch;
          }),
      },
      options,
    );
    await worked.promise;
    const second = await indexSearchBatch(installation.database, options);
    held.resolve();
    expect(second?.sessions).toBeGreaterThan(0);
    expect((await first)?.sessions).toBeGreaterThan(0);
    expect([...options.workspaces]).toEqual([TEST_WORKSPACE]);
  });

  it('has its turn while another has more to index', async () => {
    const other = '01J00000000000000000000002';
    await ensureWorkspace(installation.database.database, other, 'other');
    await installation.receive(toLongTranscript('a', 300), path('a'));
    await installation.receive(toTranscript('b', 'needle'), { ...path('b'), workspaceId: other });
    await installation.work();
    const workspaces = new Set<string>();
    const first = await indexSearchBatch(installation.database, { workspaces });
    const second = await indexSearchBatch(installation.database, { workspaces, looksEverywhere: false });
    expect([first, second].map((batch) => batch?.workspaceId)).toEqual([TEST_WORKSPACE, other]);
  });

  it('whose batch fails is checked again', async () => {
    await installation.receive(toTranscript('a', 'needle'), path('a'));
    await installation.work();
    const workspaces = new Set([TEST_WORKSPACE]);
    const failing = { ...installation.database, withTransaction: () => Promise.reject(new Error('refused')) };
    await expect(indexSearchBatch(failing, { workspaces })).rejects.toThrow('refused');
    expect([...workspaces]).toEqual([TEST_WORKSPACE]);
  });
});

describe('a session that changes', () => {
  it('is indexed from where it grew, with the same result as if uploaded whole', async () => {
    const whole = toTranscript('a', 'first needle', 'second needle', 'third needle');
    const lines = whole.split(/(?<=\n)/);
    await installation.receive(lines.slice(0, 2).join(''), path('a'));
    await installation.work();
    await indexWaitingSessions(installation.database);
    await installation.receive(whole, path('a'));
    await installation.work();
    expect(await search('needle')).toHaveLength(2);
    expect(await countWaiting()).toBe(1);
    expect(await indexWaitingSessions(installation.database)).toBe(1);
    const grown = await readDocuments();
    const { rows: ingested } = await installation.database.pool.query(
      "SELECT id FROM recount.transcripts WHERE status = 'ingested'",
    );
    expect((await search('first'))[0]?.transcript_id).toBe(ingested[0].id);

    const other = await createTestInstallation();
    try {
      await other.receive(whole, path('a'));
      await other.work();
      await indexWaitingSessions(other.database);
      const { rows } = await other.database.pool.query(
        'SELECT d.*, words::text AS words FROM recount.search_documents AS d ORDER BY session_id, message_id, block_order',
      );
      expect(grown).toEqual(rows);
    } finally {
      await other.close();
    }
  });

  it.each([0, 300])('and grows by a line with an earlier time has that time, after %d long lines', async (count) => {
    const toAnswerLine = (seconds: number, text: string) =>
      toLine('a', seconds, {
        ...{ requestId: 'request', message: { id: 'msg', role: 'assistant', content: [{ type: 'text', text }] } },
      });
    const beginning = toLongTranscript('a', count) + toLine('a', 1000) + toAnswerLine(1005, 'an answer');
    await installation.receive(beginning, path('a'));
    await installation.work();
    await indexWaitingSessions(installation.database);
    await installation.receive(beginning + toAnswerLine(1003, 'that goes on'), path('a'));
    await installation.work();
    expect((await search('answer')).map(({ timestamp }) => timestamp)).toEqual(['2026-01-01T00:16:43.000Z']);
    expect(await indexWaitingSessions(installation.database)).toBe(1);
    const grown = await readDocuments();
    await installation.database.pool.query('DELETE FROM recount.search_documents');
    await installation.database.pool.query('UPDATE recount.search_index_state SET indexed_at = NULL');
    await indexWaitingSessions(installation.database);
    expect(await readDocuments()).toEqual(grown);
  });

  it('is not found by its old texts if it is parsed differently the second time', async () => {
    const { transcript } = await installation.receive(toTranscript('a', 'a needle'), path('a'));
    await installation.work();
    await indexWaitingSessions(installation.database);
    await installation.database.pool.query(
      "UPDATE recount.search_documents SET words = '''workspace'':1 needle:1', text = 'stale'",
    );
    const job = { workspaceId: TEST_WORKSPACE, transcriptId: transcript.id };
    await requeueTranscript(installation, job, ['ingested']);
    await installation.work();
    expect(await readDocuments()).toEqual([]);
    expect(await indexWaitingSessions(installation.database)).toBe(1);
    expect(await search('needle')).toMatchObject([{ snippet: [{ text: 'a ' }, { text: 'needle', is_match: true }] }]);
  });

  it('shows its primary version only if it diverges', async () => {
    await installation.receive(toTranscript('a', 'needle short'), path('a'));
    await installation.work();
    await indexWaitingSessions(installation.database);
    await installation.receive(toTranscript('a', 'needle quite another one', 'and longer'), path('a'));
    await installation.work();
    await indexWaitingSessions(installation.database);
    expect((await search('needle')).map(({ snippet }) => snippet.map(({ text }) => text).join(''))).toEqual([
      'needle quite another one',
    ]);
    await installation.receive(toTranscript('a', 'needle shortest'), path('a'));
    await installation.work();
    expect(await countWaiting()).toBe(0);
  });

  it('leaves nothing if it is deleted, in the same transaction', async () => {
    await installation.receive(toTranscript('a', 'needle'), path('a'));
    await installation.receive(toTranscript('b', 'needle'), path('b'));
    await installation.work();
    await indexWaitingSessions(installation.database);
    await installation.database.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'a'));
    expect((await search('needle')).map(({ session_id }) => session_id)).toEqual(['b']);
    const { rows } = await installation.database.pool.query(
      'SELECT session_id FROM recount.search_documents UNION ALL SELECT session_id FROM recount.search_index_state',
    );
    expect(rows).toEqual([{ session_id: 'b' }, { session_id: 'b' }]);
  });

  it('while it is being indexed leaves nothing stale', async () => {
    const { transcript } = await installation.receive(toLongTranscript('a', 300), path('a'));
    await installation.work();
    await indexSearchBatch(installation.database);
    const job = { workspaceId: TEST_WORKSPACE, transcriptId: transcript.id };
    await requeueTranscript(installation, job, ['ingested']);
    await Promise.all([indexWaitingSessions(installation.database), installation.work()]);
    await indexWaitingSessions(installation.database);
    expect(await search('needle')).toHaveLength(300);
    await Promise.all([
      indexWaitingSessions(installation.database),
      installation.database.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'a')),
    ]);
    expect(await readDocuments()).toEqual([]);
  });
});

describe('runSearchIndexer', () => {
  it('continues past a session that fails, logs why without its text, and stops when told to', async () => {
    await installation.receive(toTranscript('bad', 'bad needle'), path('bad'));
    await installation.receive(toTranscript('good', 'good needle'), path('good'));
    await installation.work();
    const { pool } = installation.database;
    await pool.query(`UPDATE recount.search_index_state SET next_attempt_at = '2026-01-01' WHERE session_id = 'bad'`);
    await pool.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'refused: %', NEW.text; END $$`);
    await pool.query(`
      CREATE TRIGGER refuse BEFORE INSERT ON recount.search_documents
        FOR EACH ROW WHEN (NEW.session_id = 'bad') EXECUTE FUNCTION refuse()`);
    const reasons: string[] = [];
    const end = new AbortController();
    const deps = {
      database: installation.database,
      isBusy: () => true,
      onFailure: (reason: string) => void reasons.push(reason),
    };
    const running = runSearchIndexer(deps, { signal: end.signal, idleMs: 20 });
    await vi.waitFor(async () => expect(await search('needle')).toHaveLength(1));
    await vi.waitFor(() => expect(reasons.length).toBeGreaterThan(0));
    end.abort();
    await running;
    // If a node rejects a COPY, the coordinator reports it without the node's code.
    expect(reasons[0]).toMatch(isOnCitus() ? /^Postgres error XX000/ : /^Postgres error P0001/);
    expect(reasons.join()).not.toContain('needle');
    expect(await readSearchBacklog(installation.database.database)).toMatchObject({
      waitingSessions: 1,
      failingSessions: 1,
    });
  });

  it('rests while transcripts are ingested, and continues when none is', async () => {
    await installation.receive(toLongTranscript('long', 300), path('long'));
    await installation.work();
    let isBusy = true;
    let batches = 0;
    const end = new AbortController();
    const deps = {
      database: installation.database,
      isBusy: () => isBusy,
      onBatch: () => {
        batches += 1;
      },
      onFailure: () => undefined,
    };
    const running = runSearchIndexer(deps, {
      signal: end.signal,
      idleMs: 20,
      busyRestFactor: Number.POSITIVE_INFINITY,
    });
    await vi.waitFor(() => expect(batches).toBe(1), { timeout: 60_000 });
    expect(await countWaiting()).toBe(1);
    isBusy = false;
    await vi.waitFor(async () => expect(await countWaiting()).toBe(0), { timeout: 60_000 });
    end.abort();
    await running;
    expect(batches).toBeGreaterThan(1);
  });
});
