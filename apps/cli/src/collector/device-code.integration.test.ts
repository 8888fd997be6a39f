import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createHome, removeHome, runRecount, startRecount } from '../testing/recount-process.ts';

let api: TestApi;
let home: string;

beforeAll(async () => {
  api = await createTestApi();
  home = await createHome({});
});
afterAll(async () => {
  await api.close();
  await removeHome(home);
});

const approve = (code: string, ...words: string[]) =>
  runRecount(home, ['keys', 'approve', code, '--workspace', 'home', ...words], {
    environment: { DATABASE_URL: api.connectionString },
  });

it('connects a machine without a key once its code is approved', async () => {
  const connecting = startRecount(home, ['connect', api.url, '--machine', 'lab-7', '--no-hooks', '--yes']);
  await connecting.waitForOutput(/Waiting …/);
  const [, code = ''] = /keys approve ([A-Z-]{9})\n/.exec(connecting.stderr()) ?? [];
  expect(connecting.stderr()).toContain(`${api.url}/admin`);
  // A script must decide explicitly what happens to the key.
  expect(await approve(code)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') });
  expect(await approve(code, '--scopes', 'admin', '--yes')).toMatchObject({ exitCode: 2 });
  expect(await approve('BBBB-BBBB', '--yes')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('ten min'),
  });
  const approved = await approve(code, '--person', 'ada', '--yes');
  expect(approved).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('lab-7 fetches its key') });
  expect(await connecting.exited, connecting.stderr()).toBe(0);
  expect(connecting.stdout()).toContain(`Connected to ${api.url} as lab-7, ada.`);
  const connection = JSON.parse(await readFile(join(home, '.recount/collector/connection.json'), 'utf8'));
  const holder = await fetch(`${api.url}/v1/key`, { headers: { authorization: `Bearer ${connection.key}` } });
  expect(await holder.json()).toMatchObject({ scopes: ['ingest'], person: 'ada' });
  expect(await runRecount(home, ['disconnect'])).toMatchObject({ exitCode: 0 });
});

it('leaves nothing behind if it is interrupted while it waits', async () => {
  const connecting = startRecount(home, ['connect', api.url, '--no-hooks', '--yes']);
  await connecting.waitForOutput(/Waiting …/);
  connecting.child.kill('SIGINT');
  expect(await connecting.exited).toBe(130);
  await expect(readFile(join(home, '.recount/collector/connection.json'))).rejects.toThrow();
});
