import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
  for (const person of ['maya@acme.test', 'mchen', 'ben'])
    await api.upload(toTranscript(`of ${person}`, 2), { person });
  await api.work();
});
afterAll(() => api.close());

async function run(...commandArguments: string[]): Promise<{ exitCode: number; out: string; err: string }> {
  const context = createFakeContext({ environment: { RECOUNT_SERVER: api.url, RECOUNT_API_KEY: api.keys.admin } });
  const exitCode = await runCommandLine(context, commandArguments);
  return { exitCode, out: context.out(), err: context.err() };
}

// One story: each test continues the one before.
describe('recount people', { shuffle: false }, () => {
  it('adds, edits, merges and lists people, and reports group by their teams', async () => {
    expect((await run('people')).err).toContain('No people.');
    expect((await run('people', 'team', 'Core', '--cost-centre', '4711')).out).toMatch(/\nCore +4711 +– +0/);
    const maya = ['Maya Chen', '--email', 'maya@acme.test', '--team', 'core'];
    expect((await run('people', 'add', ...maya)).err).toContain('Maya Chen: Core, cost centre 4711');
    expect((await run('people', 'unattributed')).out).toMatch(/\nmchen +1 .* Maya Chen/);
    expect((await run('people', 'edit', 'MAYA@acme.test', '--name', 'mchen')).err).toContain('mchen');
    expect(await run('people', 'edit', 'nobody', '--team', 'Core')).toMatchObject({ exitCode: 2 });
    expect(await run('people', 'add', 'Ben', '--team', 'Cora')).toMatchObject({ exitCode: 2 });
    await run('people', 'add', 'Ben Ode', '--name', 'ben');
    const { rows } = JSON.parse((await run('report', 'usage', '--by', 'team', '--json')).out) as { rows: object[] };
    expect(rows).toMatchObject([
      { team: 'Core', sessions: 2 },
      { team: null, sessions: 1 },
    ]);
    expect((await run('people', 'merge', 'ben', '--into', 'mchen')).err).toContain('Ben Ode counts as Maya Chen.');
    expect((await run('people', 'list', '--team', 'core')).out).toMatch(/\nMaya Chen +Core +4711 +3 /);
    expect((await run('people', 'unmerge', 'ben ode')).exitCode).toBe(0);
    expect((await run('report', 'usage', '--by', 'person', '--team', 'core')).out).toContain('Maya Chen');
  });

  it('imports a file after saying what would change, and exports it', async () => {
    const file = join(tmpdir(), `people-${process.pid}.csv`);
    await writeFile(file, 'name,team,joined\nBen Ode,Web,2025-01-01\n');
    expect((await run('people', 'import', file, '--dry-run')).out).toBe(
      'line 2: Ben Ode: changes: team, joined_on\nnew teams: Web\n',
    );
    expect(await run('people', 'import', file)).toMatchObject({ exitCode: 2, err: expect.stringContaining('--yes') });
    expect(await run('people', 'import', file, '--yes')).toMatchObject({ exitCode: 0 });
    expect((await run('people', 'teams')).out).toMatch(/\nWeb +– +– +1/);
    expect((await run('people', 'export')).out).toMatch(/\nBen Ode,,ben,Web,,,,2025-01-01,,/);
    await writeFile(file, 'name,left\nBen Ode,soon\n');
    expect(await run('people', 'import', file, '--yes')).toMatchObject({
      exitCode: 1,
      out: expect.stringContaining('line 2: Ben Ode: left: '),
    });
  });
});
