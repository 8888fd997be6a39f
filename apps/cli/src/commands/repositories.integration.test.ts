import { createTestApi, HOME_WORKSPACE, type TestApi } from '@recount/api/testing/test-api';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import { applyRepositoryRenames } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
  for (const name of ['heron', 'heron-old', 'wren']) {
    const query = new URLSearchParams({ repository: `https://github.com/acme/${name}`, person: 'ada' });
    const headers = { 'content-type': 'application/x-ndjson' };
    await api.fetch(`/v1/transcripts?${query}`, { method: 'POST', body: toTranscript(`s-${name}`, 4), headers });
  }
  await api.work();
});
afterAll(() => api.close());

async function runWith(environment: Record<string, string>, words: readonly string[]) {
  const context = createFakeContext({ environment });
  const exitCode = await runCommandLine(context, [...words]);
  return { exitCode, out: context.out(), err: context.err() };
}
const run = (...words: string[]) =>
  runWith({ RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin }, ['repositories', ...words]);
const apply = () => applyRepositoryRenames(api.database, HOME_WORKSPACE);

it('lists, merges, renames and undoes', async () => {
  const { out } = await run('list', '--utc');
  expect(out).toMatch(/^REPOSITORY +SESSIONS +PEOPLE +COST +LAST ACTIVITY\n/);
  expect(out).toMatch(/^github.com\/acme\/wren +1 +1 +\$/m);

  expect(await run('renames')).toMatchObject({ exitCode: 0, err: 'No repository is renamed.\n' });
  const merged = await run('merge', 'heron-old', '--into', 'acme/heron');
  expect(merged.err).toMatch(/^github.com\/acme\/heron-old is now github.com\/acme\/heron\.\n/);
  expect((await run('renames')).out).toMatch(
    /^github.com\/acme\/heron-old +github.com\/acme\/heron .*waits for a worker$/m,
  );
  await apply();
  expect((await run('renames')).out).toMatch(/ applied$/m);
  expect((await run('list')).out).toMatch(/^github.com\/acme\/heron +2 /m);
  expect((await run('merge', 'heron-old', '--into', 'acme/heron')).err).toMatch(/^Nothing to do/);

  expect((await run('rename', 'wren', 'Song birds')).err).toMatch(/^github.com\/acme\/wren is now Song birds\.\n/);
  await apply();
  expect((await run('list', 'wren', '--json')).out).toContain('"name": "Song birds"');

  expect((await run('undo', 'heron-old')).err).toMatch(/^github.com\/acme\/heron-old has its name again/);
  expect((await run('renames')).out).toMatch(/being undone, waits for a worker$/m);
  await apply();
  expect((await run('list')).out).toMatch(/^github.com\/acme\/heron-old +1 /m);
});

it('works with a database alone', async () => {
  const environment = { DATABASE_URL: api.connectionString };
  const own = (...words: string[]) => runWith(environment, ['repositories', ...words, '--workspace', 'home']);
  expect(await own('rename', 'acme/heron', 'Herons')).toMatchObject({ exitCode: 0 });
  expect((await own('renames', '--json')).out).toContain('"actor": "operator:');
  expect(await own('undo', 'acme/heron')).toMatchObject({ exitCode: 0 });
  await apply();
});

it('says what is wrong, and exits with 2', async () => {
  expect(await run('merge', 'wren', '--into', 'owl')).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining('owl'),
  });
  expect(await run('merge', 'wren', '--into', 'her')).toMatchObject({
    ...{ exitCode: 2, err: expect.stringContaining('matches several repositories') },
  });
  expect(await run('rename', 'her', 'x')).toMatchObject({
    ...{ exitCode: 2, err: expect.stringContaining('matches several repositories') },
  });
  expect(await run('undo', 'owl')).toMatchObject({ exitCode: 2, err: expect.stringContaining('repositories renames') });
});
