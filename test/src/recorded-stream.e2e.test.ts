import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase } from '@recount/local-postgres/testing';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Recount, startRecount, waitUntil } from './live-run/run-recount.ts';

let home: string;
const running: Recount[] = [];
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-recorded-stream-'));
});
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGTERM');
    await ended;
  }
  await rm(home, { recursive: true, force: true });
});

function start(commandArguments: readonly string[], environment: Record<string, string> = {}): Recount {
  const recount = startRecount(home, commandArguments, { RECOUNT_DATA_DIR: join(home, 'data'), ...environment });
  running.push(recount);
  return recount;
}

/** Output of `claude -p --output-format stream-json`, in a file in a separate folder. */
async function writeStream(sessionId: string): Promise<string> {
  const message = { id: `msg_01RecordedStreamOf${sessionId}`, role: 'assistant', model: 'claude-sonnet-4-5' };
  const content = [{ type: 'text', text: 'hello' }];
  const usage = { input_tokens: 3, output_tokens: 7 };
  const lines = [
    { type: 'system', subtype: 'init', session_id: sessionId, tools: [] },
    { type: 'assistant', session_id: sessionId, message: { ...message, content, usage } },
    { type: 'result', subtype: 'success', session_id: sessionId, total_cost_usd: 0.5 },
  ];
  await mkdir(join(home, sessionId));
  const path = join(home, sessionId, 'stream.jsonl');
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
}

describe('a recorded stream', () => {
  it('is read by `recount parse`', async () => {
    const { exitCode, stdout } = await start(['parse', await writeStream('parsed')]).ended;
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ stats: { tokens_in: 3, tokens_out: 7, total_messages: 1 }, errors: [] });
  });

  it('is accepted by upload and backfill, and by a backfill without the API', async () => {
    const up = start(['up', '--port', '0', await writeStream('at-start')]);
    await waitUntil(() => /Ctrl-C stops it/.test(up.stdout() + up.stderr()), 'recount is up');
    expect(await start(['upload', await writeStream('uploaded')]).ended).toMatchObject({ exitCode: 0 });
    const backfill = await start(['backfill', join(await writeStream('backfilled'), '..')]).ended;
    expect(backfill).toMatchObject({ exitCode: 0 });
    expect(backfill.stdout).not.toContain('not yet known');
    const output = up.stdout();
    const [, url = ''] = /^URL +(\S+)$/m.exec(output) ?? [];
    const [, key = ''] = /^API key +(\S+)$/m.exec(output) ?? [];
    const sessions = ['at-start', 'uploaded', 'backfilled'];
    const read = async (id: string): Promise<unknown> =>
      (await fetch(`${url}/v1/sessions/${id}`, { headers: { authorization: `Bearer ${key}` } })).json();
    await waitUntil(async () => {
      const figures = (await Promise.all(sessions.map(read))) as { tokens_out?: number }[];
      return figures.every(({ tokens_out }) => tokens_out === 7);
    }, 'every session is ingested');
  });

  it('is accepted by `recount backfill --direct`', async () => {
    const postgres = await createTestDatabase();
    const client = new pg.Client({ connectionString: postgres.connectionString });
    try {
      const environment = { DATABASE_URL: postgres.connectionString, RECOUNT_RAW_STORE: join(home, 'raw') };
      expect(await start(['migrate'], environment).ended).toMatchObject({ exitCode: 0 });
      // The backfill ends when what it stored is ingested.
      const worker = start(['worker'], environment);
      const folder = join(await writeStream('direct'), '..');
      expect(await start(['backfill', '--direct', folder], environment).ended).toMatchObject({ exitCode: 0 });
      worker.child.kill('SIGTERM');
      await worker.ended;
      await client.connect();
      const { rows } = await client.query('SELECT session_id, format, status FROM recount.transcripts');
      expect(rows).toEqual([{ session_id: 'direct', format: 'claude-stream-json', status: 'ingested' }]);
    } finally {
      await client.end();
      await postgres.drop();
    }
  });
});
