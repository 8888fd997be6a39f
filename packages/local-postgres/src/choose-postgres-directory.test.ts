import { describe, expect, test } from 'vitest';
import type { FileMode } from './account-access.ts';
import { choosePostgresDirectory } from './choose-postgres-directory.ts';

const account = { uid: 65_534, gid: 65_534 };
const requestedDirectory = '/home/ada/.recount/postgres';

/** Directories of root with mode 0755, but for those named. */
function choose(modes: Record<string, Partial<FileMode>>, as: typeof account | undefined = account) {
  const readFileMode = async (path: string) => ({ mode: 0o40755, uid: 0, gid: 0, ...modes[path] });
  return choosePostgresDirectory(readFileMode, { requestedDirectory, account: as });
}

describe('choosePostgresDirectory', () => {
  test('keeps a directory that the account can reach', async () => {
    expect(await choose({})).toBe(requestedDirectory);
    expect(await choose({ '/home': { mode: 0o40711 } })).toBe(requestedDirectory);
  });

  test('does not mind the mode of the directory itself, which is set later', async () => {
    expect(await choose({ [requestedDirectory]: { mode: 0o40700 } })).toBe(requestedDirectory);
  });

  test.each(['/', '/home', '/home/ada', '/home/ada/.recount'])(
    'moves below /var/lib where %s is closed',
    async (closed) => {
      expect(await choose({ [closed]: { mode: 0o40700 } })).toBe('/var/lib/recount/postgres-c06c0c771a33');
    },
  );

  test('applies the permissions of owner and group to the account', async () => {
    expect(await choose({ '/home/ada': { mode: 0o40700, uid: 65_534 } })).toBe(requestedDirectory);
    expect(await choose({ '/home/ada': { mode: 0o40710, gid: 65_534 } })).toBe(requestedDirectory);
    expect(await choose({ '/home/ada': { mode: 0o40701, gid: 65_534 } })).not.toBe(requestedDirectory);
  });

  test('asks for no mode where the server runs as the same user', async () => {
    const readFileMode = () => Promise.reject(new Error('not to be asked'));
    const options = { requestedDirectory, account: undefined };
    expect(await choosePostgresDirectory(readFileMode, options)).toBe(requestedDirectory);
  });
});
