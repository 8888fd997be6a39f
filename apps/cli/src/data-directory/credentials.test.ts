import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readCredentials, writeCredentials } from './credentials.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-credentials-'));
  path = join(directory, 'credentials.json');
});
afterEach(() => rm(directory, { recursive: true }));

const credentials = { workspaceId: '01J', keyId: '01K', apiKey: 'rk_secret' };

it('makes the key readable by its owner alone', async () => {
  expect(await readCredentials(path)).toBeUndefined();
  await writeCredentials(path, credentials);
  expect(await readCredentials(path)).toEqual(credentials);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it.each(['', 'null', '[]', '{"apiKey":"rk_secret"}', '{"workspaceId":1,"keyId":"a","apiKey":"b"}', '{"apiKey"'])(
  'ignores a damaged file: %j',
  async (text) => {
    await writeFile(path, text);
    expect(await readCredentials(path)).toBeUndefined();
  },
);
