import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { withClient } from './databases.ts';
import { LocalPostgresError } from './local-postgres-error.ts';
import { findNativePackage, providePostgresPrograms, provideUsablePrograms } from './postgres-binaries.ts';
import { provideCluster } from './postgres-cluster.ts';
import { findPostmaster, waitForExit } from './postmaster.ts';
import { isProcessLockHeld } from './process-lock.ts';
import { isUsable, provideServerAccount } from './server-account.ts';
import { spawnPostgres } from './spawn-postgres.ts';
import { type LocalPostgres, startLocalPostgres } from './start-local-postgres.ts';

const isRoot = process.getuid?.() === 0;
/** The user `daemon`, because initdb requires that its user has a name. */
const ordinaryAccount = { uid: 1, gid: 1 };
const unsafe = { fsync: 'off' };
const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 } as const;

/** An empty one. The next run recognises its name and removes what a killed one left. */
async function createDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), `recount-test-postgres-${process.pid}-`));
  onTestFinished(() => rm(directory, removal));
  return directory;
}

let template: string | undefined;
afterAll(async () => {
  if (template !== undefined) await rm(template, removal);
});

/**
 * One with a cluster that a server has run on. It is made once, and copied, because initdb takes a second of processor
 * time.
 */
async function createClusterDirectory(): Promise<string> {
  if (template === undefined) {
    const directory = await mkdtemp(join(tmpdir(), `recount-test-postgres-${process.pid}-`));
    const server = await startLocalPostgres({ directory, settings: unsafe });
    await server.stop();
    template = server.directory;
  }
  const directory = await createDirectory();
  // With owners and modes, which `cp` of node:fs does not keep.
  await promisify(execFile)('cp', ['-a', join(template, 'cluster'), directory]);
  return directory;
}

async function start(directory: string, settings: Record<string, string> = unsafe): Promise<LocalPostgres> {
  const server = await startLocalPostgres({ directory, settings });
  onTestFinished(() => server.stop());
  return server;
}

/** Another process that starts a server; it is always killed with the test. */
function spawnHolder(directory: string, ...more: string[]): ChildProcess {
  const script = join(import.meta.dirname, 'fixtures', 'hold-local-postgres.ts');
  const holder = spawn(process.execPath, [script, directory, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    if (holder.exitCode !== null || holder.signalCode !== null) return;
    holder.kill('SIGTERM');
    await once(holder, 'exit');
  });
  return holder;
}

async function readServer(holder: ChildProcess): Promise<Omit<LocalPostgres, 'stop'>> {
  if (holder.stdout === null) throw new Error('the holder has no output');
  const exited = once(holder, 'exit').then(([code]) => Promise.reject(new Error(`the holder exited with ${code}`)));
  const [text] = await Promise.race([once(holder.stdout, 'data'), exited]);
  return JSON.parse(String(text));
}

async function end(holder: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  holder.kill(signal);
  await once(holder, 'exit');
}

async function readValue(connectionString: string, sql: string): Promise<unknown> {
  const { rows } = await withClient(connectionString, (client) => client.query<{ value: unknown }>(sql));
  return rows[0]?.value;
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone, as expected.
  }
}

const dataOf = (server: Pick<LocalPostgres, 'directory'>) => join(server.directory, 'cluster', 'data');

