import { mkdirSync, readFileSync, readlinkSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type FoundPlace, findPlaces } from '@recount/collect/find-places';
import type { SessionPlace } from '@recount/core';
import { isSettled } from '@recount/usage/settled';
import { guardTerminal } from '../terminal/guard-terminal.ts';
import { endQuietlyWithoutReader } from '../terminal/lost-reader.ts';
import { toUsageCache } from './cache-directory.ts';
import { type RememberedStatus, writeStatus } from './statusline.ts';

/** Increase it when the form of a remembered report changes. */
const VERSION = 1;
/** Reports with other options replace each other beyond this number. */
const MAX_REPORTS = 8;

/** The process that prints. */
interface Caller {
  env: Readonly<Record<string, string | undefined>>;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

/** A piece of output, and how it was written. */
export type Written = [stream: 'stdout' | 'stderr', how: 'write' | 'writeStyled', text: string];

interface RememberedReport {
  version: number;
  /** Everything but the history that the output depends on. */
  key: string;
  /** The agents' places, so that they are listed without loading what recount knows about agents. */
  places: readonly SessionPlace[];
  listing: string;
  written: readonly Written[];
  status: RememberedStatus;
}

/**
 * All files with their sizes and times; undefined if one of them may change unnoticed, or may be only a part of a
 * session.
 */
export function toListing(
  found: readonly FoundPlace[],
  places: readonly SessionPlace[],
  listedAtMs: number,
): string | undefined {
  const lines: string[] = [];
  for (const { index, files, denied, links } of found) {
    const holds = places[index]?.holds;
    if (holds === 'aside') continue;
    if (files.length > 0 && holds !== 'transcripts') return undefined;
    for (const { path, sizeBytes, modifiedAtMs } of files) {
      if (!isSettled(modifiedAtMs, listedAtMs)) return undefined;
      lines.push(`${path}\t${sizeBytes}\t${modifiedAtMs}`);
    }
    lines.push(...denied, ...links);
  }
  return lines.join('\n');
}

/** Prints the report of an earlier call with the same arguments, if nothing has changed since; returns whether it did. */
export function showRememberedReport(caller: Caller, words: readonly string[]): boolean {
  const directory = toUsageCache({ environment: caller.env });
  const listedAtMs = Date.now();
  const report = directory === undefined ? undefined : findReport(directory, caller, words, listedAtMs);
  if (directory === undefined || report === undefined) return false;
  const outputs = { stdout: guardTerminal(caller.stdout), stderr: guardTerminal(caller.stderr) };
  endQuietlyWithoutReader({ ...outputs, outlivesReader: false });
  for (const [stream, how, text] of report.written) outputs[stream][how](text);
  try {
    writeStatus(directory, { ...report.status, writtenAtMs: listedAtMs });
  } catch {
    // The status line starts a call that tries again.
  }
  return true;
}

function findReport(
  directory: string,
  caller: Caller,
  words: readonly string[],
  listedAtMs: number,
): RememberedReport | undefined {
  try {
    const key = toKey(caller, words);
    const report = JSON.parse(readFileSync(toPath(directory, key), 'utf8')) as Partial<RememberedReport>;
    if (report.version !== VERSION || report.key !== key) return undefined;
    const { places = [], listing } = report;
    const homeFolder = caller.env.HOME || homedir();
    const machine = { platform: process.platform, environment: caller.env, homeFolder };
    const isUnchanged = toListing(findPlaces(machine, places), places, listedAtMs) === listing;
    return isUnchanged && listing !== undefined ? (report as RememberedReport) : undefined;
  } catch {
    return undefined;
  }
}

/** Remembers a report for calls with the same arguments. If that fails, they read again. */
export function rememberReport(
  directory: string,
  caller: Caller,
  words: readonly string[],
  report: Omit<RememberedReport, 'version' | 'key'>,
): void {
  try {
    const key = toKey(caller, words);
    const path = toPath(directory, key);
    const temporary = `${path}.${process.pid}`;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(temporary, JSON.stringify({ version: VERSION, key, ...report }), { mode: 0o600 });
    renameSync(temporary, path);
  } catch {
    return;
  }
}

function toPath(directory: string, key: string): string {
  let hash = 0;
  for (let index = 0; index < key.length; index++) hash = (hash * 31 + key.charCodeAt(index)) % 1_000_003;
  return join(directory, `report-${hash % MAX_REPORTS}.json`);
}

/** The day is in it, because a report says how old its prices are. Throws if a change of the program could not be seen. */
function toKey({ env, stdout, stderr }: Caller, words: readonly string[]): string {
  const now = new Date();
  const toTraits = (stream: NodeJS.WriteStream) =>
    stream.isTTY ? [stream.columns, stream.getColorDepth(), stream.hasColors()] : [];
  const settings = Object.entries(env).filter(([name]) => /^(?:RECOUNT_.*|COLUMNS|NO_COLOR|FORCE_COLOR)$/.test(name));
  const day = [now.toISOString().slice(0, 10), now.getFullYear(), now.getMonth(), now.getDate()];
  return JSON.stringify([
    ...[toProgram(), process.version, words, settings, toZone(env.TZ), day],
    ...[toTraits(stdout), toTraits(stderr)],
  ]);
}

/**
 * The version, and in a checkout the size of git's log of commits and pulls, which grows with each. Changes that are not
 * committed need --no-cache.
 */
function toProgram(): unknown[] {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const git = fileURLToPath(new URL('../../../../.git', import.meta.url));
  const stats = statSync(git, { throwIfNoEntry: false });
  if (stats === undefined) return [version];
  // In a linked worktree, a file names the folder.
  const folder = stats.isDirectory()
    ? git
    : readFileSync(git, 'utf8')
        .replace(/^gitdir: /, '')
        .trim();
  return [version, statSync(join(folder, 'logs/HEAD')).size];
}

function toZone(zone: string | undefined): string {
  if (zone !== undefined) return `TZ=${zone}`;
  try {
    // Asking Intl takes as long as everything else.
    return readlinkSync('/etc/localtime');
  } catch {
    return new Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
}
