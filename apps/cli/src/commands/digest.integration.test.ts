import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let api: TestApi;

beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

async function run(...commandArguments: string[]): Promise<{ exitCode: number; out: string; err: string }> {
  const context = createFakeContext({ environment: { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin } });
  const exitCode = await runCommandLine(context, commandArguments);
  return { exitCode, out: context.out(), err: context.err() };
}

describe('recount digest', () => {
  it('adds, previews and removes a digest', async () => {
    expect((await run('digest', 'add', 'weekly', '--destination', 'team')).err).toContain(
      'There is no destination team',
    );
    await run('alerts', 'add', 'team', '--email', 'ada@example.org');
    const made = await run(
      'digest',
      'add',
      'weekly',
      '--destination',
      'team',
      '--repository',
      'heron',
      '--utc',
      '--json',
    );
    expect(JSON.parse(made.out)).toMatchObject({
      ...{ name: 'weekly', period: 'week', time_zone: 'UTC', filters: { repository: ['heron'] }, sent_period: null },
      destination_ids: [expect.any(String)],
    });
    expect((await run('digest')).out).toMatch(/weekly +week +not yet +repository heron/);
    const { out } = await run('digest', 'preview', 'weekly');
    expect(out).toMatch(/^weekly: the week from \d{4}-\d\d-\d\d, \$0\.00\n\n/);
    expect(out).toContain('Counts repository heron.');
    expect((await run('digest', 'send', 'weekly')).err).toContain('A worker sends it to 1 destination.');
    expect((await run('alerts', 'deliveries')).out).toMatch(/digest\.due +waiting/);
    const file = join(tmpdir(), `digest-${process.pid}.html`);
    expect((await run('digest', 'preview', 'weekly', '--html', file)).exitCode).toBe(0);
    expect(await readFile(file, 'utf8')).toMatch(/^<!doctype html>/);
    expect((await run('digest', 'remove', 'weekly', '--yes')).exitCode).toBe(0);
    expect((await run('digest', 'preview', 'weekly')).err).toContain('There is no digest weekly yet');
  });
});
