// @ts-check
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * The process whose end ends what it started, which is npm, and not the shell between it and this one, which outlives
 * an npm that is killed.
 * @param {number} parentPid
 * @param {(pid: number) => string} readProcess
 * @returns {number}
 */
export function findStarter(parentPid = process.ppid, readProcess = readParentAndName) {
  // The program's name may have spaces.
  const [, grandparentPid, name = ''] = /^(\d+) (.*)$/.exec(readProcess(parentPid)) ?? [];
  const isShell = /(?:^|[/-])(?:ba|da|z|k|a)?sh$/.test(name);
  return isShell ? Number(grandparentPid) : parentPid;
}

/**
 * @param {number} pid
 * @returns {string} as in `17 dash`; empty where it cannot be known
 */
function readParentAndName(pid) {
  try {
    if (process.platform === 'linux') {
      // proc(5): `pid (name) state ppid …`
      const [, name, parent] = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
      return `${parent} ${name}`;
    }
    if (process.platform === 'win32') return '';
    return execFileSync('ps', ['-o', 'ppid=,comm=', '-p', `${pid}`], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}
