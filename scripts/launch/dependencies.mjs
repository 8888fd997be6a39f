// @ts-check
// Plain JavaScript that old versions of Node understand.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isNewEnough, NODE_PACKAGE, toCommand } from './node-program.mjs';

const PNPM_PACKAGE = 'pnpm@10.34.9';
/** The program, and what builds its dashboard. Tools for tests take more than half of a whole installation. */
const NEEDED_TO_RUN = ['--prod', '--filter', '@recount/cli...', '--filter', '@recount/web...'];
/** Whatever a user's settings say: packages below node_modules/.pnpm, and none in the store, which is removed. */
const LAYOUT = ['--config.node-linker=isolated', '--config.enable-global-virtual-store=false'];
/** Types, source maps and manuals of packages, a quarter of what is installed. */
const NOT_NEEDED_TO_RUN = /\.(?:[cm]?tsx?|map|flow|md|markdown)$/i;
const LICENCE = /licen[cs]e|copying|notice|readme/i;

/**
 * Installs what `recount up` needs, if pnpm-lock.yaml has changed since the last time. In a clone with development
 * tools these are kept up to date as well.
 * @param {string} root
 * @param {(file: string, words: string[], shell: boolean) => number} install returns the exit code
 * @returns {number} the exit code, 0 if there was nothing to do
 */
export function installDependencies(root, install = runInstallation) {
  const modules = join(root, 'node_modules');
  const stampPath = join(modules, '.cache', 'recount-lockfile');
  const hash = createHash('sha256')
    .update(readFileSync(join(root, 'pnpm-lock.yaml')))
    .digest('hex');
  if (existsSync(stampPath) && readFileSync(stampPath, 'utf8') === hash) return 0;
  const hasTools = existsSync(join(modules, '.bin'));
  const storePath = join(modules, '.cache', 'recount-store');
  const node = isNewEnough(process.versions.node) ? [] : ['-p', NODE_PACKAGE];
  const options = ['--frozen-lockfile', ...(hasTools ? [] : [...NEEDED_TO_RUN, ...LAYOUT, '--store-dir', storePath])];
  const command = toCommand('npx', ['-y', ...node, '-p', PNPM_PACKAGE, 'pnpm', 'install', ...options]);
  const exitCode = install(command.file, command.words, command.shell);
  if (exitCode !== 0) return exitCode;
  if (!hasTools) tidy(join(modules, '.pnpm'), storePath);
  mkdirSync(dirname(stampPath), { recursive: true });
  writeFileSync(stampPath, hash);
  return 0;
}

/**
 * @param {string} folder
 * @param {string} storePath
 */
function tidy(folder, storePath) {
  try {
    removeUnneeded(folder);
    // Otherwise what was removed would stay on the disk: pnpm's own store has a second link to each file.
    rmSync(storePath, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    // The program starts with more on the disk than it needs, for example if a virus scanner holds a file.
    console.error(
      `Some files that recount does not need were not removed: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/**
 * Follows no links, which lead to the sources of recount.
 * @param {string} folder
 */
function removeUnneeded(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeUnneeded(path);
    else if (entry.isFile() && NOT_NEEDED_TO_RUN.test(entry.name) && !LICENCE.test(entry.name)) unlinkSync(path);
  }
}

/**
 * @param {string} file
 * @param {string[]} words
 * @param {boolean} shell
 * @returns {number}
 */
function runInstallation(file, words, shell) {
  console.error('Installing …');
  // Its progress is no output of recount.
  const { status, error } = spawnSync(file, words, { shell, stdio: ['inherit', 2, 2] });
  if (error !== undefined) console.error(`recount: ${file} cannot be run: ${error.message}`);
  return status ?? 1;
}
