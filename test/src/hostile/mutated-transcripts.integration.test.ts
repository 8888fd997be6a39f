import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runBackfill } from '@recount/collect';
import { verifyUsage } from '@recount/db';
import { createDirectTarget, ReceiveError } from '@recount/ingest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '@recount/ingest/testing';
import { readSources } from '@recount/storage/sources';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCorpus } from '../corpus.ts';
import { createRandom, type Random } from '../random.ts';
import { inTemporaryFolder } from './check-archives.ts';
import { createLineMutator } from './mutate-lines.ts';
import { readSeedLines } from './seed-lines.ts';
import { toBombs, writeChunks } from './write-archives.ts';

const TRANSCRIPTS = 60;
const MAX_LINES = 60;

let installation: TestInstallation;

beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

/** Ingests what was received: `work` throws if a transcript fails. */
async function expectAllIngested(): Promise<void> {
  await installation.work();
  const { rows } = await installation.database.pool.query<{ status: string; count: number }>(
    'SELECT status, count(*)::int AS count FROM recount.transcripts GROUP BY status',
  );
  expect(rows.filter(({ status }) => status !== 'ingested' && status !== 'superseded')).toEqual([]);
  const { rows: waiting } = await installation.database.pool.query('SELECT session_id FROM recount.search_waiting');
  expect(waiting).toEqual([]);
  const checks = await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE));
  expect(checks.filter(({ missing, surplus }) => missing + surplus > 0)).toEqual([]);
  expect(checks.find(({ table }) => table === 'usage_ledger')?.rows).toBeGreaterThan(0);
}

describe('mutated transcripts', () => {
  it('are all ingested and indexed, and their usage adds up', async () => {
    const seeds = await readSeedLines(findCorpus(), { maxArchiveBytes: 100_000, maxBytes: 4_000_000 });
    const random = createRandom(11);
    const nextLine = createLineMutator(seeds, random);
    let refused = 0;
    for (let index = 0; index < TRANSCRIPTS; index += 1) {
      const lines = Array.from({ length: random.integer(1, MAX_LINES) }, () => Buffer.concat([nextLine(), LINE_FEED]));
      // Some sessions get several versions.
      const sessionId = `mutated-${index % 50}`;
      try {
        await installation.receive(Buffer.concat(lines), { sessionId });
      } catch (error) {
        if (!(error instanceof ReceiveError)) throw error;
        refused += 1;
      }
    }
    expect(refused).toBeLessThan(TRANSCRIPTS / 2);
    await expectAllIngested();
  });

  it('are ingested with the largest figures and the longest names that the parser permits', async () => {
    const random = createRandom(12);
    const name = (): string => toRandomText(random, 512);
    const usage = {
      input_tokens: 1e8,
      output_tokens: 1e8,
      cache_read_input_tokens: 1e8,
      cache_creation_input_tokens: 1e8,
      cache_creation: { ephemeral_1h_input_tokens: 1e8 },
      server_tool_use: { web_search_requests: 1e9, web_fetch_requests: 1e9 },
    };
    const toRecord = (index: number) => {
      const timestamp = index % 2 === 0 ? '2026-01-01T00:00:00.000Z' : '9999-12-31T23:59:59.999Z';
      const [id, tool] = [index % 3 === 0 ? name().slice(0, 19) : name(), name()];
      const envelope = {
        uuid: name(),
        requestId: name(),
        sessionId: name(),
        cwd: name(),
        gitBranch: name(),
        version: name(),
      };
      const iterations = Array.from({ length: 16 }, () => ({ type: 'advisor_message', model: name(), ...usage }));
      const content = [
        { type: 'tool_use', id: tool, name: index % 2 === 0 ? name() : 'WebSearch', input: { [name()]: name() } },
        { type: name(), text: name().repeat(50) },
      ];
      const message = { id, model: name(), content, stop_reason: name(), usage: { ...usage, iterations } };
      const result = { type: 'tool_result', tool_use_id: tool, content: name() };
      return [
        { type: 'assistant', timestamp, costUSD: 1e5, agentId: name(), ...envelope, message },
        { type: 'user', timestamp, toolUseResult: { searchCount: 1000 }, message: { content: [result] }, ...envelope },
        { type: 'system', subtype: 'api_retry', error: { status: name() }, retryInMs: 1e308, ...envelope },
        { type: 'pr-link', prUrl: name(), prRepository: name(), prNumber: 2 ** 53 - 1 },
        { type: 'custom-title', customTitle: name() },
      ];
    };
    const lines = Array.from({ length: 20 }, (_, index) => toRecord(index))
      .flat()
      .map((record) => `${JSON.stringify(record)}\n`);
    await installation.receive(lines.join(''), { sessionId: toRandomText(random, 512) });
    await installation.receive(lines.join(''), {
      path: `/p/${toRandomText(random, 4000)}.jsonl`,
      sessionId: 'long-path',
    });
    await expectAllIngested();
  });
});

describe('a backfill of bombs', () => {
  it('fails or skips each with its reason and keeps nothing', async () => {
    const before = await installation.listObjectKeys();
    await inTemporaryFolder(async (folder) => {
      const bombs = toBombs(512 * 1024 ** 2);
      for (const [name, toChunks] of Object.entries(bombs)) await writeChunks(join(folder, name), toChunks());
      const target = createDirectTarget(installation, { workspaceId: TEST_WORKSPACE });
      const report = await runBackfill({ target }, readSources([folder]), { waitsForIngestion: false });
      expect(report).toMatchObject({ ingested: 0, queued: 0, skippedByReason: { binary: 4, 'not-a-transcript': 1 } });
      const failed = new Set(report.failures.map(({ location }) => location.slice(folder.length + 1).split('!')[0]));
      // The others begin with zeros, so they are skipped as binary, undecoded.
      expect([...failed].sort()).toEqual(['bomb.tar.gz', 'bomb.tar.zst', 'honest.zip', 'lying.zip']);
      for (const { reason } of report.failures)
        expect(reason).toMatch(/decodes to more than|longer than it says|larger than \d+ bytes/);
      expect((await readdir(folder)).sort()).toEqual(Object.keys(bombs).sort());
    });
    expect(await installation.listObjectKeys()).toEqual(before);
  });
});

const LINE_FEED = Buffer.from('\n');

/** Incompressible text with three bytes for each character, which is the hardest for an index. */
function toRandomText(random: Random, length: number): string {
  return Array.from({ length }, () => String.fromCharCode(random.integer(0x4e00, 0x9fff))).join('');
}
