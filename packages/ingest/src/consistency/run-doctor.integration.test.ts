import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { deleteSession as deleteSessionRows } from '@recount/db';
import { type RawStore, RawStoreError, rawObjectKey } from '@recount/storage';
import { ulid } from 'ulid';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deleteSession } from '../maintenance/deletions.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toTranscript,
} from '../testing/test-installation.ts';
import { createDoctorCounts } from './check-raw-objects.ts';
import { needsAttention } from './doctor-report.ts';
import { type DatabaseFinding, type DoctorOptions, type Finding, runDoctor } from './run-doctor.ts';

describe('check database files', () => {
  let installation: TestInstallation;
  beforeAll(async () => {
    installation = await createTestInstallation();
    await installation.receive(toTranscript('whole', 4));
    await installation.work();
  });
  afterAll(() => installation.close());

  const query = (sql: string) => installation.database.pool.query(sql);

  async function examine(deep: boolean): Promise<DatabaseFinding[]> {
    const findings: DatabaseFinding[] = [];
    for await (const finding of runDoctor(installation, { fix: false, deep, nowMs: Date.now() })) {
      if (finding.kind === 'damaged-relation' || finding.kind === 'unchecked-database') findings.push(finding);
    }
    return findings;
  }

  it('finds invalid rows, and rows missing from an index, if asked to, and leaves no extension installed', async () => {
    expect(await examine(true)).toEqual([]);

    await query('CREATE TABLE public.damaged (id int PRIMARY KEY, value text)');
    await query('CREATE INDEX short ON public.damaged (id)');
    const setReady = (isReady: boolean) =>
      query(`UPDATE pg_index SET indisready = ${isReady} WHERE indexrelid = 'public.short'::regclass`);
    await setReady(false);
    await query(`INSERT INTO public.damaged VALUES (1, 'a secret')`);
    await setReady(true);
    // Makes the row older than any row of the table may be.
    await query(`UPDATE pg_class SET relfrozenxid = pg_current_xact_id()::xid WHERE relname = 'damaged'`);

    expect(await examine(false)).toEqual([]);
    const found = await examine(true);
    expect(found).toEqual([
      expect.objectContaining({
        kind: 'damaged-relation',
        relation: 'public.damaged',
        reason: expect.stringMatching(/xmin .* precedes relation freeze threshold/),
      }),
      expect.objectContaining({
        relation: 'public.short',
        reason: expect.stringMatching(/lacks matching index tuple/),
      }),
    ]);
    expect(JSON.stringify(found)).not.toContain('secret');
    expect((await query(`SELECT FROM pg_extension WHERE extname = 'amcheck'`)).rowCount).toBe(0);
  });
});

