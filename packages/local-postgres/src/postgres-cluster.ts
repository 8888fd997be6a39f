import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LocalPostgresError, useYourOwnDatabase } from './local-postgres-error.ts';
import { buildDirectory, toProgramPath } from './postgres-binaries.ts';
import { containerMode } from './postgres-directory.ts';
import { chooseInitdbAccount, type ServerAccount, takeOverFiles } from './server-account.ts';
import { serverEnvironment, toLogTail } from './spawn-postgres.ts';

export const superuser = 'recount';
const passwordBytes = 24;
const maxInitdbOutputBytes = 1_048_576;

/** The paths of an existing cluster. */
export interface PostgresCluster {
  dataDirectory: string;
  password: string;
}

interface CreateClusterOptions {
  programsDirectory: string;
  account: ServerAccount | undefined;
  timeoutMs: number;
  /** False leaves the new files to the operating system's write-back, which is faster, but lost in a power failure. */
  syncToDisk: boolean;
}

async function runInitdb(clusterDirectory: string, options: CreateClusterOptions): Promise<void> {
  const { programsDirectory, account, timeoutMs, syncToDisk } = options;
  const commandArguments = [
    ...['--pgdata', join(clusterDirectory, 'data')],
    ...['--username', superuser, '--pwfile', join(clusterDirectory, 'password'), '--auth', 'scram-sha-256'],
    // The builtin provider sorts and folds case the same on every platform, whatever locales are installed.
    ...['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'],
    ...['--data-checksums', '--no-instructions', ...(syncToDisk ? [] : ['--no-sync'])],
  ];
  try {
    await promisify(execFile)(toProgramPath(programsDirectory, 'initdb'), commandArguments, {
      ...account,
      cwd: '/',
      env: serverEnvironment,
      timeout: timeoutMs,
      maxBuffer: maxInitdbOutputBytes,
    });
  } catch (cause) {
    const { stderr = '', message, killed } = cause as Error & { stderr?: string; killed?: boolean };
    const reason = killed ? `no end within ${timeoutMs} ms` : toLogTail(stderr) || message;
    throw new LocalPostgresError(`initdb failed: ${reason}\n${useYourOwnDatabase}`, { cause });
  }
}

async function createCluster(clusterDirectory: string, options: CreateClusterOptions): Promise<void> {
  const account = options.account && (await chooseInitdbAccount(options.account));
  await buildDirectory(clusterDirectory, async (temporaryDirectory) => {
    const passwordPath = join(temporaryDirectory, 'password');
    const dataDirectory = join(temporaryDirectory, 'data');
    await chmod(temporaryDirectory, containerMode(account));
    await writeFile(passwordPath, randomBytes(passwordBytes).toString('hex'), { mode: 0o600 });
    await mkdir(dataDirectory, { mode: 0o700 });
    if (account !== undefined) {
      await chown(passwordPath, account.uid, account.gid);
      await chown(dataDirectory, account.uid, account.gid);
    }
    await runInitdb(temporaryDirectory, { ...options, account });
    if (account !== undefined) await chown(passwordPath, 0, 0);
  });
}

/** The cluster in `directory`; undefined if none was created yet. */
export async function readCluster(directory: string): Promise<PostgresCluster | undefined> {
  const clusterDirectory = join(directory, 'cluster');
  const exists = await stat(clusterDirectory).then(
    () => true,
    () => false,
  );
  if (!exists) return undefined;
  const password = await readFile(join(clusterDirectory, 'password'), 'utf8');
  return { dataDirectory: join(clusterDirectory, 'data'), password };
}

/**
 * Finds the cluster in `directory`, or creates it: UTF-8 with the builtin locale C.UTF-8, data checksums, SCRAM with a
 * random password. An initdb that was killed leaves nothing that could pass for a cluster. The account owns the files
 * afterwards. The caller holds the cluster's lock, so no server is running on it.
 * @throws LocalPostgresError with the end of initdb's output
 */
export async function provideCluster(directory: string, options: CreateClusterOptions): Promise<PostgresCluster> {
  if ((await readCluster(directory)) === undefined) await createCluster(join(directory, 'cluster'), options);
  const cluster = await readCluster(directory);
  if (cluster === undefined) throw new LocalPostgresError(`${directory} was removed while PostgreSQL was started.`);
  if (options.account !== undefined) await takeOverFiles(cluster.dataDirectory, options.account);
  return cluster;
}
