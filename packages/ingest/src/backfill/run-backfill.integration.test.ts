import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { type BackfillOptions, type BackfillReport, runBackfill } from '@recount/collect';
import { findSession, listSessions, listTranscripts } from '@recount/db';
import { RawStoreError } from '@recount/storage';
import { readSources } from '@recount/storage/sources';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runDoctor } from '../consistency/run-doctor.ts';
import {
  createTestInstallation,
  TEST_WORKSPACE,
  type TestInstallation,
  toLine,
  toTranscript,
} from '../testing/test-installation.ts';
import { createDirectTarget } from './direct-target.ts';

let installation: TestInstallation;
let folder: string;
beforeEach(async () => {
  installation = await createTestInstallation();
  folder = await mkdtemp(join(tmpdir(), 'recount-backfill-'));
});
afterEach(async () => {
  await installation.close();
  await rm(folder, { recursive: true });
});

async function write(files: Record<string, string | Buffer>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

const toSessionId = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const toSession = (number: number, lineCount = 4): string => toTranscript(toSessionId(number), lineCount);

/** Backfills the folder while a worker ingests and indexes, which a backfill waits for. */
async function backfill(options: BackfillOptions = {}): Promise<BackfillReport> {
  const target = createDirectTarget(installation, { workspaceId: TEST_WORKSPACE });
  const run = runBackfill({ target }, readSources([folder]), {
    pollIntervalMs: 5,
    retryPolicy: { maxAttempts: 2, firstMs: 1, longestMs: 1, maxBusyMs: 1000 },
    ...options,
  });
  let isOver = false;
  const working = (async () => {
    while (!isOver) {
      await installation.work();
      await sleep(5);
    }
  })();
  try {
    return await run;
  } finally {
    isOver = true;
    await working;
  }
}

async function readTable(): Promise<unknown[]> {
  const { rows } = await listSessions(
    installation.database.database,
    TEST_WORKSPACE,
    {},
    { sort: 'last_timestamp', order: 'asc', limit: 1000 },
  );
  return rows.map(({ session_id, total_messages, tokens_out, transcript_count }) => ({
    session_id,
    total_messages,
    tokens_out,
    transcript_count,
  }));
}

describe('a backfill into store and database', () => {
  it('ingests folders, compressed files and archives, and adds nothing when run again', async () => {
    await write({
      [`projects/-p/${toSessionId(1)}.jsonl`]: toSession(1),
      [`projects/-p/${toSessionId(1)}/subagents/agent-abc.jsonl`]: toTranscript(toSessionId(1), 2),
      [`projects/-p/${toSessionId(2)}.jsonl.gz`]: gzipSync(toSession(2)),
      [`projects/-q/${toSessionId(3)}.jsonl.zst`]: zstdCompressSync(toSession(3)),
      [`packed/${toSessionId(4)}.jsonl`]: toSession(4),
      [`packed/${toSessionId(4)}/subagents/agent-def.jsonl`]: toTranscript(toSessionId(4), 2),
      'packed/notes.txt': 'no transcript',
    });
    execFileSync('tar', ['-C', join(folder, 'packed'), '-czf', join(folder, 'archive.tar.gz'), '.']);
    await rm(join(folder, 'packed'), { recursive: true });
    const first = await backfill();
    expect(first).toMatchObject({ found: 6, ingested: 6, skipped: 1, failed: 0, queued: 0, isInterrupted: false });
    const { database } = installation.database;
    expect(await findSession(database, TEST_WORKSPACE, `${toSessionId(4)}:def`)).toMatchObject({
      is_subagent: true,
      parent_session_id: toSessionId(4),
    });
    const table = await readTable();
    expect(table).toHaveLength(6);
    const objects = await installation.listObjectKeys();
    expect(objects).toHaveLength(6);

    const second = await backfill();
    expect(second).toMatchObject({ found: 6, ingested: 0, alreadyThere: 6, skipped: 1, failed: 0 });
    expect(await readTable()).toEqual(table);
    expect(await installation.listObjectKeys()).toEqual(objects);
  });

  it('stores a session once, whatever versions of it exist', async () => {
    const text = toSession(1, 20);
    const lines = text.split('\n');
    await write({
      [`a/${toSessionId(1)}.jsonl`]: `${lines.slice(0, 5).join('\n')}\n`,
      [`b/${toSessionId(1)}.jsonl`]: text,
      [`c/${toSessionId(1)}.jsonl`]: `${lines.slice(0, 11).join('\n')}\n`,
      [`d/${toSessionId(1)}.jsonl`]: text,
      [`e/${toSessionId(1)}.jsonl`]: `${lines.slice(0, 5).join('\n')}\n${toLine(toSessionId(1), 90)}`,
    });
    expect(await backfill()).toMatchObject({ found: 5, ingested: 2, superseded: 2, alreadyThere: 1 });
    expect(await backfill()).toMatchObject({ found: 5, ingested: 0, superseded: 0, alreadyThere: 5 });
    expect(await readTable()).toMatchObject([{ total_messages: 20, transcript_count: 2 }]);
  });

  it('continues after an interruption', async () => {
    // More than a group in progress can take.
    const count = 200;
    for (let number = 1; number <= count; number += 1)
      await write({ [`${toSessionId(number)}.jsonl`]: toSession(number) });
    const interruption = new AbortController();
    const target = createDirectTarget(installation, { workspaceId: TEST_WORKSPACE });
    const { signal } = interruption;
    const interrupted = await runBackfill(
      { target, onEvent: (_event, { queued }) => queued === 10 && interruption.abort() },
      readSources([folder], { signal }),
      { signal },
    );
    expect(interrupted).toMatchObject({ isInterrupted: true, ingested: 0, failed: 0 });
    expect(interrupted.queued).toBeGreaterThanOrEqual(10);
    expect(interrupted.queued).toBeLessThan(count);
    const rest = await backfill();
    expect(rest).toMatchObject({ isInterrupted: false, found: count, failed: 0 });
    expect(rest.ingested + rest.alreadyThere).toBe(count);
    expect(rest.alreadyThere).toBeGreaterThanOrEqual(interrupted.queued);
    expect(await readTable()).toHaveLength(count);
    expect(await installation.listObjectKeys()).toHaveLength(count);
  });

  it('tells other formats from broken files, and stores nothing from them', async () => {
    const whole = gzipSync(Buffer.from(toSession(1, 2000)));
    await write({
      'data.jsonl': '{"rows":[1,2,3]}\n',
      'empty.jsonl': '',
      'cut.jsonl.gz': whole.subarray(0, whole.length / 2),
      'cut.zip': Buffer.from('PK\x03\x04 and no more'),
      'good.jsonl': toSession(2),
    });
    const report = await backfill();
    expect(report).toMatchObject({
      found: 3,
      ingested: 1,
      failed: 2,
      skippedByReason: { 'unknown-format': 1, empty: 1 },
    });
    expect(report.failures.map(({ location }) => location).sort()).toEqual([
      join(folder, 'cut.jsonl.gz'),
      join(folder, 'cut.zip'),
    ]);
    expect(await installation.listObjectKeys()).toHaveLength(1);
  });

  it('stores the same bytes once, however many deliver them concurrently', async () => {
    for (let number = 0; number < 30; number += 1)
      await write({ [`copy-${number}/${toSessionId(1)}.jsonl`]: toSession(1) });
    const report = await backfill({ concurrency: 16 });
    expect(report).toMatchObject({ found: 30, ingested: 1, alreadyThere: 29, failed: 0 });
    expect(await installation.listObjectKeys()).toHaveLength(1);
  });

  it('delivers long transcripts unchanged, from archives and compressed files too', async () => {
    const toLongSession = (number: number): string =>
      toSession(number, 20).replaceAll(/"(prompt|answer) /g, `"${'words '.repeat(100_000)}`);
    const long = toLongSession(1);
    expect(long.length).toBeGreaterThan(8 * 1024 * 1024);
    await write({ [`packed/${toSessionId(1)}.jsonl`]: long, [`packed/${toSessionId(2)}.jsonl`]: toSession(2) });
    execFileSync('tar', ['-C', join(folder, 'packed'), '-cf', join(folder, 'archive.tar'), '.']);
    await rm(join(folder, 'packed'), { recursive: true });
    await write({ [`${toSessionId(3)}.jsonl.gz`]: gzipSync(toLongSession(3)) });
    const report = await backfill();
    expect(report).toMatchObject({ found: 3, ingested: 3, failed: 0 });
    const sha256 = createHash('sha256').update(long).digest('hex');
    const { rows } = await installation.database.pool.query('SELECT 1 FROM recount.transcripts WHERE sha256 = $1', [
      sha256,
    ]);
    expect(rows).toHaveLength(1);
    expect(await backfill()).toMatchObject({ found: 3, ingested: 0, alreadyThere: 3 });
    expect(await installation.listObjectKeys()).toHaveLength(3);
  });

  it('reads nothing but hashes in a dry run', async () => {
    await write({ [`${toSessionId(1)}.jsonl`]: toSession(1) });
    await backfill();
    await write({ [`${toSessionId(2)}.jsonl`]: toSession(2) });
    expect(await backfill({ isDryRun: true })).toMatchObject({ found: 2, new: 1, alreadyThere: 1 });
    expect(await installation.listObjectKeys()).toHaveLength(1);
  });

  it('retries a store that fails briefly, and reports one that refuses', async () => {
    for (let number = 1; number <= 3; number += 1) await write({ [`${toSessionId(number)}.jsonl`]: toSession(number) });
    const { rawStore } = installation;
    const put = rawStore.put;
    let failures = 1;
    rawStore.put = async (...request) => {
      if (failures-- > 0) throw new RawStoreError('out-of-space', 'The disk is full');
      return put(...request);
    };
    expect(await backfill()).toMatchObject({ found: 3, ingested: 3, failed: 0 });
    await write({ [`${toSessionId(4)}.jsonl`]: toSession(4) });
    failures = 99;
    const report = await backfill();
    expect(report).toMatchObject({ found: 4, alreadyThere: 3, failed: 1 });
    expect(report.failures[0]?.reason).toContain('The disk is full');
  });

  it('shows transcripts that a worker has given up as failed, also in the next run', async () => {
    await write({ [`${toSessionId(1)}.jsonl`]: toSession(1) });
    const { pool } = installation.database;
    await backfill({ waitsForIngestion: false });
    await pool.query("UPDATE recount.transcripts SET status = 'failed', failure_reason = 'Error: too many rows'");
    expect(await backfill()).toMatchObject({ found: 1, failed: 1, failures: [{ reason: 'Error: too many rows' }] });
  });
});

it('uploads what the doctor found damaged again, and says so', async () => {
  await write({ 'one.jsonl': toSession(1), 'two.jsonl': toSession(2) });
  expect(await backfill()).toMatchObject({ found: 2, ingested: 2, healed: 0 });
  const [damaged] = await listTranscripts(installation.database.database, TEST_WORKSPACE, {}, { limit: 2 });
  const path = join(installation.storeDirectory, damaged?.object_key ?? '');
  await writeFile(path, (await readFile(path, 'utf8')).replace('prompt', 'Prompt'));
  const examine = async (): Promise<string[]> => {
    const kinds: string[] = [];
    const options = { fix: true, checksums: true, nowMs: Date.now() + 1000, minAgeMs: 0 };
    for await (const { kind } of runDoctor(installation, options)) if (kind !== 'search-behind') kinds.push(kind);
    return kinds;
  };
  // Only the bytes' hash is available; the object has not been checked yet.
  expect(await backfill()).toMatchObject({ found: 2, alreadyThere: 2, healed: 0 });
  expect(await examine()).toEqual(['wrong-content']);
  expect(await backfill()).toMatchObject({ found: 2, alreadyThere: 1, healed: 1, queued: 0 });
  expect(await examine()).toEqual([]);
  expect(await backfill()).toMatchObject({ found: 2, alreadyThere: 2, healed: 0 });
});
