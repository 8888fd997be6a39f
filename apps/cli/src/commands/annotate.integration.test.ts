import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
  await api.upload(toTranscript('heron', 2));
  await api.upload(toTranscript('other', 2));
  await api.work();
});
afterAll(() => api.close());

const run = (...commandArguments: string[]) =>
  runWith({ RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin }, commandArguments);

async function runWith(
  environment: Record<string, string>,
  commandArguments: string[],
): Promise<{ exitCode: number; out: string; err: string }> {
  const context = createFakeContext({ environment });
  const exitCode = await runCommandLine(context, commandArguments);
  return { exitCode, out: context.out(), err: context.err() };
}

describe('recount annotate', () => {
  it('renames, stars and tags a session, which `recount sessions` shows and finds', async () => {
    const changed = await run('annotate', 'her', '--title', 'Herons', '--star', '--tag', 'lake', '--tag', 'bird');
    expect(changed).toMatchObject({ exitCode: 0, err: 'heron: Herons, starred, tags: bird, lake\n' });
    const { out } = await run('sessions', '--starred', '--columns', 'title,tags');
    expect(out).toMatch(/★ Herons +bird, lake/);
    expect(out).not.toContain('other');
    expect((await run('sessions', '--tag', 'lake', '--json')).out).toContain('"session_id": "heron"');
    const undone = await run('annotate', 'heron', '--no-title', '--no-star', '--untag', 'lake', '--json');
    expect(JSON.parse(undone.out)).toEqual({ given_title: null, is_starred: false, tags: ['bird'], note: null });
    expect((await run('sessions', '--starred')).err).toContain('No sessions');
  });

  it('works with a database alone', async () => {
    const environment = { DATABASE_URL: api.connectionString };
    const options = ['--workspace', 'home'];
    const noted = await runWith(environment, ['annotate', 'other', '--note', 'Look again', ...options]);
    expect(noted).toMatchObject({ exitCode: 0 });
    const { out } = await run('sessions', 'other', '--json');
    expect(JSON.parse(out)).toMatchObject({ sessions: [{ note: 'Look again' }] });
  });

  it('refuses a call without a change, and an unknown session', async () => {
    expect(await run('annotate', 'other')).toMatchObject({ exitCode: 2, err: expect.stringContaining('--star') });
    expect((await run('annotate', 'nobody-knows', '--star')).exitCode).not.toBe(0);
  });
});
