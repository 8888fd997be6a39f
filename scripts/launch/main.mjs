// @ts-check Plain JavaScript that old versions of Node understand. It is what package.json and ./recount start, on
// every system.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installDependencies } from './dependencies.mjs';
import { findNode, rememberNode } from './node-program.mjs';
import { findStarter } from './starter.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const memoryPath = join(root, 'node_modules', '.cache', 'recount-node');

const SERVERS = ['up', 'api', 'worker'];

const [task = '', ...words] = process.argv.slice(2);
switch (task) {
  case 'start':
    start(words);
    break;
  case 'recount':
    recount(words);
    break;
  case 'node': {
    // Prints the Node to use for the one on PATH, which the caller names.
    const chosen = findNode(memoryPath);
    rememberNode(memoryPath, words[0] ?? process.execPath, chosen);
    console.log(chosen);
    break;
  }
  default:
    throw new Error(`No task ${task}`);
}

/**
 * Runs `recount up`, after pnpm has installed what is missing.
 * @param {readonly string[]} paths
 */
function start(paths) {
  const exitCode = installDependencies(root);
  if (exitCode !== 0) process.exit(exitCode);
  const chosen = findNode(memoryPath);
  rememberNode(memoryPath, process.execPath, chosen);
  runRecount(chosen, ['up', ...paths], { ...process.env, RECOUNT_STARTED_BY: `${findStarter()}` });
}

/** @param {readonly string[]} words */
function recount(words) {
  if (!existsSync(join(root, 'apps', 'cli', 'node_modules'))) {
    console.error(`recount: nothing is installed yet. Run 'npm start' in ${root} once, or 'pnpm install'.`);
    process.exit(1);
  }
  runRecount(findNode(memoryPath), words, process.env);
}

/**
 * @param {string} node
 * @param {readonly string[]} words
 * @param {NodeJS.ProcessEnv} env
 */
function runRecount(node, words, env) {
  // As in ./recount.
  const youngMb = words[0] === 'api' ? 1 : 8;
  const program = join(root, 'apps', 'cli', 'bin', 'recount.mjs');
  const nodeWords = [`--max-semi-space-size=${youngMb}`, program, ...words];
  // The program takes this one's place and id. Windows and older versions of Node start it beside this one.
  const own = SERVERS.includes(words[0] ?? '') ? { MALLOC_ARENA_MAX: '2', ...env } : env;
  if (process.platform !== 'win32') process.execve?.(node, [node, ...nodeWords], own);
  run(node, nodeWords, {
    env: own,
    // By the channel the program notices where this process is killed.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
}

/**
 * Ends as the program ends. Signals are passed on; on Windows Ctrl-C reaches all of a console, and passing on would kill.
 * @param {string} file
 * @param {readonly string[]} words
 * @param {import('node:child_process').SpawnOptions} options
 */
function run(file, words, options) {
  const child = spawn(file, words, options);
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => void (process.platform === 'win32' || child.kill(name)));
  }
  child.once('error', (error) => {
    console.error(`recount: ${file} cannot be run: ${error.message}`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
}
