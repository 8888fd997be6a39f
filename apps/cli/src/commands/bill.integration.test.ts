import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createDatabasePool, type DatabasePool, ensureWorkspace } from '@recount/db';
import { createTestDatabase } from '@recount/local-postgres/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let database: DatabasePool;
let directory: string;
let vendor: Server;
let url: string;
const requests: { path: string; query: Record<string, string[]>; headers: IncomingMessage['headers']; body: string }[] =
  [];
let answer: (path: string, query: URLSearchParams, body: string) => object | number;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = createDatabasePool({ connectionString: testDatabase.connectionString });
  await ensureWorkspace(database.database, '01J00000000000000000000001', 'default');
  directory = await mkdtemp(join(tmpdir(), 'recount-bill-'));
  vendor = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://vendor');
    const body = await text(request);
    const query = Object.fromEntries(
      [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]),
    );
    requests.push({ path: pathname, query, headers: request.headers, body });
    const content = answer(pathname, searchParams, body);
    response.writeHead(typeof content === 'number' ? content : 200, {
      'content-type': 'application/json',
      'retry-after': '0',
    });
    response.end(JSON.stringify(content));
  });
  await new Promise<void>((done) => vendor.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`;
});
afterAll(async () => {
  vendor.close();
  await database.close();
  await testDatabase.drop();
  await rm(directory, { recursive: true });
});

async function run(...commandLine: string[]) {
  const environment = {
    DATABASE_URL: testDatabase.connectionString,
    RECOUNT_RAW_STORE: directory,
    ANTHROPIC_ADMIN_KEY: 'sk-ant-admin',
    OPENAI_ADMIN_KEY: 'sk-admin',
    GITHUB_TOKEN: 'ghp',
    CURSOR_ADMIN_KEY: 'key_c',
  };
  const context = createFakeContext({ environment, workingDirectory: directory });
  requests.length = 0;
  const exitCode = await runCommandLine(context, commandLine);
  return { exitCode, out: context.out(), err: context.err() };
}

const days = ['--from', '2026-10-01', '--to', '2026-11-02', '--url'];

it('imports files, once however often, and lists, reports and deletes what they have', async () => {
  const result = {
    amount: '250',
    currency: 'USD',
    description: 'Claude Opus 5.5 Usage - Input Tokens',
    model: 'claude-opus-5-5',
  };
  const page = { data: [{ starting_at: '2026-10-01T00:00:00Z', results: [result] }], has_more: false, next_page: null };
  await writeFile(join(directory, 'costs.json'), JSON.stringify(page));
  const files = ['bill', 'import', 'costs.json', '--vendor', 'anthropic'];
  expect((await run(...files)).err).toContain('1 line of anthropic imported, $2.50, 2026-10-01 to 2026-10-01.');
  expect(await run(...files, '--json')).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining('"amount_usd": 2.5'),
  });
  expect((await run('bill', 'list')).out).toBe('anthropic   2026-10-01 to 2026-10-01  $2.50  1 line\n');
  const report = await run('report', 'bills', '--by', 'model', '--json', '--utc');
  expect(JSON.parse(report.out).rows).toMatchObject([
    { model: 'claude-opus-5-5', bill_usd: 2.5, no_transcripts_usd: 2.5 },
  ]);
  expect(await run('bill', 'delete', '--vendor', 'anthropic')).toMatchObject({ exitCode: 2 });
  expect((await run('bill', 'delete', '--vendor', 'anthropic', '--yes')).err).toContain('1 line of anthropic deleted.');
  expect(await run('bill', 'list', '--json')).toMatchObject({ exitCode: 0, out: '[]\n' });
});

it('refuses amounts that are stored, grouped otherwise, and changes nothing', async () => {
  const item = { date: '2026-10-05T00:00:00Z', product: 'Copilot', sku: 'Copilot Premium Request', grossAmount: 4 };
  await writeFile(join(directory, 'usage.json'), JSON.stringify({ usageItems: [item] }));
  await writeFile(join(directory, 'models.json'), JSON.stringify({ usageItems: [{ ...item, model: 'gpt-6.2' }] }));
  expect(await run('bill', 'import', 'usage.json', '--vendor', 'github')).toMatchObject({ exitCode: 0 });
  const { exitCode, err } = await run('bill', 'import', 'models.json', '--vendor', 'github');
  expect([exitCode, err]).toEqual([1, expect.stringContaining('The lines of 2026-10-05 are grouped otherwise')]);
  expect((await run('bill', 'list')).out).toBe('github      2026-10-05 to 2026-10-05  $4.00  1 line\n');
  await run('bill', 'delete', '--vendor', 'github', '--yes');
  const together = await run('bill', 'import', 'usage.json', 'models.json', '--vendor', 'github');
  expect(together).toMatchObject({ exitCode: 1, err: expect.stringContaining('models.json: It has the amounts of') });
  expect((await run('bill', 'list', '--json')).out).toBe('[]\n');
  await run('bill', 'import', 'usage.json', '--vendor', 'github');
  expect(await run('bill', 'delete', '--vendor', 'github', '--yes')).toMatchObject({ exitCode: 0 });
});

it('refuses a file that is no report, and quotes nothing of it', async () => {
  await writeFile(join(directory, 'other.json'), '{"secret":"value"}');
  const { exitCode, err } = await run('bill', 'import', 'other.json', '--vendor', 'openai');
  expect([exitCode, err]).toEqual([1, expect.stringContaining('other.json: It is no report of this vendor')]);
  expect(err).not.toContain('value');
  expect(await run('bill', 'import', 'missing.json', '--vendor', 'openai')).toMatchObject({ exitCode: 1 });
  expect(await run('bill', 'import', 'other.json')).toMatchObject({ exitCode: 2 });
});

it('pulls Anthropic’s costs and usage, page by page, and tries again when it is busy', async () => {
  let isBusy = true;
  answer = (path, query) => {
    if (isBusy) {
      isBusy = false;
      return 429;
    }
    if (path.endsWith('/messages')) return { data: [], has_more: false, next_page: null };
    const isSecond = query.get('page') === 'second';
    const results = [
      { amount: isSecond ? '100' : '200', currency: 'USD', description: 'Web Search', cost_type: 'web_search' },
    ];
    const bucket = { starting_at: isSecond ? '2026-10-02T00:00:00Z' : '2026-10-01T00:00:00Z', results };
    return { data: [bucket], has_more: !isSecond, next_page: isSecond ? null : 'second' };
  };
  const { err } = await run('bill', 'pull', '--vendor', 'anthropic', ...days, url);
  expect(err).toContain('2 lines of anthropic imported, $3.00, 2026-10-01 to 2026-10-02.');
  expect(requests.map(({ path }) => path)).toEqual([
    ...['', '', ''].map(() => '/v1/organizations/cost_report'),
    '/v1/organizations/usage_report/messages',
  ]);
  expect(requests[0]).toMatchObject({
    query: { starting_at: ['2026-10-01T00:00:00.000Z'], 'group_by[]': ['workspace_id', 'description'] },
    headers: { 'x-api-key': 'sk-ant-admin', 'anthropic-version': '2023-06-01' },
  });
});

it('pulls OpenAI’s costs and usage', async () => {
  const start_time = Date.UTC(2026, 9, 1) / 1000;
  answer = (path) => {
    const cost = { amount: { value: 0.5, currency: 'usd' }, line_item: 'gpt-6.2, input' };
    const usage = { input_tokens: 10, input_cached_tokens: 4, output_tokens: 5, model: 'gpt-6.2' };
    return {
      data: [{ start_time, results: [path.endsWith('/costs') ? cost : usage] }],
      has_more: false,
      next_page: null,
    };
  };
  expect((await run('bill', 'pull', '--vendor', 'openai', ...days, url)).err).toContain(
    '2 lines of openai imported, $0.50',
  );
  expect(requests.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/v1/organization/costs', 'Bearer sk-admin'],
    ['/v1/organization/usage/completions', 'Bearer sk-admin'],
  ]);
});

it('pulls GitHub’s months of an organisation', async () => {
  answer = (_path, query) => ({
    usageItems: [
      {
        date: `2026-${query.get('month')}-01T00:00:00Z`,
        product: 'copilot',
        sku: 'Premium',
        grossAmount: 4,
        discountAmount: 4,
      },
    ],
  });
  expect(await run('bill', 'pull', '--vendor', 'github', ...days, url)).toMatchObject({ exitCode: 1 });
  const { err } = await run('bill', 'pull', '--vendor', 'github', '--organization', 'acme', ...days, url);
  expect(err).toContain('4 lines of github imported, $0.00');
  expect(requests.map(({ path, query }) => [path, query.month])).toEqual([
    ['/organizations/acme/settings/billing/usage', ['10']],
    ['/organizations/acme/settings/billing/usage', ['11']],
  ]);
});

it('pulls Cursor’s events in pieces of 30 days, page by page', async () => {
  answer = (_path, _query, body) => {
    const { startDate, page } = JSON.parse(body) as { startDate: number; page: number };
    const event = { timestamp: String(startDate + page), model: 'auto', kind: 'Usage-based', chargedCents: 10 };
    return { usageEvents: [event], pagination: { hasNextPage: page === 1 } };
  };
  const { err } = await run('bill', 'pull', '--vendor', 'cursor', ...days, url);
  expect(err).toContain('2 lines of cursor imported, $0.40');
  expect(requests).toHaveLength(4);
  expect(requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from('key_c:').toString('base64')}`);
});

it('says what to do if the vendor refuses, and sends the key over HTTPS only', async () => {
  answer = () => 401;
  const refused = await run('bill', 'pull', '--vendor', 'openai', ...days, url);
  expect([refused.exitCode, refused.err]).toEqual([1, expect.stringContaining('answered 401. Is it an admin key?')]);
  expect(refused.err).not.toContain('sk-admin');
  expect(await run('bill', 'pull', '--vendor', 'openai', ...days, 'http://api.example')).toMatchObject({ exitCode: 2 });
  expect(await run('bill', 'pull', '--vendor', 'openai', '--from', 'October')).toMatchObject({ exitCode: 2 });
});
