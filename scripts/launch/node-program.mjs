// @ts-check
// Plain JavaScript that old versions of Node understand.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** As `engines` in package.json says. */
const NEEDED = { major: 22, minor: 18 };
/** The Node that npm installs where this machine's is too old. */
export const NODE_PACKAGE = 'node@24';

/**
 * @param {string} version such as `24.1.0`
 * @returns {boolean}
 */
export function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > NEEDED.major || (major === NEEDED.major && minor >= NEEDED.minor);
}

/**
 * Runs a program such as npx, which is a batch file on Windows. Those are only run by a shell, which takes one line.
 * @param {string} program
 * @param {readonly string[]} words
 * @param {NodeJS.Platform} platform
 * @returns {{ file: string, words: string[], shell: boolean }} arguments of spawn
 */
export function toCommand(program, words, platform = process.platform) {
  if (platform !== 'win32') return { file: program, words: [...words], shell: false };
  return { file: quoteForCmd(program), words: words.map(quoteForCmd), shell: true };
}

/** @param {string} word */
function quoteForCmd(word) {
  if (/^[\w@:\\/.,=+*~-]+$/.test(word)) return word;
  // A backslash before a quote would take its meaning; a doubled quote is one.
  return `"${word.replace(/(\\*)"/g, '$1$1""').replace(/(\\+)$/, '$1$1')}"`;
}

/**
 * The Node that runs recount (this one if it is new enough, else npm's, which is remembered).
 * @param {string} memoryPath a file of two lines, which are the Node on PATH when it was written, and the one to use
 * @param {{ version: string, install: () => string }} deps
 * @returns {string} the path of the program
 */
export function findNode(memoryPath, { version, install } = { version: process.versions.node, install: installNode }) {
  if (isNewEnough(version)) return process.execPath;
  const remembered = readChosen(memoryPath);
  return remembered !== undefined && remembered !== process.execPath && existsSync(remembered) ? remembered : install();
}

function installNode() {
  const { file, words, shell } = toCommand('npx', ['-y', '-p', NODE_PACKAGE, 'node', '-p', 'process.execPath']);
  return execFileSync(file, words, { shell, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

/** @param {string} memoryPath */
function readChosen(memoryPath) {
  try {
    return readFileSync(memoryPath, 'utf8').split('\n')[1] || undefined;
  } catch {
    return undefined;
  }
}

/**
 * Notes the chosen Node, and the one on PATH of that time.
 * @param {string} memoryPath
 * @param {string} own
 * @param {string} chosen
 */
export function rememberNode(memoryPath, own, chosen) {
  try {
    mkdirSync(dirname(memoryPath), { recursive: true });
    writeFileSync(`${memoryPath}.${process.pid}`, `${own}\n${chosen}\n`);
    renameSync(`${memoryPath}.${process.pid}`, memoryPath);
  } catch {
    // A checkout may be read-only. The Node is found again the next time.
  }
}
