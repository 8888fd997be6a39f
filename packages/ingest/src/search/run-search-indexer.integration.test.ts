import {
  type DatabasePool,
  deleteSession,
  indexSearchBatch,
  mergeSegments,
  parseSearchTarget,
  readSearchBacklog,
  removeFromSegments,
  type SearchRequest,
  searchTranscripts,
} from '@recount/db';
import { isOnCitus, waitForLocks } from '@recount/local-postgres/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Finding, runDoctor } from '../consistency/run-doctor.ts';
import { verifyTranscripts } from '../consistency/verify-transcripts.ts';
import { requeueTranscript } from '../queue/requeue-transcript.ts';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation, toLine } from '../testing/test-installation.ts';
import { indexWaitingSessions, runSearchIndexer } from './run-search-indexer.ts';

type SearchResult = Awaited<ReturnType<typeof searchTranscripts>>['results'][number];

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

const path = (session: string) => ({ path: `/home/ada/${session}.jsonl` });

const toTranscript = (session: string, ...texts: string[]): string =>
  texts.map((content, index) => toLine(session, 2 * index, { message: { role: 'user', content } })).join('');

async function ingest(text: string, session: string): Promise<string> {
  const { transcript } = await installation.receive(text, path(session));
  await installation.work();
  return transcript.id;
}

async function search(q: string, filter: Partial<SearchRequest> = {}): Promise<SearchResult[]> {
  const target = parseSearchTarget('text', q);
  if (typeof target === 'string') throw new Error(target);
  const request = { timeZone: 'UTC', subagents: 'include' as const, ...filter };
  const page = { sort: 'newest' as const, limit: 1000 };
  return (await searchTranscripts(installation.database, TEST_WORKSPACE, target, request, page)).results;
}

const toText = ({ snippet }: SearchResult): string => snippet.map(({ text }) => text).join('');

async function query(text: string): Promise<Record<string, unknown>[]> {
  return (await installation.database.pool.query(text)).rows;
}

const countWaiting = async () => (await readSearchBacklog(installation.database.database)).waitingSessions;
const listSegments = () => query('SELECT segment_id, document_count FROM recount.search_segments ORDER BY segment_id');

/** Each text is in one segment, with all its tokens, and nothing else is. */
async function expectVerified(): Promise<void> {
  const { checks } = await verifyTranscripts(installation, TEST_WORKSPACE, { maxLineBytes: 1024 * 1024 });
  expect(checks.filter(({ missing, surplus }) => missing + surplus > 0)).toEqual([]);
  expect(checks.map(({ table }) => table)).toContain('search_segments');
}

/** As after an upgrade from a version without segments. */
const forgetSegments = () =>
  query(`DELETE FROM recount.search_postings; DELETE FROM recount.search_segment_row_sets;
    DELETE FROM recount.search_segments; INSERT INTO recount.search_waiting (workspace_id, row_set_id, session_id)
    SELECT workspace_id, row_set_id, session_id FROM recount.transcripts WHERE row_set_id IS NOT NULL`);

async function mergeAll(): Promise<void> {
  while (await mergeSegments(installation.database, TEST_WORKSPACE));
}

const removeAll = () => removeFromSegments(installation.database, TEST_WORKSPACE);