describe('startLocalPostgres', () => {
  test('keeps its data across starts, and its port and password private to this machine', async () => {
    const directory = await createDirectory();
    const first = await startLocalPostgres({ directory });
    onTestFinished(() => first.stop());
    await withClient(first.connectionString, (client) => client.query('CREATE TABLE kept AS SELECT 42 AS value'));
    expect(
      await readValue(
        first.connectionString,
        `SELECT jsonb_build_object('database', current_database(), 'provider', datlocprovider, 'locale', datlocale,
           'encoding', pg_encoding_to_char(encoding), 'checksums', current_setting('data_checksums'),
           'fsync', current_setting('fsync'), 'addresses', current_setting('listen_addresses'),
           'sockets', current_setting('unix_socket_directories')) AS value
         FROM pg_database WHERE datname = current_database()`,
      ),
    ).toEqual({
      database: 'recount',
      provider: 'b',
      locale: 'C.UTF-8',
      encoding: 'UTF8',
      checksums: 'on',
      fsync: 'on',
      addresses: '127.0.0.1',
      sockets: '',
    });
    const withWrongPassword = first.connectionString.replace(/:[0-9a-f]{48}@/, ':wrong@');
    await expect(readValue(withWrongPassword, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    expect((await stat(join(directory, 'cluster', 'password'))).mode & 0o777).toBe(0o600);

    await Promise.all([first.stop(), first.stop()]);
    await first.stop();
    await expect(readValue(first.connectionString, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });

    const second = await start(directory);
    expect(await readValue(second.connectionString, 'SELECT value FROM kept')).toBe(42);
    expect(await readValue(second.connectionString, `SELECT current_setting('fsync') AS value`)).toBe('off');
  });

  test('logs errors without the values of the statement', async () => {
    const lines: string[] = [];
    const options = {
      directory: await createClusterDirectory(),
      settings: unsafe,
      onLog: (line: string) => lines.push(line),
    };
    const server = await startLocalPostgres(options);
    onTestFinished(() => server.stop());
    const insert = `INSERT INTO t VALUES ('a secret'), ('a secret')`;
    await expect(
      withClient(server.connectionString, (client) => client.query(`CREATE TABLE t (v text UNIQUE); ${insert}`)),
    ).rejects.toMatchObject({ code: '23505' });
    await server.stop();
    expect(lines.join('\n')).toContain('duplicate key');
    expect(lines.join('\n')).not.toContain('secret');
  });

  test('is started again if it was killed, also by the process that started it', async () => {
    const directory = await createClusterDirectory();
    const first = await start(directory);
    const postmaster = await findPostmaster(dataOf(first));
    process.kill(postmaster?.pid ?? 0, 'SIGKILL');
    expect(await first.waitForExit()).toBe('SIGKILL');
    const second = await startLocalPostgres({ directory, settings: unsafe, port: first.port });
    onTestFinished(() => second.stop());
    expect(second.connectionString).toBe(first.connectionString);
    expect(await readValue(second.connectionString, 'SELECT 1 AS value')).toBe(1);
  });

  test('is awaited beyond the time limit while it recovers', async () => {
    const directory = await createClusterDirectory();
    const first = await start(directory);
    await first.stop();
    // As a standby without hot_standby, the server recovers until it is promoted.
    const signal = join(dataOf(first), 'standby.signal');
    await writeFile(signal, '');
    await chown(signal, (await stat(dataOf(first))).uid, (await stat(dataOf(first))).gid);
    const startTimeoutMs = 2_000;
    const settings = { ...unsafe, hot_standby: 'off', restore_command: 'false' };
    const onRecovery = async (): Promise<void> => {
      await sleep(startTimeoutMs);
      await writeFile(join(dataOf(first), 'promote'), '');
      process.kill((await findPostmaster(dataOf(first)))?.pid ?? 0, 'SIGUSR1');
    };
    const second = await startLocalPostgres({ directory, settings, startTimeoutMs, onRecovery });
    onTestFinished(() => second.stop());
    expect(await readValue(second.connectionString, 'SELECT pg_is_in_recovery() AS value')).toBe(false);
  });

  test('lets two concurrent starts share one server', async () => {
    const directory = await createDirectory();
    const [one, other] = await Promise.all([start(directory), start(directory)]);
    expect(one.connectionString).toBe(other.connectionString);
    expect(await readdir(directory)).not.toContainEqual(expect.stringContaining('.tmp'));
  });

  test('repeats initdb if it was killed half-way', async () => {
    const partial = /^cluster\..*\.tmp$/;
    const killDuringInitdb = async (): Promise<string> => {
      const directory = await createDirectory();
      const holder = spawnHolder(directory);
      const hasBegun = (entry: string): boolean => partial.test(entry) || entry === 'cluster';
      while (!(await readdir(directory)).some(hasBegun)) await sleep(5);
      await end(holder, 'SIGKILL');
      if (!(await readdir(directory)).includes('cluster')) return directory;
      // It was faster than this process looked. Its server is adopted, and stops with the test.
      await start(directory);
      return await killDuringInitdb();
    };
    const directory = await killDuringInitdb();
    expect(await readdir(directory)).toContainEqual(expect.stringMatching(partial));
    const server = await start(directory);
    expect(await readValue(server.connectionString, 'SELECT 1 AS value')).toBe(1);
    expect((await readdir(directory)).sort()).toEqual(['cluster', 'cluster.lock', 'owner.lock']);
  });

  test('starts if postmaster.pid names a process that is not a server of this cluster', async () => {
    const directory = await createClusterDirectory();
    const first = await start(directory);
    await first.stop();
    const stranger = spawn('sleep', ['60'], { ...(await provideServerAccount(process.getuid?.())), stdio: 'ignore' });
    onTestFinished(() => void stranger.kill());
    const lockFile = `${stranger.pid}\n${dataOf(first)}\n1795300883\n${first.port}\n\n127.0.0.1\n`;
    await writeFile(join(dataOf(first), 'postmaster.pid'), lockFile);
    const second = await start(directory);
    expect(await readValue(second.connectionString, 'SELECT 1 AS value')).toBe(1);
  });

  test('starts if a crash left an empty postmaster.pid', async () => {
    const directory = await createClusterDirectory();
    const first = await start(directory);
    await first.stop();
    await writeFile(join(dataOf(first), 'postmaster.pid'), '');
    const second = await start(directory);
    expect(await readValue(second.connectionString, 'SELECT 1 AS value')).toBe(1);
  });
});

describe('a server of another process', () => {
  test('is adopted and stopped if that process was killed', async () => {
    const directory = await createClusterDirectory();
    const holder = spawnHolder(directory);
    const held = await readServer(holder);
    await end(holder, 'SIGKILL');
    const adopted = await start(directory);
    expect(adopted.connectionString).toBe(held.connectionString);
    // Its log goes nowhere now; that must not affect it.
    await expect(readValue(adopted.connectionString, 'SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' });
    await adopted.stop();
    expect(await findPostmaster(dataOf(adopted))).toBeUndefined();
  });

  test('is awaited until the last of its processes is gone', async () => {
    const directory = await createClusterDirectory();
    const holder = spawnHolder(directory);
    const held = await readServer(holder);
    const client = new Client({ connectionString: held.connectionString });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const backend = rows[0]?.pid ?? 0;
    // A suspended process does not notice that its server is gone, like one in a long computation.
    process.kill(backend, 'SIGSTOP');
    onTestFinished(() => tryKill(backend));
    const postmaster = await findPostmaster(dataOf(held));
    await end(holder, 'SIGKILL');
    process.kill(postmaster?.pid ?? 0, 'SIGKILL');
    expect(await waitForExit(dataOf(held), postmaster?.pid ?? 0, 120_000)).toBe(true);
    expect(isProcessLockHeld(join(held.directory, 'cluster.lock'))).toBe(true);
    const impatient = startLocalPostgres({ directory, settings: unsafe, startTimeoutMs: 500 });
    await expect(impatient).rejects.toThrow(/Some process still has .*cluster\.lock open.*fuser/s);
    const starting = start(directory);
    process.kill(backend, 'SIGCONT');
    expect(await readValue((await starting).connectionString, 'SELECT 1 AS value')).toBe(1);
    await client.end();
  });

  test('is stopped if it has no lock, as 0.3 and pg_ctl start it', async () => {
    const directory = await createClusterDirectory();
    const first = await start(directory);
    await first.stop();
    const account = await provideServerAccount(process.getuid?.());
    const options = { account, dataDirectory: dataOf(first), port: first.port, settings: unsafe, onLog: () => {} };
    const programsDirectory = await providePostgresPrograms(account);
    const elsewhere = await open(join(directory, 'elsewhere.lock'), 'w');
    const unlocked = await spawnPostgres({ ...options, programsDirectory, lockFd: elsewhere.fd });
    await elsewhere.close();
    onTestFinished(() => tryKill(unlocked.pid));
    while ((await findPostmaster(dataOf(first))) === undefined) await sleep(5);
    const second = await start(directory);
    expect(await unlocked.exited).toBe('code 0');
    expect(await readValue(second.connectionString, 'SELECT 1 AS value')).toBe(1);
  });

  test('is refused if it is not visible from here, and its postmaster.pid left alone', async () => {
    const directory = await createClusterDirectory();
    const server = await start(directory);
    const pidFile = await readFile(join(dataOf(server), 'postmaster.pid'), 'utf8');
    const note = join(server.directory, 'owner.lock');
    const elsewhere = { pid: 7, hostName: 'elsewhere', bootId: 'another', pidNamespace: 'pid:[1]' };
    await writeFile(note, JSON.stringify(elsewhere));
    await expect(startLocalPostgres({ directory })).rejects.toThrow(
      /is in use by process 7 on host elsewhere \(boot another, PID namespace pid:\[1\]\), which is not visible from here.*RECOUNT_DATA_DIR/,
    );
    expect(await readFile(join(dataOf(server), 'postmaster.pid'), 'utf8')).toBe(pidFile);
    expect(await readValue(server.connectionString, 'SELECT 1 AS value')).toBe(1);
  });

  test('is shared and left running while that process lives', async () => {
    const directory = await createClusterDirectory();
    const holder = spawnHolder(directory);
    const held = await readServer(holder);
    const shared = await start(directory);
    expect(shared.connectionString).toBe(held.connectionString);
    await shared.stop();
    expect(await readValue(held.connectionString, 'SELECT 1 AS value')).toBe(1);
    await end(holder, 'SIGTERM');
    expect(await findPostmaster(dataOf(held))).toBeUndefined();
  });

  test('stops if that process exits without stopping it', async () => {
    const holder = spawnHolder(await createClusterDirectory());
    const held = await readServer(holder);
    const postmaster = await findPostmaster(dataOf(held));
    await end(holder, 'SIGHUP');
    expect(await waitForExit(dataOf(held), postmaster?.pid ?? 0, 120_000)).toBe(true);
  });
});

describe('failures', () => {
  test('include what the server said', async () => {
    const failing = start(await createClusterDirectory(), { fsync: 'perhaps' });
    await expect(failing).rejects.toThrow(LocalPostgresError);
    await expect(failing).rejects.toThrow(/parameter "fsync" requires a Boolean value.*DATABASE_URL/s);
  });

  test('include what initdb said, and leave no cluster', async () => {
    const directory = await createDirectory();
    await mkdir(join(directory, 'bin'));
    await writeFile(join(directory, 'bin', 'initdb'), '#!/bin/sh\necho no space left >&2; exit 1\n', { mode: 0o755 });
    const options = { programsDirectory: directory, account: undefined, timeoutMs: 5_000, syncToDisk: false };
    await expect(provideCluster(directory, options)).rejects.toThrow(/initdb failed: no space left.*DATABASE_URL/s);
    expect(await readdir(directory)).toEqual(['bin']);
  });

  test('leave a directory alone that contains other files', async () => {
    const directory = await createDirectory();
    await writeFile(join(directory, 'letter.txt'), '');
    await chmod(directory, 0o755);
    await expect(start(directory)).rejects.toThrow('holds other files');
    expect((await stat(directory)).mode & 0o777).toBe(0o755);
  });

  test('name the missing platforms and packages', async () => {
    await expect(findNativePackage('aix-ppc64')).rejects.toThrow(/no bundled PostgreSQL for aix-ppc64.*DATABASE_URL/s);
    const elsewhere = process.platform === 'darwin' ? 'linux-x64' : 'darwin-arm64';
    await expect(findNativePackage(elsewhere)).rejects.toThrow(/programs are missing.*DATABASE_URL/s);
  });
});

describe.runIf(isRoot)('as root', () => {
  test('keeps the cluster below /var/lib if its own account cannot reach the directory', async () => {
    const directory = join(await createDirectory(), 'home', 'postgres');
    const server = await start(directory);
    onTestFinished(() => rm(server.directory, removal));
    expect(server.directory).toMatch(/^\/var\/lib\/recount\/postgres-[0-9a-f]{12}$/);
    expect(await readFile(join(directory, 'where-the-data-are.txt'), 'utf8')).toContain(server.directory);
    expect(await stat(dataOf(server))).toMatchObject({ uid: (await provideServerAccount(0))?.uid, mode: 0o40700 });
    await server.stop();
    const again = await start(directory);
    expect(again.directory).toBe(server.directory);
  });

  test('finds the database of a moved directory', async () => {
    const home = await createDirectory();
    const server = await start(join(home, 'before', 'postgres'));
    onTestFinished(() => rm(server.directory, removal));
    await withClient(server.connectionString, (client) => client.query('CREATE TABLE kept AS SELECT 42 AS value'));
    await server.stop();
    await rename(join(home, 'before'), join(home, 'after'));
    const moved = await start(join(home, 'after', 'postgres'));
    expect(await readValue(moved.connectionString, 'SELECT value FROM kept')).toBe(42);
  });

  test('takes over a cluster of 0.3, and runs it as a separate user', async () => {
    const directory = await createClusterDirectory();
    const first = await start(directory);
    onTestFinished(() => rm(first.directory, removal));
    await withClient(first.connectionString, (client) => client.query('CREATE TABLE kept AS SELECT 42 AS value'));
    await first.stop();
    await promisify(execFile)('chown', ['-R', '65534:65534', dataOf(first)]);
    const secret = join(directory, 'secret');
    await writeFile(secret, '', { mode: 0o600 });
    await symlink(secret, join(dataOf(first), 'link'));
    await link(secret, join(dataOf(first), 'other-name'));

    const second = await start(directory);
    expect(await readValue(second.connectionString, 'SELECT value FROM kept')).toBe(42);
    const account = await provideServerAccount(0);
    expect(account?.uid).not.toBe(65_534);
    for (const entry of ['base', 'PG_VERSION', 'global/pg_control']) {
      expect(await stat(join(dataOf(second), entry))).toMatchObject({ ...account });
    }
    expect((await stat(dataOf(second))).mode & 0o777).toBe(0o700);
    expect((await stat(secret)).uid).toBe(0);
  });

  test('copies programs that its own account cannot reach', async () => {
    const { nativeDirectory } = await findNativePackage(`${process.platform}-${process.arch}`);
    const copyDirectory = await createDirectory();
    await chmod(copyDirectory, 0o755);
    const closed = join(await createDirectory(), 'native');
    await promisify(execFile)('cp', ['-a', nativeDirectory, closed]);
    await chmod(join(closed, 'lib'), 0o700);
    const copyPath = join(copyDirectory, 'native');
    for (const _ of ['copied', 'found']) {
      expect(await provideUsablePrograms(closed, ordinaryAccount, copyPath)).toBe(copyPath);
    }
    const { stdout } = await promisify(execFile)(join(copyPath, 'bin', 'postgres'), ['--version'], {
      ...ordinaryAccount,
      cwd: '/',
    });
    expect(stdout).toContain('postgres (PostgreSQL)');
    expect((await readdir(copyDirectory)).sort()).toEqual(['native', 'native.lock']);
  });

  test('an ordinary user keeps everything in place', async (context) => {
    const { nativeDirectory } = await findNativePackage(`${process.platform}-${process.arch}`);
    if (!(await isUsable(stat, nativeDirectory, ordinaryAccount))) context.skip('only root can read this checkout');
    const home = await createDirectory();
    await chown(home, ordinaryAccount.uid, ordinaryAccount.gid);
    const directory = join(home, '.recount', 'postgres');
    const held = await readServer(spawnHolder(directory, String(ordinaryAccount.uid)));
    expect(held.directory).toBe(directory);
    expect(await readValue(held.connectionString, 'SELECT 1 AS value')).toBe(1);
    expect(await stat(directory)).toMatchObject({ uid: ordinaryAccount.uid, mode: 0o40700 });
    expect((await stat(dataOf(held))).uid).toBe(ordinaryAccount.uid);
  });
});
