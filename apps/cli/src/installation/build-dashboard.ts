import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { glob, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT_DIRECTORY } from '../terminal/cli-context.ts';

const WEB_DIRECTORY = join(PROJECT_DIRECTORY, 'apps', 'web');
const toCacheDirectory = (web: string): string => join(web, 'node_modules', '.cache', 'dashboard');
/** Everything that the build depends on; the lock file has the versions of libraries. */
const SOURCES = [
  'src/**/*.{ts,tsx,css}',
  'public/*',
  'index.html',
  'vite.config.ts',
  'package.json',
  '../../pnpm-lock.yaml',
];
const BUILD_TIMEOUT_MS = 300_000;

const run = promisify(execFile);

/** The folder of the dashboard that `provideDashboard` built from these sources; undefined if it has not. */
export async function findBuiltDashboard(web = WEB_DIRECTORY): Promise<string | undefined> {
  if (!existsSync(toCacheDirectory(web))) return undefined;
  const directory = join(toCacheDirectory(web), await hashSources(web));
  return existsSync(directory) ? directory : undefined;
}

/**
 * The folder of the built dashboard. In a clone it is built if these sources have not been built yet, which takes some
 * seconds. Undefined if this is not a clone and no built dashboard came with it, or, with a warning, if the build
 * failed. Everything else works without it.
 */
export async function provideDashboard(note: (line: string) => void): Promise<string | undefined> {
  const vite = join(WEB_DIRECTORY, 'node_modules', 'vite', 'bin', 'vite.js');
  if (!existsSync(vite) || !existsSync(join(WEB_DIRECTORY, 'src'))) return undefined;
  const directory = join(toCacheDirectory(WEB_DIRECTORY), await hashSources(WEB_DIRECTORY));
  if (existsSync(directory)) return directory;
  note('Building the dashboard …');
  // Built beside it first, because another process may be building the same.
  const unfinished = `${directory}.${process.pid}`;
  try {
    const build = [vite, 'build', '--outDir', unfinished, '--emptyOutDir', '--logLevel', 'error'];
    // Otherwise React would include its development checks, whatever this process runs as.
    const env = { ...process.env, NODE_ENV: 'production' };
    await run(process.execPath, build, { cwd: WEB_DIRECTORY, env, timeout: BUILD_TIMEOUT_MS });
    await rename(unfinished, directory);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (existsSync(directory)) return directory;
    const [reason = ''] = String((error as { stderr?: string }).stderr || error).split('\n', 1);
    note(`warning: the dashboard could not be built, and is left out (${reason}).`);
    return undefined;
  }
  return directory;
}

/** A hash of all that the build depends on. */
export async function hashSources(web: string): Promise<string> {
  const hash = createHash('sha256');
  const paths: string[] = [];
  for await (const path of glob(SOURCES, { cwd: web })) paths.push(path);
  for (const path of paths.sort()) {
    const content = await readFile(join(web, path));
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}