describe('an ingested session', () => {
  it('is found as soon as it is ingested', async () => {
    await ingest(toTranscript('a', 'first needle', 'second needle'), 'a');
    expect(await search('needle')).toHaveLength(2);
    expect(await countWaiting()).toBe(0);
    await expectVerified();
  });

  it('adds two rows and its postings, which are one row for a small transcript', async () => {
    const whole = toTranscript('a', 'first needle', 'second needle', 'third needle');
    const lines = whole.split(/(?<=\n)/);
    await ingest(lines.slice(0, 2).join(''), 'a');
    const id = await ingest(whole, 'a');
    expect(await search('needle')).toHaveLength(3);
    expect((await search('first'))[0]?.transcript_id).toBe(id);
    expect(await query('SELECT shard FROM recount.search_postings')).toEqual([{ shard: 1 }, { shard: 1 }]);
    expect((await listSegments()).map(({ document_count }) => document_count)).toEqual([2, 1]);
    expect(await query('SELECT DISTINCT row_set_id FROM recount.search_segment_row_sets')).toHaveLength(1);
    await expectVerified();
  });

  it('has the earlier time if it grows by a line with one', async () => {
    const toAnswerLine = (seconds: number, text: string) =>
      toLine('a', seconds, {
        ...{ requestId: 'request', message: { id: 'msg', role: 'assistant', content: [{ type: 'text', text }] } },
      });
    const beginning = toTranscript('a', 'a prompt') + toAnswerLine(1005, 'an answer');
    await ingest(beginning, 'a');
    await ingest(beginning + toAnswerLine(1003, 'that goes on'), 'a');
    expect((await search('answer')).map(({ timestamp }) => timestamp)).toEqual(['2026-01-01T00:16:43.000Z']);
    expect(await search('answer', { to: '2026-01-01T00:16:44Z' })).toHaveLength(1);
    expect(await search('answer', { from: '2026-01-01T00:16:44Z' })).toEqual([]);
    await expectVerified();
  });

  it('is indexed again if a message has a later time than its id', async () => {
    const toAnswerLine = (seconds: number, text: string, fields: Record<string, unknown> = {}) =>
      toLine('a', seconds, {
        ...{ requestId: 'request', message: { id: 'msg', role: 'assistant', content: [{ type: 'text', text }] } },
        ...fields,
      });
    const lines = [toAnswerLine(4999, 'an answer', { timestamp: undefined }), toAnswerLine(5001, 'that goes on')];
    await ingest(toTranscript('a', 'a prompt') + lines.join(''), 'a');
    expect(await countWaiting()).toBe(1);
    await indexWaitingSessions(installation.database);
    expect(await search('answer', { from: '2026-01-01T01:00:00Z' })).toHaveLength(1);
    await expectVerified();
  });

  it('is found once if it is parsed again', async () => {
    const transcriptId = await ingest(toTranscript('a', 'a needle'), 'a');
    await requeueTranscript(installation, { workspaceId: TEST_WORKSPACE, transcriptId }, ['ingested']);
    await installation.work();
    expect(await search('needle')).toHaveLength(1);
    await expectVerified();
    expect(await listSegments()).toHaveLength(2);
    await mergeAll();
    expect(await listSegments()).toHaveLength(1);
    expect(await search('needle')).toHaveLength(1);
    await expectVerified();
  });

  it('is not found by texts that are not its own any more, even if a segment has them', async () => {
    await ingest(toTranscript('a', 'a needle'), 'a');
    await query(`UPDATE recount.content_blocks SET content_text = 'redacted'`);
    expect(await search('needle')).toEqual([]);
    await query('DELETE FROM recount.content_blocks');
    expect(await search('needle')).toEqual([]);
  });

  it('shows its primary version only if it diverges', async () => {
    await ingest(toTranscript('a', 'needle short'), 'a');
    await ingest(toTranscript('a', 'needle quite another one', 'and longer'), 'a');
    expect((await search('needle')).map(toText)).toEqual(['needle quite another one']);
    await ingest(toTranscript('a', 'needle shortest'), 'a');
    expect(await search('needle')).toHaveLength(1);
    await expectVerified();
  });

  it('leaves nothing if it is deleted, in answers immediately, and in segments once they are made again', async () => {
    await ingest(toTranscript('a', 'needle'), 'a');
    await ingest(toTranscript('b', 'needle'), 'b');
    await forgetSegments();
    await indexWaitingSessions(installation.database);
    expect(await listSegments()).toHaveLength(1);
    await installation.database.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'a'));
    expect((await search('needle')).map(({ session_id }) => session_id)).toEqual(['b']);
    await removeAll();
    expect(
      await query(
        'SELECT t.session_id FROM recount.search_segment_row_sets JOIN recount.transcripts AS t USING (workspace_id, row_set_id)',
      ),
    ).toEqual([{ session_id: 'b' }]);
    await expectVerified();
    await installation.database.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'b'));
    await removeAll();
    expect(await listSegments()).toEqual([]);
    expect(await query('SELECT FROM recount.search_postings')).toEqual([]);
    expect(await query('SELECT FROM recount.search_segment_row_sets')).toEqual([]);
  });
});

