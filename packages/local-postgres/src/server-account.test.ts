import { describe, expect, test } from 'vitest';
import { type AccountSystem, chooseInitdbAccount, provideServerAccount } from './server-account.ts';

const root = 'root:x:0:0:root:/root:/bin/bash\n';
const server = 'recount-postgres:x:998:997::/nonexistent:/usr/sbin/nologin\n';

/** A system whose commands behave as in `commands`; others are not installed. */
function createSystem(
  { passwd = root, group = 'root:x:0:\n' }: { passwd?: string; group?: string },
  commands: Record<string, (files: { passwd: string; group: string }) => void> = {},
) {
  const files = { passwd, group };
  const calls: string[] = [];
  const system: AccountSystem = {
    readEntries: async (file) => files[file],
    async run(program) {
      calls.push(program);
      const command = commands[program];
      if (command === undefined) throw Object.assign(new Error('no such program'), { code: 'ENOENT' });
      command(files);
    },
  };
  return { system, files, calls };
}

describe('provideServerAccount', () => {
  test('is for root alone', async () => {
    expect(await provideServerAccount(1000)).toBeUndefined();
    expect(await provideServerAccount(undefined)).toBeUndefined();
  });

  test('finds the user, or creates it', async () => {
    const known = createSystem({ passwd: root + server });
    expect(await provideServerAccount(0, known.system)).toEqual({ uid: 998, gid: 997 });
    expect(known.calls).toEqual([]);
    const fresh = createSystem({}, { useradd: (files) => (files.passwd += server) });
    expect(await provideServerAccount(0, fresh.system)).toEqual({ uid: 998, gid: 997 });
    expect(fresh.calls).toEqual(['useradd']);
  });

  test('finds the user that another process creates at this moment', async () => {
    const useradd = (files: { passwd: string }) => {
      files.passwd += server;
      throw new Error('user already exists');
    };
    const { system } = createSystem({}, { useradd });
    expect(await provideServerAccount(0, system)).toEqual({ uid: 998, gid: 997 });
  });

  test('completes a half-created user, and takes an unused id', async () => {
    const { system, files } = createSystem(
      { passwd: `${root}other:x:60790:1::/:/bin/sh\n`, group: 'other:x:60791:\n' },
      {
        useradd(files) {
          files.group += 'recount-postgres:x:997:\n';
          throw new Error('cannot lock /etc/passwd');
        },
        groupdel: (files) => (files.group = files.group.replace(/^recount-postgres.*\n/m, '')),
      },
    );
    expect(await provideServerAccount(0, system)).toEqual({ uid: 60_792, gid: 60_792 });
    expect(files.group).toBe('other:x:60791:\n');
  });
});

test('initdb, which requires a name, runs as another user if the account has none', async () => {
  const { system } = createSystem({ passwd: root + server });
  expect(await chooseInitdbAccount({ uid: 998, gid: 997 }, system)).toEqual({ uid: 998, gid: 997 });
  expect(await chooseInitdbAccount({ uid: 60_790, gid: 60_790 }, system)).toEqual({ uid: 65_534, gid: 65_534 });
});
