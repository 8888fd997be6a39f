import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Program } from './programs/program.ts';

const execute = promisify(execFile);
/** The largest packages have 300 MB. */
const INSTALL_TIMEOUT_MS = 15 * 60_000;
const LOOK_UP_TIMEOUT_MS = 60_000;
/** A newest version may name packages that are not published yet, so this many older ones are tried. */
const MAX_VERSIONS_TRIED = 3;

export interface InstalledProgram {
  version: string;
  /** The program with the arguments that start it. */
  command: readonly [string, ...string[]];
  /** Newer versions that could not be installed. */
  skippedVersions: string[];
}

/** Per user, and outside the repository. */
export function toCacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  return join(environment.XDG_CACHE_HOME || join(homedir(), '.cache'), 'recount-lab');
}

export interface InstallOptions {
  /** Undefined means the newest one that can be installed. */
  version?: string | undefined;
  /** Asks npm for nothing. Without a version, the newest one in the cache is used. */
  isOffline?: boolean | undefined;
}

/** Installs a version from npm, unless the cache has it. */
export async function installProgram(program: Program, options: InstallOptions): Promise<InstalledProgram> {
  const { version: wanted, isOffline = false } = options;
  const newest = () => (isOffline ? listCached(program.agent) : listNewest(program.packageName));
  const versions = wanted === undefined ? await newest() : [wanted];
  const skippedVersions: string[] = [];
  for (const version of versions) {
    const folder = join(toCacheFolder(), program.agent, version);
    try {
      if (!existsSync(folder)) await install(program.packageName, version, folder);
    } catch (error) {
      if (version === versions.at(-1)) throw error;
      skippedVersions.push(version);
      continue;
    }
    return { version, command: await findCommand(program, folder), skippedVersions };
  }
  throw new Error(`There is no version of ${program.packageName}`);
}

/** The newest versions by npm's `latest`, and those before it, without pre-releases. */
async function listNewest(packageName: string): Promise<string[]> {
  const { stdout } = await execute('npm', ['view', packageName, 'dist-tags.latest', 'versions', '--json'], {
    timeout: LOOK_UP_TIMEOUT_MS,
    maxBuffer: 64 * 1024 ** 2,
  });
  const answer = JSON.parse(stdout) as { 'dist-tags.latest': string; versions: string[] | string };
  const latest = answer['dist-tags.latest'];
  const released = [answer.versions].flat().filter((version) => /^\d+\.\d+\.\d+$/.test(version));
  const before = released.slice(0, Math.max(0, released.indexOf(latest))).reverse();
  return [latest, ...before].slice(0, MAX_VERSIONS_TRIED);
}

/** Versions in the cache, the newest one first. */
async function listCached(agent: string): Promise<string[]> {
  const names = await readdir(join(toCacheFolder(), agent)).catch(() => []);
  const versions = names.filter((name) => /^\d+\.\d+\.\d+$/.test(name));
  return versions.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
}

async function install(packageName: string, version: string, folder: string): Promise<void> {
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  await writeFile(join(unfinished, 'package.json'), '{"private":true}');
  const words = ['install', '--no-audit', '--no-fund', '--loglevel=error', `${packageName}@${version}`];
  await execute('npm', words, { cwd: unfinished, timeout: INSTALL_TIMEOUT_MS });
  await mkdir(dirname(folder), { recursive: true });
  await rename(unfinished, folder);
}

/** The file that the package's `bin` names, started by Node, if it is a script. */
async function findCommand(program: Program, folder: string): Promise<[string, ...string[]]> {
  const packageFolder = join(folder, 'node_modules', program.packageName);
  const { bin } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as {
    bin?: string | Record<string, string>;
  };
  const named = typeof bin === 'string' ? bin : bin?.[program.command];
  const path = join(packageFolder, named ?? join('bin', program.command));
  const start = (await readFile(path)).subarray(0, 64).toString('latin1');
  const isScript = /^#!.*\bnode\b/.test(start) || /\.[cm]?js$/.test(path);
  return isScript ? [process.execPath, path] : [path];
}
