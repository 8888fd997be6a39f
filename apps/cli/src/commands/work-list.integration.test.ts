import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
  await api.upload(toTranscript('heron', 3));
  await api.work();
});
afterAll(() => api.close());

async function run(...commandArguments: string[]): Promise<{ exitCode: number; out: string; err: string }> {
  const environment = { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin };
  const context = createFakeContext({ environment });
  const exitCode = await runCommandLine(context, commandArguments);
  return { exitCode, out: context.out(), err: context.err() };
}

describe('recount findings', () => {
  it('dismisses, lists and restores findings', async () => {
    const listed = await run('findings', '--kind', 'unfinished-session', '--utc');
    expect(listed.out).toContain('heron');
    const dismissed = await run('findings', 'dismiss', 'unfinished-session', '--session', 'her', '--reason', 'A try');
    expect(dismissed).toMatchObject({
      exitCode: 0,
      err: expect.stringContaining('Dismissed unfinished-session of session heron.'),
    });
    const rest = await run('findings', '--kind', 'unfinished-session');
    expect(rest.out).not.toContain('heron');
    expect(rest.err).toContain('Dismissed: 1 finding; `recount findings --dismissed only` lists it.');
    expect((await run('findings', '--dismissed', 'only')).out).toContain('heron');
    expect((await run('findings', 'dismissed')).out).toMatch(/unfinished-session +session prompt 0 of heron +A try/);
    const { dismissals } = JSON.parse((await run('findings', 'dismissed', '--json')).out);
    expect(await run('findings', 'restore', dismissals[0].id)).toMatchObject({ exitCode: 0 });
    expect((await run('findings', 'dismissed')).err).toBe('Nothing is dismissed.\n');
    expect((await run('findings', 'restore', dismissals[0].id)).exitCode).toBe(2);
  });

  it('marks kinds as addressed, and says whether they fell', async () => {
    const marked = await run('findings', 'address', 'cold-cache', '--since', '2026-01-05', '--note', 'Shorter breaks');
    expect(marked.err).toContain('Marked cold-cache as addressed since 2026-01-05');
    expect((await run('report', 'addressed')).out).toMatch(/cold-cache +2026-01-05.*too-early/);
    expect((await run('findings', 'reopen', 'cold-cache')).exitCode).toBe(0);
    expect((await run('findings', 'reopen', 'cold-cache')).exitCode).toBe(2);
  });

  it('refuses several subjects, none, and a tool of findings without one', async () => {
    const refused = [
      ['dismiss', 'cold-cache'],
      ['dismiss', 'cold-cache', '--session', 'heron', '--person', 'ada'],
      ['dismiss', 'cold-cache', '--tool', 'Bash'],
      ['dismiss', 'unknown', '--session', 'heron'],
      ['address', 'large-result'],
      ['address', 'cold-cache', '--since', '2026-13-01'],
    ];
    for (const each of refused) expect((await run('findings', ...each)).exitCode).toBe(2);
  });
});
