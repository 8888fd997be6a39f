import { execFile, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify, stripVTControlCharacters } from 'node:util';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROJECT_DIRECTORY } from './terminal/cli-context.ts';
import { createTypedCommands, type TypedCommands } from './testing/typed-commands.ts';

const BILLING = '/home/maya/code/billing-service';
const WEBHOOKS = '5dd9f6f5-700b-4247-91dd-e1af3b04230e';

let api: TestApi;
let type: TypedCommands['type'];
let read: TypedCommands['read'];

beforeAll(async () => {
  api = await createTestApi();
  ({ type, read } = createTypedCommands(api));
  await read('upload', 'samples/claude-projects');
  await api.work();
});
afterAll(() => api.close());

// In this order, as a newcomer would go. What one step sets, a later one shows.
describe('the first hour', { shuffle: false }, () => {
  it('answers what was spent, by project', async () => {
    const out = await read('report', 'usage', '--in', '2026-07', '--by', 'project', '--utc');
    expect(out).toMatch(/from 2026-07-01 before 2026-08-01/);
    expect(out).toMatch(/^billing-service .*\$0\.34/m);
    expect(out).not.toContain('harbor-docs');
    expect(await read('report', 'week', '--by', 'project', '--project', 'billing-service')).toContain('2026-06-29');
    expect(await read('report', '--project', 'harbor')).toContain('/harbor-docs');
  });

  it('answers which session cost most, and why', async () => {
    const mostExpensive = (await read('sessions', '--sort', 'cost', '--limit', '1')).split('\n')[1] ?? '';
    expect(mostExpensive).toMatch(/^eee65f53 .*\$0\.3256/);
    const why = await read('why', 'eee65f53');
    expect(why).toContain('Cost $0.3256');
    expect(why).toMatch(/cache read +claude-[a-z0-9-]+ +298,994 +[\d.]+ +\$0\.\d{4}/);
    expect(why).toMatch(/MOST EXPENSIVE TURNS/);
    const { parts, other_cost_usd } = JSON.parse(await read('why', 'eee65f53', '--json')) as {
      parts: { cost_usd: number }[];
      other_cost_usd: number;
    };
    expect(parts.reduce((sum, { cost_usd }) => sum + cost_usd, other_cost_usd)).toBeCloseTo(0.3256, 4);
  });

  it('finds where something was fixed, and reads it', async () => {
    const found = await read('search', 'webhook', 'random', '--project', 'billing');
    const [, id = '', line = ''] = /recount show (\S+) --line (\d+)/.exec(found) ?? [];
    expect(id).toBe(WEBHOOKS);
    expect(await read('show', id, '--line', line)).toContain('where it comes from changes');
    const whole = await read('show', '5dd9');
    expect(whole).toContain('test/webhooks/deliver.test.ts fails on CI');
    expect(whole).toMatch(/● Read {2}test\/webhooks\/deliver\.test\.ts/);
    expect(await read('show', 'eee65f53')).toContain('    Sub-agent a7d31c0f4be2');
    expect(await read('show', '5dd9', '--markdown')).toMatch(/^# Make webhook/);
    const raw = (await read('show', '5dd9', '--raw')).trimEnd().split('\n');
    expect((await read('show', '5dd9', '--raw', '--line', '2')).trimEnd()).toBe(raw[1]);
  });

  it('runs the commands of the README, each with output', async () => {
    const readme = await readFile(`${PROJECT_DIRECTORY}/README.md`, 'utf8');
    const file = /FILE=(\S+)/.exec(readme)?.[1] ?? '';
    const lines = [
      ...readme.matchAll(
        /^ {4}\.\/recount ((?:sessions|show|why|report|search|prices list|parse|status|sql)\b.*?)(?: +# .*)?$/gm,
      ),
    ];
    expect(lines.length).toBeGreaterThan(9);
    for (const [, command = ''] of lines) {
      const words = [...command.replace('$FILE', file).matchAll(/"([^"]*)"|(\S+)/g)].map(
        ([, quoted, word]) => quoted ?? word ?? '',
      );
      if (words[0] === 'sql') words.push('--workspace', 'home');
      const { exitCode, out } = await type(words);
      expect({ command, exitCode }).toEqual({ command, exitCode: 0 });
      expect({ command, lines: out.trim().split('\n').length > 2 }).toEqual({ command, lines: true });
    }
  });

  it.skipIf(spawnSync('curl', ['--version']).error)('answers the requests of the README', async () => {
    const readme = await readFile(`${PROJECT_DIRECTORY}/README.md`, 'utf8');
    const env = { ...process.env, URL: api.url, KEY: api.keys.admin, FILE: /FILE=(\S+)/.exec(readme)?.[1] ?? '' };
    const requests = readme.replaceAll(/\\\n +/g, '').match(/(?<=^ {4})curl .*$/gm) ?? [];
    expect(requests).toHaveLength(5);
    let transcriptId = '';
    for (const request of requests) {
      const line = request
        .replace('/01…', `/${transcriptId}`)
        .replace('<session id>', WEBHOOKS)
        .replace('curl ', 'curl -f ');
      const { stdout } = await promisify(execFile)('sh', ['-c', line], { env, cwd: PROJECT_DIRECTORY });
      transcriptId ||= JSON.parse(stdout).transcript_id;
      expect({ line, isLong: stdout.length > 100 }).toEqual({ line, isLong: true });
    }
  });

  it('refuses a file that is not a transcript, and skips it in a folder', async () => {
    for (const command of ['upload', 'backfill']) {
      const alone = await type([command, 'README.md']);
      expect(alone).toMatchObject({
        exitCode: 1,
        err: expect.stringContaining('README.md: not recognised as a transcript of any agent that recount reads'),
      });
      expect((await type([command, 'README.md', 'samples/claude-projects'])).exitCode).toBe(1);
    }
    expect((await type(['upload', 'apps/worker'])).exitCode).toBe(0);
  });

  it('answers what failed', async () => {
    expect(await read('sessions', '--errors')).toContain('ERRORS');
    expect((await type(['issues'])).exitCode).toBe(0);
    await api.upload('{"type":"user","sessionId":"faulty","message":{"content":"hello"}}\n{broken\n', {
      session_id: 'faulty',
      agent: 'claude-code',
    });
    await api.work();
    expect(await read('issues')).toMatch(/session faulty[\s\S]*line 2: error/);
  });

  it('answers what runs, waits, fails, and takes space, for a server, or a database', async () => {
    await api.upload(Buffer.alloc(100, 'no transcript'), { session_id: 'failed', agent: 'claude-code' });
    await api.database.pool.query(
      `UPDATE recount.transcripts SET status = 'failed', failure_reason = 'its raw object is gone' WHERE session_id = 'failed'`,
    );
    const ask = async (options: Parameters<typeof type>[1], ...more: string[]) =>
      (await type(['status', ...more], { columns: 80, ...options })).out;
    const server = await ask({});
    expect(server).toMatch(
      /^Running +at http:\S+\nQueue +0 waiting[^\n]*\nTranscripts +\d+ ingested, .* 1 failed\nLive +0 agents/,
    );
    expect(server).toMatch(
      /^Search +complete\nDisk +[\d.]+ [kMG]B database .*\n +[\d.]+ [kMG]B write-ahead log\n +[\d.]+ [kMG]B raw/m,
    );
    expect(server).toMatch(/^Failed +\d{4}-.*\n +its raw object is gone$/m);
    expect(await ask({ key: api.keys.read })).toMatch(/^Disk +[\d.]+ kB raw transcripts\n +0 B spool/m);
    expect(await ask({ key: api.keys.ingest })).toBe('');
    const [served, stored] = [await ask({}, '--json'), await ask({ hasServer: false }, '--json')].map((text) =>
      JSON.parse(text),
    );
    expect(stored).toEqual({
      ...served,
      running: null,
      disk: { ...served.disk, database_bytes: expect.any(Number), wal_bytes: expect.any(Number), raw_bytes: null },
    });
    await api.database.pool.query(`DELETE FROM recount.transcripts WHERE session_id = 'failed'`);
  });

  it('never answers an unknown name with a zero', async () => {
    for (const [commandLine, message] of [
      [['report', 'daily', '--project', 'biling-service'], `did you mean ${BILLING}`],
      [['report', 'sessions', '--model', 'gtp-5'], 'No model matches "gtp-5"'],
      [['report', 'tools', '--session', 'ffff'], 'There is no session ffff'],
      [['sessions', '--agent', 'clod'], 'No agent matches "clod"'],
      [['search', 'webhook', '--branch', 'mian'], 'No branch matches "mian"'],
      [['export', 'usage', '--project', 'biling'], 'No project matches "biling"'],
      [['search', 'webhook', '--from', 'someday'], 'Must be a date'],
      [['show', 'ffff'], 'There is no such session'],
      [['why', 'ffff'], 'There is no such session'],
      [['delete', '--project', 'biling', '--yes'], 'No project matches "biling"'],
    ] as const) {
      const { exitCode, out, err } = await type(commandLine);
      expect({ commandLine, exitCode, out }).toEqual({ commandLine, exitCode: 2, out: '' });
      expect(err).toContain(message);
    }
  });

  it('says when there is data if a range has none', async () => {
    expect(await read('report', 'daily', '--in', '2030')).toMatch(
      /The latest session is of 2026-08-06, the first of 2026-05-12/,
    );
    expect((await type(['sessions', '--in', '2030'])).err).toContain('The latest session is of 2026-08-06');
  });

  it('sets a price, and applies it', async () => {
    const price = [
      'prices',
      'set',
      'claude-sonnet-5',
      '--input',
      '100',
      '--output',
      '100',
      '--yes',
      '--workspace',
      'home',
    ];
    const set = await type(price, { hasServer: false });
    expect(await read('sessions', '5dd9')).not.toContain('$0.0839');
    expect(set.exitCode).toBe(0);
    expect(set.err).toMatch(
      /claude-sonnet-5: \d+ responses, [\d,]+ tokens, \$[\d.]+ now, about \$[\d.]+ at this price/,
    );
    expect(await read('prices', 'list')).toContain('claude-sonnet-5');
    await type(['prices', 'set', 'other-model', '--input', '1', '--output', '2']);
    expect(JSON.parse(await read('prices', 'list', '--json')).overrides).toHaveLength(2);
    expect((await type(['prices', 'set', 'x', '--input', '1'])).exitCode).toBe(2);
  });

  it('exports and queries', async () => {
    expect((await read('export', 'sessions', '--project', 'billing')).trim().split('\r\n')).toHaveLength(4);
    expect(await read('sql', '--workspace', 'home', 'SELECT count(*) AS sessions FROM sessions')).toMatch(
      /sessions\n +6\n\(1 row\)/,
    );
    expect(JSON.parse(await read('sql', '--workspace', 'home', '--json', 'SELECT 1 AS n, 2 AS n, 3 AS n_2'))).toEqual([
      { n: 1, n_2: 2, n_2_2: 3 },
    ]);
    const of = (workspace: string) => ['sql', '--workspace', workspace];
    for (const query of [
      'DELETE FROM recount.sessions',
      'SELECT * FROM recount.api_keys',
      'SELECT count(*) FROM analytics.sessions',
      'COMMIT; RESET ROLE; SET default_transaction_read_only = off; DELETE FROM sessions',
    ]) {
      const refused = await type([...of('home'), query]);
      expect({ query, ...refused }).toMatchObject({
        exitCode: 1,
        out: '',
        err: expect.stringMatching(/permission denied|cannot delete/),
      });
    }
    expect((await type([...of('nowhere'), 'SELECT 1'])).exitCode).toBe(2);
    expect(await read('sql', '--write', "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'recount_sql_%'")).toMatch(
      /^ +0$/m,
    );
    const change = await type([...of('home'), 'DELETE FROM sessions']);
    expect(change).toMatchObject({
      exitCode: 1,
      err: expect.stringMatching(/permission denied|read-only|cannot delete/),
    });
  });

  it('runs every recipe of the documentation, of several workspaces for one', async () => {
    const page = await readFile(`${PROJECT_DIRECTORY}/docs/sql.md`, 'utf8');
    const recipes = [...page.matchAll(/^```sql\n(SELECT.*?)^```$/gms)].map(([, recipe = '']) => recipe);
    expect(recipes.length).toBeGreaterThan(15);
    for (const scope of [['--workspace', 'home'], ['--all-workspaces']]) {
      for (const recipe of recipes) {
        const { exitCode, err } = await type(['sql', ...scope, recipe]);
        expect({ recipe, exitCode, err }).toEqual({ recipe, exitCode: 0, err: '' });
      }
    }
    expect(await type(['sql', '--workspace', 'home', 'SELECT FROM analytics.daily_usage'])).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('write `FROM daily_usage`, or give --all-workspaces'),
    });
  });

  it('fits 80 columns', async () => {
    for (const commandLine of [
      ['sessions'],
      ['why', '5dd9'],
      ['show', '5dd9'],
      ...['daily', 'sessions', 'tools', 'files', 'models', 'blocks', 'prs', 'reconciliation', 'subagents'].map(
        (name) => ['report', name],
      ),
    ]) {
      const { exitCode, out } = await type(commandLine, { columns: 80 });
      expect({ commandLine, exitCode }).toEqual({ commandLine, exitCode: 0 });
      for (const line of stripVTControlCharacters(out)
        .split('\n')
        .slice(commandLine[0] === 'report' ? 1 : 5)) {
        expect({ commandLine, line, width: [...line].length <= 80 }).toEqual({ commandLine, line, width: true });
      }
    }
  });

  it('deletes what it should, and nothing without consent', async () => {
    const asked = await type(['delete', 'faulty']);
    expect(asked).toMatchObject({ exitCode: 2, err: expect.stringContaining('--yes') });
    expect(await read('sessions', 'faulty')).toContain('faulty');
    await read('delete', '--project', 'harbor-docs', '--yes');
    expect(await read('sessions')).not.toContain('harbor-docs');
    expect((await type(['report', 'daily', '--project', 'harbor-docs'])).exitCode).toBe(2);
  });
});
