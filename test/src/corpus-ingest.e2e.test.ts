import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startLocalPostgres } from '@recount/local-postgres';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';
import { countTranscript } from './independent-count.ts';

const CLI = fileURLToPath(new URL('../../apps/cli/bin/recount.mjs', import.meta.url));
const FIGURES = [
  'responses',
  'tokens_in',
  'tokens_out',
  'cache_read',
  'cache_write',
  'cache_write_1h',
  'web_search_requests',
  'cost_usd',
];
const corpus = findCorpus();
let directory: string;
/** The actual place of the cluster. For root, not below a folder of mkdtemp. */
let postgresDirectory: string | undefined;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-corpus-e2e-'));
});
afterAll(async () => {
  for (const path of [directory, postgresDirectory]) if (path) await rm(path, { recursive: true, force: true });
});

async function runUp(path: string): Promise<string> {
  const env = { ...process.env, RECOUNT_DATA_DIR: join(directory, 'data'), RECOUNT_PORT: '0' };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, 'up', '--exit', path], { env });
  return stdout + stderr;
}

function countIn(output: string, label: string): number {
  const match = new RegExp(`^\\s*${label}\\s+([\\d,]+)$`, 'm').exec(output);
  if (match === null) throw new Error(`No line "${label}" in:\n${output}`);
  return Number(match[1]?.replaceAll(',', ''));
}

async function withDatabase<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const postgres = await startLocalPostgres({ directory: join(directory, 'data', 'postgres') });
  postgresDirectory = postgres.directory;
  const client = new pg.Client({ connectionString: postgres.connectionString });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
    await postgres.stop();
  }
}

/**
 * The ledger equals `recount usage` on the same transcripts without a database, group by group, to the token and the
 * cent.
 */
async function expectSameUsage(): Promise<void> {
  const folder = join(directory, 'unpacked');
  for (const archive of (await readdir(corpus ?? '')).filter((name) => name.endsWith('.tar.gz'))) {
    const target = join(folder, archive.replace('.tar.gz', ''));
    await mkdir(target, { recursive: true });
    await promisify(execFile)('tar', ['-xzf', join(corpus ?? '', archive), '-C', target]);
  }
  const groups = ['day', 'agent', 'model', 'session', 'git_branch'];
  const usage = ['usage', '--no-cache', '--json', '--time-zone', 'UTC', '--group-by', groups.join()];
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...usage, folder], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const { rows } = JSON.parse(stdout) as { rows: (Record<string, unknown> & { own: Record<string, unknown> })[] };
  const counted = rows
    .filter(({ own }) => own.responses !== 0)
    .map(({ own, ...row }) => ({
      ...Object.fromEntries(groups.map((key) => [key, row[key]])),
      ...Object.fromEntries(FIGURES.map((figure) => [figure, own[figure]])),
      unfinalised: (own.unfinalised as { responses: number }).responses,
    }));
  const stored = await withDatabase(async (client) => {
    const { rows } = await client.query(
      `SELECT to_char(timestamp AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, agent, model, session_id AS session, git_branch,
         count(*)::int AS responses, sum(tokens_in)::float8 AS tokens_in, sum(tokens_out)::float8 AS tokens_out,
         sum(cache_read)::float8 AS cache_read, sum(cache_write)::float8 AS cache_write,
         sum(cache_write_1h)::float8 AS cache_write_1h, sum(web_search_requests)::float8 AS web_search_requests,
         sum(cost_usd)::float8 AS cost_usd, (count(*) FILTER (WHERE is_unfinalised))::int AS unfinalised
       FROM recount.usage_ledger GROUP BY 1, 2, 3, 4, 5`,
    );
    return rows;
  });
  const toName = (row: Record<string, unknown>): string => JSON.stringify(groups.map((key) => row[key]));
  const sorted = (list: Record<string, unknown>[]) => list.sort((one, other) => (toName(one) < toName(other) ? -1 : 1));
  expect(sorted(counted)).toEqual(sorted(stored));
}

describe.skipIf(corpus === undefined)('`recount up` with the corpus of real transcripts', () => {
  it('ingests every Claude Code transcript as an independent count finds it, and nothing the second time', async () => {
    const manifest = (await readFile(join(corpus ?? '', 'MANIFEST.tsv'), 'utf8')).trimEnd().split(/\r?\n/).slice(1);
    const listOf = (format: string) =>
      manifest.map((line) => line.split('\t')).filter(([, , written]) => written === format);
    const claudeCode = [...listOf('claude-code'), ...listOf('claude-stream-json')];

    const first = await runUp(corpus ?? '');
    const found = countIn(first, 'Transcripts found');
    expect(found).toBeGreaterThanOrEqual(claudeCode.length + listOf('codex-rollout').length);
    expect(countIn(first, 'failed')).toBe(0);

    await withDatabase(async (client) => {
      const { rows } = await client.query(
        `SELECT object_key, sha256, status, format, total_messages, user_messages, assistant_messages, content_block_count,
                tool_use_count, thinking_blocks, subagent_count, coalesce(tokens_in, 0)::float8 AS tokens_in,
                coalesce(tokens_out, 0)::float8 AS tokens_out,
                coalesce(cache_read, 0)::float8 AS cache_read, coalesce(cache_write, 0)::float8 AS cache_write,
                first_timestamp, last_timestamp,
                (SELECT count(*)::int FROM recount.transcript_messages m WHERE m.workspace_id = t.workspace_id AND m.row_set_id = t.row_set_id) AS message_rows,
                (SELECT count(*)::int FROM recount.content_blocks b WHERE b.workspace_id = t.workspace_id AND b.row_set_id = t.row_set_id) AS block_rows,
                (SELECT coalesce(sum(tokens_out), 0)::float8 FROM recount.transcript_messages m
                 WHERE m.row_set_id = t.row_set_id) AS tokens_out_of_rows
         FROM recount.transcripts t WHERE agent = 'claude-code' ORDER BY id`,
      );
      const hashes = new Set(rows.map(({ sha256 }) => sha256));
      expect(claudeCode.filter((fields) => !hashes.has(fields[10]))).toEqual([]);
      for (const row of rows) {
        const bytes = await readFile(join(directory, 'data', 'raw', row.object_key));
        expect(createHash('sha256').update(bytes).digest('hex')).toBe(row.sha256);
        if (row.status === 'superseded') {
          expect(row).toMatchObject({ total_messages: 0, message_rows: 0, block_rows: 0 });
          continue;
        }
        expect(row.status).toBe('ingested');
        // The independent count covers session files; streams are compared with their live figures elsewhere.
        if (row.format === 'claude-stream-json') continue;
        const count = countTranscript(bytes);
        expect(row).toMatchObject({
          status: 'ingested',
          total_messages: count.messages,
          message_rows: count.messages,
          user_messages: count.userMessages,
          assistant_messages: count.assistantMessages,
          content_block_count: count.contentBlocks,
          block_rows: count.contentBlocks,
          tool_use_count: count.toolUses,
          thinking_blocks: count.thinkingBlocks,
          subagent_count: count.subagents,
          tokens_in: count.tokensIn,
          tokens_out: count.tokensOut,
          tokens_out_of_rows: count.tokensOutOfMessages,
          cache_read: count.cacheRead,
          cache_write: count.cacheWrite,
        });
      }
    });

    await expectSameUsage();

    const second = await runUp(corpus ?? '');
    expect(countIn(second, 'ingested')).toBe(0);
    expect(countIn(second, 'already there')).toBe(found);
  });
});