describe('run doctor', () => {
  let installation: TestInstallation;
  beforeEach(async () => {
    installation = await createTestInstallation();
  });
  afterEach(() => installation.close());

  it('finds by checksum an object whose bytes have changed, and reads none unless asked to', async () => {
    const { transcript } = await installation.receive(toTranscript('changed', 4));
    const intact = await installation.receive(toTranscript('intact', 5));
    await installation.work();
    const path = `${installation.storeDirectory}/${transcript.object_key}`;
    const bytes = await readFile(path);
    bytes[10] = (bytes[10] ?? 0) ^ 1;
    await writeFile(path, bytes);

    const read: number[] = [];
    const examine = async (checksums: boolean): Promise<Finding[]> => {
      const onRead = (sizeBytes: number) => void read.push(sizeBytes);
      const options = { fix: true, checksums, onRead, nowMs: Date.now() + 1000, minAgeMs: 0 };
      const findings: Finding[] = [];
      for await (const finding of runDoctor(installation, options)) {
        if (finding.kind !== 'search-behind') findings.push(finding);
      }
      return findings;
    };
    expect(await examine(false)).toEqual([]);
    expect(read).toEqual([]);
    expect(await examine(true)).toEqual([
      {
        kind: 'wrong-content',
        workspaceId: transcript.workspace_id,
        transcriptId: transcript.id,
        objectKey: transcript.object_key,
        fixed: false,
      },
    ]);
    expect(read).toEqual([transcript.size_bytes, intact.transcript.size_bytes]);
  });

  it.each(['writable-check', `workspaces/${TEST_WORKSPACE}/transcripts/`])(
    'names a raw store that cannot be written at %s, with what to do, and continues',
    async (place) => {
      await installation.receive(toTranscript('readable', 3));
      const refusal = new RawStoreError('denied', 'EROFS at /srv/raw');
      const { put } = installation.rawStore;
      const rawStore: RawStore = {
        ...installation.rawStore,
        put: (key, ...rest) => (key.startsWith(place) ? Promise.reject(refusal) : put(key, ...rest)),
      };
      const counts = createDoctorCounts();
      const findings: Finding[] = [];
      for await (const finding of runDoctor({ ...installation, rawStore }, { fix: false, counts, nowMs: Date.now() }))
        findings.push(finding);
      expect(findings.filter(({ kind }) => kind === 'unwritable-store')).toEqual([
        {
          ...{ kind: 'unwritable-store', message: 'EROFS at /srv/raw', fixed: false },
          reason: expect.stringContaining('Give the user or the credentials'),
        },
      ]);
      expect(findings.filter(needsAttention).map(({ kind }) => kind)).toContain('unwritable-store');
      expect(counts.transcripts).toBeGreaterThan(0);
    },
  );

  it('leaves no mark in the store, and none that counts as an object', async () => {
    for await (const finding of runDoctor(installation, { fix: false, nowMs: Date.now() }))
      expect(finding.kind).not.toBe('unwritable-store');
    const keys: string[] = [];
    for await (const { key } of installation.rawStore.list('workspaces/')) keys.push(key);
    expect(keys.filter((key) => key.endsWith('-check'))).toEqual([]);
  });

  it('reports nothing about transcripts that are deleted while it reads', async () => {
    for (const session of ['first', 'second', 'third']) await installation.receive(toTranscript(session, 3));
    await installation.work();
    const { rawStore } = installation;
    const remove = async (session: string): Promise<void> => {
      const keys = await installation.database.withTransaction((transaction) =>
        deleteSessionRows(transaction, TEST_WORKSPACE, session),
      );
      for (const key of keys) await rawStore.delete(key);
    };
    const read: string[] = [];
    const get: typeof rawStore.get = async (key, options) => {
      read.push(key);
      if (read.length === 1) await remove('second');
      if (read.length === 2) await remove('third');
      return await rawStore.get(key, options);
    };
    const options = { fix: false, checksums: true, nowMs: Date.now() + 1000, minAgeMs: 0 };
    const findings: Finding[] = [];
    for await (const finding of runDoctor({ ...installation, rawStore: { ...rawStore, get } }, options)) {
      if (finding.kind !== 'search-behind') findings.push(finding);
    }
    expect(read.length).toBe(2);
    expect(findings).toEqual([]);
  });

  it('reports an object that cannot be read to its end, and continues', async () => {
    const { transcript } = await installation.receive(toTranscript('unreadable', 3));
    const { transcript: next } = await installation.receive(toTranscript('next', 3));
    await installation.work();
    const { rawStore } = installation;
    const read: string[] = [];
    const get: typeof rawStore.get = async (key, options) => {
      read.push(key);
      if (key !== transcript.object_key) return await rawStore.get(key, options);
      return Readable.from(
        (async function* () {
          yield Buffer.from('{');
          throw new RawStoreError('unavailable', 'EIO');
        })(),
      );
    };
    const options = { fix: false, checksums: true, nowMs: Date.now() + 1000, minAgeMs: 0 };
    const findings: Finding[] = [];
    for await (const finding of runDoctor({ ...installation, rawStore: { ...rawStore, get } }, options)) {
      if ('transcriptId' in finding && finding.transcriptId === transcript.id) findings.push(finding);
    }
    expect(findings.map(({ kind }) => kind)).toEqual(['unreadable-object']);
    expect(read.at(-1)).toBe(next.object_key);
  });

  const pathOf = (key: string): string => `${installation.storeDirectory}/${key}`;

  async function flipByte(key: string): Promise<void> {
    const bytes = await readFile(pathOf(key));
    bytes[10] = (bytes[10] ?? 0) ^ 1;
    await writeFile(pathOf(key), bytes);
  }

  async function examineAll(options: Partial<DoctorOptions> = {}, deps = installation): Promise<Finding[]> {
    const findings: Finding[] = [];
    for await (const finding of runDoctor(deps, { fix: true, nowMs: Date.now() + 1000, minAgeMs: 0, ...options })) {
      if (finding.kind !== 'search-behind') findings.push(finding);
    }
    return findings;
  }

  /** An object that no row names, as left by an upload that was never acknowledged. */
  async function putOrphan(text: string): Promise<string> {
    const key = rawObjectKey({ workspaceId: TEST_WORKSPACE, transcriptId: ulid() });
    await installation.rawStore.put(key, Readable.from([Buffer.from(text)]));
    return key;
  }

  describe('a skipped object', () => {
    it('is not one that was acknowledged, and its checksum is compared immediately', async () => {
      const { transcript } = await installation.receive(toTranscript('young', 4));
      await flipByte(transcript.object_key);
      const counts = createDoctorCounts();
      const findings = await examineAll({
        fix: false,
        checksums: true,
        counts,
        nowMs: Date.now(),
        minAgeMs: 3_600_000,
      });
      expect(findings.map(({ kind }) => kind)).toEqual(['wrong-content']);
      expect(counts).toMatchObject({ transcripts: 1, checksums: 1, checksumBytes: transcript.size_bytes });
      expect(counts.skipped).toEqual({ youngObjects: 0, youngJobs: 1, expiredObjects: 0, streamsWithoutChecksum: 0 });
    });

    it('is counted, as are recent objects without a row', async () => {
      await installation.receive(toTranscript('named', 4));
      await installation.work();
      const key = await putOrphan(toTranscript('orphan', 4));
      const counts = createDoctorCounts();
      expect(await examineAll({ counts, nowMs: Date.now(), minAgeMs: 3_600_000 })).toEqual([]);
      expect(counts).toMatchObject({ objects: 2, skipped: { youngObjects: 1 } });
      const longAgo = new Date(Date.now() - 7_200_000);
      await utimes(pathOf(key), longAgo, longAgo);
      expect(await examineAll({ fix: false, nowMs: Date.now(), minAgeMs: 3_600_000 })).toMatchObject([
        { kind: 'orphan-object', objectKey: key, fixed: false },
      ]);
    });
  });

  describe('a job that is not in the queue', () => {
    it('is not reported if a worker has finished it between the two checks', async () => {
      await installation.receive(toTranscript('done-meanwhile', 4));
      // A worker that ingests it right after it was listed, so that it is waiting and has no job.
      const { database } = installation.database;
      const execute = async (...query: Parameters<typeof database.execute>) => {
        await installation.work();
        return await database.execute(...query);
      };
      const working: typeof database = Object.assign(Object.create(database), { execute });
      const deps = { ...installation, database: { ...installation.database, database: working } };
      expect(await examineAll({}, deps)).toEqual([]);
      expect(await installation.listJobs()).toEqual([]);
    });
  });

  describe('an orphan with the bytes of a transcript', () => {
    it('replaces that transcript’s object if it is damaged', async () => {
      const text = toTranscript('twice', 6);
      const { transcript } = await installation.receive(text);
      await installation.work();
      const key = await putOrphan(text);
      await flipByte(transcript.object_key);
      const findings = await examineAll();
      expect(findings).toMatchObject([{ kind: 'orphan-object', objectKey: key, fixed: true }]);
      expect(await installation.find(transcript.id)).toMatchObject({ object_key: key });
      expect(await installation.listObjectKeys()).toEqual([key]);
      expect(await examineAll({ checksums: true })).toEqual([]);
    });

    it('is deleted if that transcript’s object is intact', async () => {
      const text = toTranscript('twice', 6);
      const { transcript } = await installation.receive(text);
      await putOrphan(text);
      await examineAll();
      expect(await installation.listObjectKeys()).toEqual([transcript.object_key]);
      expect(await examineAll({ checksums: true })).toEqual([]);
    });

    it('does not become a second session if it is a damaged object that was replaced', async () => {
      const text = toTranscript('replaced', 6);
      const { transcript } = await installation.receive(text);
      const key = await putOrphan(text);
      await installation.database.pool.query('UPDATE recount.transcripts SET object_key = $1', [key]);
      await flipByte(transcript.object_key);
      await installation.work();
      expect(await examineAll()).toMatchObject([
        { kind: 'orphan-object', objectKey: transcript.object_key },
        { kind: 'undescribed-objects' },
      ]);
      expect(await installation.listObjectKeys()).toEqual([key]);
      const { rows } = await installation.database.pool.query('SELECT id FROM recount.transcripts');
      expect(rows).toHaveLength(1);
    });
  });

  describe('a damaged object', () => {
    it('is marked, until the same bytes arrive again or a backup is restored', async () => {
      const text = toTranscript('marked', 6);
      const { transcript } = await installation.receive(text);
      await installation.work();
      const isMarked = async () => (await installation.find(transcript.id))?.raw_damaged_at !== null;
      await flipByte(transcript.object_key);
      await examineAll({ fix: false, checksums: true });
      expect(await isMarked()).toBe(false);
      await examineAll({ checksums: true });
      expect(await isMarked()).toBe(true);
      // Its size is right; only its bytes could show that it is whole.
      await examineAll();
      expect(await isMarked()).toBe(true);
      await flipByte(transcript.object_key);
      await examineAll({ checksums: true });
      expect(await isMarked()).toBe(false);
      await rm(pathOf(transcript.object_key));
      await examineAll();
      expect(await isMarked()).toBe(true);
      expect((await installation.receive(text)).rawObject).toBe('healed');
      expect(await isMarked()).toBe(false);
    });
  });

  describe('an interrupted deletion', () => {
    const isAway: RawStore['delete'] = async () => {
      throw new RawStoreError('unavailable', 'The store is away');
    };

    it('is completed, and its objects do not come back as orphans', async () => {
      const { transcript } = await installation.receive(toTranscript('deleted', 6));
      await installation.work();
      const deps = { ...installation, rawStore: { ...installation.rawStore, delete: isAway } };
      expect(await deleteSession(deps, TEST_WORKSPACE, 'deleted')).toBe(true);
      expect(await installation.find(transcript.id)).toBeUndefined();
      expect(await installation.listObjectKeys()).toEqual([transcript.object_key]);

      // Too young to be deleted, but recorded. It is not received again.
      const later = { nowMs: Date.now(), minAgeMs: 3_600_000 };
      const longAgo = new Date(Date.now() - 7_200_000);
      await utimes(pathOf(transcript.object_key), longAgo, longAgo);
      expect(await examineAll(later)).toEqual([]);
      expect(await installation.listObjectKeys()).toEqual([transcript.object_key]);

      const finding = { kind: 'unfinished-deletion', objectKey: transcript.object_key };
      expect(await examineAll({ fix: false })).toEqual([{ ...finding, fixed: false }]);
      expect(await examineAll()).toEqual([{ ...finding, fixed: true }]);
      expect(await installation.listObjectKeys()).toEqual([]);
      expect(await examineAll()).toEqual([]);
      expect(await installation.listJobs()).toEqual([]);
    });

    it('spares an object that a row names again', async () => {
      const { transcript } = await installation.receive(toTranscript('again', 6));
      await installation.work();
      await installation.database.pool.query('INSERT INTO recount.raw_object_deletions VALUES ($1, $2)', [
        TEST_WORKSPACE,
        transcript.object_key,
      ]);
      await examineAll();
      expect(await installation.listObjectKeys()).toEqual([transcript.object_key]);
      expect(await examineAll({ checksums: true })).toEqual([]);
    });
  });
});