describe('a session without segments', () => {
  it('waits, and gets the same segments from its rows as from its lines', async () => {
    await ingest(toTranscript('a', 'first needle', 'second needle'), 'a');
    await ingest(toTranscript('b', 'third needle'), 'b');
    await forgetSegments();
    expect(await search('needle')).toEqual([]);
    expect(await readSearchBacklog(installation.database.database)).toMatchObject({
      waitingSessions: 2,
      oldestWaitingSince: expect.any(String),
      failingSessions: 0,
    });
    expect(await indexWaitingSessions(installation.database)).toBe(3);
    expect(await search('needle')).toHaveLength(3);
    expect(await countWaiting()).toBe(0);
    await expectVerified();
  });

  it('has each text once if it grows or goes while it waits', async () => {
    const whole = toTranscript('a', 'first needle', 'second needle', 'third needle');
    await ingest(
      whole
        .split(/(?<=\n)/)
        .slice(0, 2)
        .join(''),
      'a',
    );
    await ingest(toTranscript('b', 'needle'), 'b');
    await forgetSegments();
    await ingest(whole, 'a');
    expect(await search('needle')).toHaveLength(1);
    await installation.database.withTransaction((transaction) => deleteSession(transaction, TEST_WORKSPACE, 'b'));
    expect(await indexWaitingSessions(installation.database)).toBe(3);
    expect(await search('needle')).toHaveLength(3);
    await expectVerified();
  });

  it('waits on if its batch is interrupted, and is then tried alone', async () => {
    await ingest(toTranscript('a', 'needle'), 'a');
    await ingest(toTranscript('b', 'needle'), 'b');
    await forgetSegments();
    const killed: DatabasePool = {
      ...installation.database,
      withTransaction: (work) =>
        installation.database.withTransaction(async (...transaction) => {
          await work(...transaction);
          throw new Error('killed');
        }),
    };
    await expect(indexSearchBatch(killed)).rejects.toThrow('killed');
    expect(await search('needle')).toEqual([]);
    expect(
      await query(
        "SELECT failure_count, next_attempt_at > waiting_since + interval '1 second' AS is_put_off FROM recount.search_waiting",
      ),
    ).toEqual([
      { failure_count: 1, is_put_off: true },
      { failure_count: 1, is_put_off: true },
    ]);
    await query("UPDATE recount.search_waiting SET next_attempt_at = now() - interval '1 second'");
    expect(await indexSearchBatch(installation.database)).toMatchObject({ rowSets: 1 });
    expect(await indexSearchBatch(installation.database)).toMatchObject({ rowSets: 1 });
    await expectVerified();
  });

  it('gets its segments from any number of workers once', async () => {
    for (const session of ['a', 'b', 'c', 'd']) await ingest(toTranscript(session, 'needle', 'needle two'), session);
    await forgetSegments();
    await Promise.all(Array.from({ length: 4 }, () => indexWaitingSessions(installation.database)));
    await indexWaitingSessions(installation.database);
    await expectVerified();
  });
});

it('a lost segment is found by the doctor, and made again', async () => {
  await ingest(toTranscript('a', 'needle of a'), 'a');
  await ingest(toTranscript('b', 'needle of b'), 'b');
  const doctor = async (fix: boolean) => {
    const found: Finding[] = [];
    for await (const finding of runDoctor(installation, { fix, nowMs: Date.now() })) {
      if (finding.kind === 'search-behind') found.push(finding);
    }
    return found;
  };
  expect(await doctor(true)).toEqual([]);
  await query(
    'DELETE FROM recount.search_segments WHERE segment_id = (SELECT min(segment_id) FROM recount.search_segments)',
  );
  expect(await search('needle')).toHaveLength(1);
  expect(await doctor(false)).toMatchObject([{ waitingSessions: 1 }]);
  expect(await countWaiting()).toBe(0);
  expect(await doctor(true)).toMatchObject([{ waitingSessions: 1 }]);
  await indexWaitingSessions(installation.database);
  expect(await search('needle')).toHaveLength(2);
  expect(await doctor(true)).toEqual([]);
  await expectVerified();
});

describe('what a lost segment left', () => {
  const countLeft = async () => {
    const [left] = await query(`
      SELECT (SELECT count(*)::int FROM recount.search_postings) AS postings,
        (SELECT count(*)::int FROM recount.search_segment_row_sets) AS row_sets`);
    return left;
  };

  beforeEach(async () => {
    await ingest(toTranscript('a', 'needle of a'), 'a');
    await ingest(toTranscript('b', 'needle of b'), 'b');
    await query(`
      DELETE FROM recount.search_segments WHERE segment_id = (SELECT min(segment_id) FROM recount.search_segments)`);
    expect(await countLeft()).toEqual({ postings: 2, row_sets: 2 });
  });

  it('is found by the doctor, who deletes it', async () => {
    const doctor = async (fix: boolean) => {
      const found: Finding[] = [];
      for await (const finding of runDoctor(installation, { fix, nowMs: Date.now() })) {
        if (finding.kind === 'lost-segments') found.push(finding);
      }
      return found;
    };
    expect(await doctor(false)).toEqual([{ kind: 'lost-segments', count: 1, fixed: false }]);
    expect(await countLeft()).toEqual({ postings: 2, row_sets: 2 });
    expect(await doctor(true)).toEqual([{ kind: 'lost-segments', count: 1, fixed: true }]);
    expect(await countLeft()).toEqual({ postings: 1, row_sets: 1 });
    expect(await doctor(true)).toEqual([]);
    expect(await search('needle')).toHaveLength(1);
  });

  it('is deleted by a worker, even if nothing is ingested', async () => {
    const end = new AbortController();
    const deps = { database: installation.database, isBusy: () => false, onFailure: () => undefined };
    const running = runSearchIndexer(deps, { signal: end.signal, idleMs: 20 });
    await vi.waitFor(async () => expect(await countLeft()).toEqual({ postings: 1, row_sets: 1 }));
    end.abort();
    await running;
    expect(await search('needle')).toHaveLength(1);
  });
});

