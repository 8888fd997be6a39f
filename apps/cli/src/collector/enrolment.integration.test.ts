import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestApi, HOME_WORKSPACE, type TestApi } from '@recount/api/testing/test-api';
import { createApiKey, listApiKeys, revokeApiKey } from '@recount/db';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createHome, removeHome, runRecount } from '../testing/recount-process.ts';

let api: TestApi;
let home: string;
let enrolment: { id: string; key: string };

beforeAll(async () => {
  api = await createTestApi();
});
beforeEach(async () => {
  home = await createHome({});
  const key = { workspaceId: HOME_WORKSPACE, name: 'roll-out', scopes: ['enrol'] as const, machineLimit: 2 };
  enrolment = await createApiKey(api.database.database, key);
  await writeFile(join(home, 'enrol-key'), `${enrolment.key}\n`);
});
afterEach(() => removeHome(home));
afterAll(() => api.close());

const connect = (...words: string[]) => runRecount(home, ['connect', api.url, '--no-hooks', '--yes', ...words]);
const withFile = (...words: string[]) => connect('--enrol-key-file', join(home, 'enrol-key'), ...words);
const readConnection = async (): Promise<string> =>
  await readFile(join(home, '.recount/collector/connection.json'), 'utf8');
const readKey = async (): Promise<string> => (JSON.parse(await readConnection()) as { key: string }).key;
const listMachines = async () =>
  (await listApiKeys(api.database.database, HOME_WORKSPACE)).filter((key) => key.enrolled_by === enrolment.id);

it('connects a machine with its own key, asks nothing, and keeps the key when it runs again', async () => {
  const first = await withFile('--machine', 'lab-7', '--person', 'ada');
  expect(first, first.stderr).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('as lab-7, ada.') });
  const key = await readKey();
  expect(`${first.stdout}${first.stderr}${await readConnection()}`).not.toContain(enrolment.key);
  expect(await withFile()).toMatchObject({ exitCode: 0 });
  expect(await readKey()).toBe(key);
  expect(await listMachines()).toMatchObject([{ name: 'lab-7', scopes: ['ingest'], person: 'ada' }]);
});

it('gets the same machine a new secret after its connection was lost, from the environment too', async () => {
  expect(await withFile()).toMatchObject({ exitCode: 0 });
  const lost = await readKey();
  expect(await runRecount(home, ['disconnect', '--force'])).toMatchObject({ exitCode: 0 });
  const environment = { RECOUNT_ENROL_KEY: enrolment.key };
  const again = await runRecount(home, ['connect', api.url, '--no-hooks', '--yes'], { environment });
  expect(again, again.stderr).toMatchObject({ exitCode: 0 });
  expect(await readKey()).not.toBe(lost);
  expect(await listMachines()).toHaveLength(1);
});

it('says why a machine is not let in, and connects nothing', async () => {
  expect(await withFile()).toMatchObject({ exitCode: 0 });
  const [machine] = await listMachines();
  const revoke = (id: string) =>
    api.database.withTransaction((transaction) => revokeApiKey(transaction, HOME_WORKSPACE, id));
  await revoke(machine?.id ?? '');
  const refused = await withFile();
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('The machine may not enrol') });
  expect(`${refused.stdout}${refused.stderr}`).not.toContain(enrolment.key);
  await revoke(enrolment.id);
  expect(await withFile()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('not valid') });
  await writeFile(join(home, 'enrol-key'), api.keys.admin);
  expect(await withFile()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('enrol') });
  expect(await connect('--enrol-key-file', 'none')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('none'),
  });
});
