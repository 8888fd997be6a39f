import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let directory: string;

beforeAll(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), 'recount-reading-'));
});
afterAll(async () => {
  await database.drop();
  await rm(directory, { recursive: true });
});

/** With only a database, with no server, no key. */
async function run(...commandArguments: string[]): Promise<{ exitCode: number; out: string; err: string }> {
  const environment = { DATABASE_URL: database.connectionString, RECOUNT_DATA_DIR: join(directory, 'none') };
  const context = createFakeContext({ environment, workingDirectory: directory });
  const exitCode = await runCommandLine(context, commandArguments);
  return { exitCode, out: context.out(), err: context.err() };
}

describe('with DATABASE_URL alone', () => {
  it('reports', async () => {
    const { exitCode, out } = await run('report', 'daily', '--json', '--tz', 'Asia/Kathmandu', '--from', '2026-03-29');
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      filters: { from: '2026-03-28T18:15:00.000Z', time_zone: 'Asia/Kathmandu', group_by: ['day'] },
      rows: [],
      totals: { own: { responses: 0 } },
    });
    expect(await run('report', 'daily', '--from', 'someday')).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('from: Must be a date'),
    });
    expect(await run('report', 'daily', '--workspace', 'elsewhere')).toMatchObject({ exitCode: 1 });
  });

  it('exports', async () => {
    expect((await run('export', 'usage')).out).toMatch(/^response_id,agent,.*\r\n$/);
    expect(await run('export', 'sessions', '--format', 'parquet', '-o', 'sessions.parquet')).toMatchObject({
      exitCode: 0,
    });
    expect((await readFile(join(directory, 'sessions.parquet'))).subarray(0, 4).toString()).toBe('PAR1');
    expect(await run('export', 'usage', '--from', 'someday')).toMatchObject({
      exitCode: 2,
      err: expect.stringContaining('from: Must be a date'),
    });
  });

  it('sets, shows and removes prices', async () => {
    const price = { model: 'house-*', startsAt: '2026-01-01', inputUsdPerMillion: 1.5, outputUsdPerMillion: 6 };
    await writeFile(join(directory, 'prices.json'), JSON.stringify([price, { ...price, model: 'other' }]));
    expect(await run('prices', 'check', 'prices.json')).toMatchObject({
      exitCode: 0,
      err: 'prices.json: 2 valid prices.\n',
    });
    expect(await run('prices', 'set', 'prices.json', '--currency', 'EUR')).toMatchObject({ exitCode: 0 });
    const { out } = await run('prices', 'list');
    expect(out).toMatch(/^Costs are called EUR\. Price version: .*\+[0-9a-f]{12}\n/);
    expect(out).toMatch(/house-\* +2026-01-01 +1\.50 +6\.00 +0\.15 +1\.875 +3\.00/);
    expect((await run('prices', 'list', '--all')).out).toMatch(
      /claude-opus-4-5 .* 5\.00 +25\.00 +0\.50 +6\.25 +10\.00/,
    );
    expect(await run('prices', 'unset', 'nobody')).toMatchObject({ exitCode: 1 });
    expect(await run('prices', 'unset', 'other')).toMatchObject({
      exitCode: 0,
      err: expect.stringMatching(/^1 removed, 1 left/),
    });
    expect(JSON.parse((await run('prices', 'list', '--json')).out)).toMatchObject({
      currency_label: 'EUR',
      overrides: [{ ...price, startsAt: '2026-01-01T00:00:00.000Z' }],
    });
    expect(await run('prices', 'unset', '--all')).toMatchObject({ exitCode: 0 });
    expect((await run('prices', 'list')).out).toContain('The workspace has no custom prices.');
  });

  it.each([
    'people list',
    'people unattributed',
    'people teams',
    'plan list',
    'budget list',
    'bill list',
    'digest list',
    'findings list',
    'repositories list',
    'alerts list',
    'keys list',
    'audit',
  ])('lists what a new workspace has: recount %s', async (command) => {
    expect(await run(...command.split(' '))).toMatchObject({ exitCode: 0 });
  });

  it('reports what is wrong with a file of prices, and sets no price', async () => {
    await writeFile(join(directory, 'wrong.json'), '[{"model":"a","inputUsdPerMillion":1}]');
    await writeFile(join(directory, 'broken.json'), '[{');
    expect(await run('prices', 'set', 'wrong.json')).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('[0].outputUsdPerMillion is missing'),
    });
    expect(await run('prices', 'check', 'broken.json')).toMatchObject({
      exitCode: 1,
      err: 'recount: broken.json is not JSON.\n',
    });
    expect(await run('prices', 'check', 'absent.json')).toMatchObject({ exitCode: 1 });
    expect(await run('prices', 'set')).toMatchObject({ exitCode: 2 });
    expect(await run('prices', 'unset')).toMatchObject({ exitCode: 2 });
  });
});