describe('small segments', () => {
  beforeEach(async () => {
    let text = '';
    for (let number = 0; number < 12; number += 1) {
      text += toLine('a', 2 * number, { message: { role: 'user', content: `needle ${number}` } });
      await ingest(text, 'a');
    }
    await ingest(toTranscript('b', 'needle of another'), 'b');
    expect(await listSegments()).toHaveLength(13);
  });

  it('are merged, and find the same texts', async () => {
    const found = await search('needle');
    expect(found).toHaveLength(13);
    await mergeAll();
    expect((await listSegments()).length).toBeLessThan(8);
    expect(await search('needle')).toEqual(found);
    await expectVerified();
  });

  it('are merged by several workers at a time, and whatever is interrupted', async () => {
    const killed: DatabasePool = {
      ...installation.database,
      withTransaction: (work) =>
        installation.database.withTransaction(async (...transaction) => {
          await work(...transaction);
          throw new Error('killed');
        }),
    };
    await expect(mergeSegments(killed, TEST_WORKSPACE)).rejects.toThrow('killed');
    expect(await listSegments()).toHaveLength(13);
    await Promise.all([mergeAll(), mergeAll(), mergeAll()]);
    await mergeAll();
    expect((await listSegments()).length).toBeLessThan(8);
    expect(await search('needle')).toHaveLength(13);
    await expectVerified();
  });

  it('lose what is deleted while they are being merged', async () => {
    const [merged, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const merging = mergeSegments(
      {
        ...installation.database,
        withTransaction: (work) =>
          installation.database.withTransaction(async (...transaction) => {
            const result = await work(...transaction);
            merged.resolve();
            await held.promise;
            return result;
          }),
      },
      TEST_WORKSPACE,
    );
    await merged.promise;
    const deleting = installation.database.withTransaction((transaction) =>
      deleteSession(transaction, TEST_WORKSPACE, 'a'),
    );
    await waitForLocks(installation, 1);
    held.resolve();
    await Promise.all([merging, deleting]);
    expect((await search('needle')).map(({ session_id }) => session_id)).toEqual(['b']);
    await removeAll();
    expect((await listSegments()).map(({ document_count }) => document_count)).toEqual([1]);
    await expectVerified();
  });

  it('are left for later while their marks are being set', async () => {
    await installation.database.withTransaction(async (transaction) => {
      await deleteSession(transaction, TEST_WORKSPACE, 'a');
      expect(await mergeSegments(installation.database, TEST_WORKSPACE)).toBe(false);
    });
    await removeAll();
    expect(await listSegments()).toHaveLength(1);
  });
});

describe('runSearchIndexer', () => {
  it('continues past a session that fails, logs why without its text, and stops when told to', async () => {
    const badId = await ingest(toTranscript('bad', 'bad needle'), 'bad');
    await ingest(toTranscript('good', 'good needle'), 'good');
    await forgetSegments();
    await query(`UPDATE recount.search_waiting SET next_attempt_at = '2026-01-01' WHERE session_id = 'bad'`);
    await query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'refused: needle'; END $$`);
    await query(`
      CREATE TRIGGER refuse BEFORE INSERT ON recount.search_segment_row_sets
        FOR EACH ROW WHEN (NEW.row_set_id = '${badId}') EXECUTE FUNCTION refuse()`);
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

  it('merges the segments of workspaces where something was ingested, also beside ingestion', async () => {
    let text = '';
    for (let number = 0; number < 9; number += 1) {
      text += toLine('a', 2 * number, { message: { role: 'user', content: `needle ${number}` } });
      await ingest(text, 'a');
    }
    const end = new AbortController();
    const workspaces = new Set([TEST_WORKSPACE]);
    const deps = { database: installation.database, isBusy: () => true, workspaces, onFailure: () => undefined };
    const running = runSearchIndexer(deps, { signal: end.signal, idleMs: 20, busyRestFactor: 0 });
    await vi.waitFor(async () => expect((await listSegments()).length).toBeLessThan(8));
    end.abort();
    await running;
    await expectVerified();
  });
});
