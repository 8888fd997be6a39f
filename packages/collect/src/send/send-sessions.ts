import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FoundSessions, findSessions, type Machine } from '../find-sessions.ts';
import { findInStores } from '../read-sessions.ts';
import type { MatchedFile } from '../match-files.ts';
import { AGENTS, findReadableFormat } from '@recount/core';
import { openSentLog, type SentFile, type SentLog } from '../spool/sent-log.ts';
import {
  addWaiting,
  createSpoolFolder,
  keepFile,
  listWaiting,
  readHookNotes,
  readJson,
  removeHookNotes,
  removeWaiting,
  type SpoolFolder,
  toKeptPath,
  type WaitingFile,
  writeWhole,
} from '../spool/spool-folder.ts';
import { type ReadFile, readSessionFile, waitUntilSettled } from './read-session-file.ts';
import { DeliveryError, type SessionTarget } from './session-target.ts';

export interface SendDependencies {
  folder: SpoolFolder;
  machine: Machine;
  target: SessionTarget;
  /** Version of what the target runs, where it can be asked: a newer one may take what an older one refused. */
  readTargetVersion?: (() => Promise<string>) | undefined;
  /** Makes this the only process that sends; undefined where another one does. */
  takeLock(): { release(): void } | undefined;
  /** Why a file is not to leave this machine; undefined where it may. Called with its first bytes. */
  findExclusion?: ((path: string, head: Buffer) => string | undefined) | undefined;
}

export interface SendOptions {
  /** Looks through all places of all agents. Default: where a hook asks for it, and once a day. */
  sweeps?: boolean | undefined;
  /** Default 2000. */
  settleMs?: number | undefined;
  /** How long a file is waited for that never rests, before its whole lines are sent. Default 15,000. */
  maxSettleWaitMs?: number | undefined;
  /** Before a second attempt at a file; twice as long before the third. Default 1000. */
  retryDelayMs?: number | undefined;
  onProgress?: ((progress: SendSummary & { waiting: number }) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface SendSummary {
  sent: number;
  /** The server had them already. */
  duplicates: number;
  /** Not to be taken, or kept here by the user's wish. */
  refused: number;
  sentBytes: number;
}

/** `stopped` says why not all that waits was sent; undefined where nothing waits. `busy`: another process sends. */
export interface SendResult extends SendSummary {
  isBusy: boolean;
  waiting: number;
  stopped: DeliveryError | undefined;
}

/** What the collector says of itself, in a file. */
export interface CollectorStatus {
  lastSweepAt?: string;
  lastSuccessAt?: string;
  targetVersion?: string;
  /** Why the last attempt failed; absent where it did not. */
  lastError?: { at: string; code: string; message: string };
}

const READABLE_AGENTS = AGENTS.filter(({ id }) => findReadableFormat(id, 'session') !== undefined);

const DEFAULT_SETTLE_MS = 2000;
const DEFAULT_RETRY_DELAY_MS = 1000;
const DEFAULT_MAX_SETTLE_WAIT_MS = 15_000;
const SWEEP_INTERVAL_MS = 24 * 3600 * 1000;
const ANNOUNCE_INTERVAL_MS = 60_000;
const MAX_ATTEMPTS = 3;
const CONCURRENCY = 4;
const HEAD_BYTES = 64 * 1024;

/**
 * Sends what hooks have noted, what waits since the server was away, and what a sweep finds. Resolves when nothing is left, or
 * the server cannot be reached or takes nothing: then what waits is kept, whatever the agents do to their files. Rejects where
 * the disk fails.
 */
export async function sendSessions(deps: SendDependencies, options: SendOptions = {}): Promise<SendResult> {
  const { folder } = deps;
  await createSpoolFolder(folder);
  const summary: SendSummary = { sent: 0, duplicates: 0, refused: 0, sentBytes: 0 };
  let stopped: DeliveryError | undefined;
  let waiting = 0;
  let sweeps = options.sweeps ?? false;
  do {
    const lock = deps.takeLock();
    if (lock === undefined) return { ...summary, isBusy: true, waiting: 0, stopped: undefined };
    const release = await announceSender(folder);
    try {
      ({ stopped, waiting } = await sendRound(deps, { ...options, sweeps }, summary));
    } finally {
      await release();
      lock.release();
    }
    sweeps = false;
    // A hook that fired meanwhile saw a sender at work, and started none.
  } while (stopped === undefined && !options.signal?.aborted && (await readHookNotes(folder)).length > 0);
  return { ...summary, isBusy: false, waiting, stopped };
}

/** Tells hooks that a sender is at work. */
async function announceSender(folder: SpoolFolder): Promise<() => Promise<void>> {
  const announce = (): Promise<void> => writeWhole(folder.senderPid, String(process.pid));
  await announce();
  const timer = setInterval(() => void announce().catch(() => undefined), ANNOUNCE_INTERVAL_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await rm(folder.senderPid, { force: true });
  };
}

async function sendRound(
  deps: SendDependencies,
  options: SendOptions,
  summary: SendSummary,
): Promise<{ stopped: DeliveryError | undefined; waiting: number }> {
  const { folder, machine } = deps;
  const log = await openSentLog(folder.sentLog);
  const status = (await readJson<CollectorStatus>(folder.status)) ?? {};
  const notes = await readHookNotes(folder);
  for (const path of new Set(notes.flatMap(({ paths }) => paths))) {
    for (const file of await listOfSession(path)) await addWaiting(folder, { path: file });
  }
  const isSweepDue = Date.now() - Date.parse(status.lastSweepAt ?? '1970-01-01') > SWEEP_INTERVAL_MS;
  const asksForSweep = notes.some(({ event, paths }) => event === 'SessionStart' || paths.length === 0);
  const isSweep = options.sweeps || isSweepDue || asksForSweep;
  // Only now: what they name is noted elsewhere.
  await removeHookNotes(folder, notes);
  const files = new Map((await listWaiting(folder)).map((file) => [file.path, file]));
  if (isSweep) {
    const targetVersion = await deps.readTargetVersion?.().catch(() => undefined);
    const triesRefused = targetVersion !== undefined && targetVersion !== status.targetVersion;
    for (const file of await listChanged(machine, log, triesRefused)) files.set(file.path, file);
    if (targetVersion !== undefined) status.targetVersion = targetVersion;
  }
  const { stopped, left } = await sendAll(deps, options, log, [...files.values()], summary);
  for (const file of left) {
    await addWaiting(folder, file);
    await keepFile(folder, file.path).catch(() => false);
  }
  const now = new Date().toISOString();
  // Of a sweep that was killed, nothing says that it was made.
  if (isSweep) status.lastSweepAt = now;
  if (stopped === undefined) {
    status.lastSuccessAt = now;
    delete status.lastError;
  } else {
    status.lastError = { at: now, code: stopped.code, message: stopped.message };
  }
  await writeWhole(folder.status, JSON.stringify(status));
  return { stopped, waiting: left.length };
}

/** The file itself, and what lies in the folder of its name: its sub-agents. */
async function listOfSession(path: string): Promise<string[]> {
  const folder = path.replace(/\.jsonl$/, '');
  if (folder === path) return [path];
  const names = await readdir(join(folder, 'subagents')).catch((): string[] => []);
  return [path, ...names.filter((name) => name.endsWith('.jsonl')).map((name) => join(folder, 'subagents', name))];
}

/**
 * Session files that are not as they were when they were last sent, of agents whose sessions can be read; with `triesRefused`
 * also those that were refused. Files of sessions that a database has as well are left to `recount backfill`, which reads both.
 */
export async function listChanged(
  machine: Machine,
  log: Pick<SentLog, 'find'>,
  triesRefused = false,
): Promise<WaitingFile[]> {
  const found = await findSessions(machine, READABLE_AGENTS);
  const isDone = (file: MatchedFile): boolean => {
    const sent = log.find(file.path);
    return isAsSent(sent, file) && !(triesRefused && sent?.transcriptId === null);
  };
  const waiting = found
    .filter(({ place }) => place.holds === 'transcripts')
    .flatMap(({ agent, files }: FoundSessions) =>
      files.filter((file) => file.sizeBytes > 0 && !isDone(file)).map(({ path }) => ({ path, agent: agent.id })),
    );
  const inStores = await findInStores(waiting.map(({ path }) => path));
  return waiting.filter(({ path }) => !inStores.has(path));
}

const isAsSent = (sent: SentFile | undefined, file: { sizeBytes: number; modifiedAtMs: number }): boolean =>
  sent?.sizeBytes === file.sizeBytes && sent.modifiedAtMs === file.modifiedAtMs;

/** Returns why it stopped before all was sent, and what is left then. */
async function sendAll(
  deps: SendDependencies,
  options: SendOptions,
  log: SentLog,
  files: readonly WaitingFile[],
  summary: SendSummary,
): Promise<{ stopped: DeliveryError | undefined; left: WaitingFile[] }> {
  const rest = [...files];
  const left: WaitingFile[] = [];
  let stopped: DeliveryError | undefined;
  const work = async (): Promise<void> => {
    while (stopped === undefined && !options.signal?.aborted) {
      const file = rest.shift();
      if (file === undefined) return;
      try {
        await sendFile(deps, options, log, file, summary);
        options.onProgress?.({ ...summary, waiting: rest.length });
      } catch (error) {
        left.push(file);
        if (options.signal?.aborted) return;
        if (!(error instanceof DeliveryError)) throw error;
        stopped ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return { stopped, left: [...left, ...rest] };
}

/** Sends what was kept of the file, if it is not the file that lies there now, and then that one. */
async function sendFile(
  deps: SendDependencies,
  options: SendOptions,
  log: SentLog,
  file: WaitingFile,
  summary: SendSummary,
): Promise<void> {
  const { folder } = deps;
  const kept = toKeptPath(folder, file.path);
  const [keptStats, stats] = await Promise.all([kept, file.path].map((path) => stat(path).catch(() => undefined)));
  if (keptStats !== undefined && keptStats.ino !== stats?.ino) {
    await sendBytes(deps, options, log, file, kept, summary);
  }
  if (stats !== undefined) await sendBytes(deps, options, log, file, file.path, summary);
  await removeWaiting(folder, file.path);
}

async function sendBytes(
  deps: SendDependencies,
  options: SendOptions,
  log: SentLog,
  { path, agent }: WaitingFile,
  source: string,
  summary: SendSummary,
): Promise<void> {
  const { signal, settleMs = DEFAULT_SETTLE_MS, maxSettleWaitMs = DEFAULT_MAX_SETTLE_WAIT_MS } = options;
  const settled = await waitUntilSettled(source, { settleMs, maxWaitMs: maxSettleWaitMs, signal });
  if (settled === undefined) return;
  const encoding = toEncoding(path);
  const earlier = log.find(path);
  const isSettled = settled.isSettled || encoding !== undefined;
  const read = await readSessionFile(source, { earlier, isSettled });
  if (read === undefined) return;
  const { sizeBytes, modifiedAtMs, sha256 } = read;
  const state = { path, sizeBytes, modifiedAtMs, sha256 };
  const known = earlier?.sha256 === sha256 ? earlier : log.findMoved(path, sha256);
  // What was refused is sent again only where it is asked for: a file that was merely touched is not.
  if (known !== undefined && known.transcriptId !== null) return await log.add({ ...known, ...state });
  const exclusion = deps.findExclusion?.(path, await readHead(read));
  if (exclusion !== undefined) {
    summary.refused += 1;
    return await log.add({ ...state, transcriptId: null, reason: exclusion });
  }
  const base =
    read.isContinued && earlier?.transcriptId != null && encoding === undefined
      ? { transcriptId: earlier.transcriptId, sizeBytes: earlier.sizeBytes }
      : undefined;
  const delivery = { path: path.replace(/\.(zst|gz)$/, ''), agent, sizeBytes, sha256, encoding, base, open: read.open };
  try {
    const receipt = await retry(options, () => deps.target.send(delivery, signal));
    if (receipt.isDuplicate) summary.duplicates += 1;
    else summary.sent += 1;
    summary.sentBytes += receipt.sentBytes;
    await log.add({ ...state, transcriptId: receipt.transcriptId });
  } catch (error) {
    if (!(error instanceof DeliveryError) || error.code !== 'rejected') throw error;
    summary.refused += 1;
    await log.add({ ...state, transcriptId: null, reason: error.message });
  }
}

const toEncoding = (path: string): 'gzip' | 'zstd' | undefined =>
  path.endsWith('.zst') ? 'zstd' : path.endsWith('.gz') ? 'gzip' : undefined;

async function readHead(read: ReadFile): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of read.open(0)) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= HEAD_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, HEAD_BYTES);
}

async function retry<Result>(options: SendOptions, attempt: () => Promise<Result>): Promise<Result> {
  let delayMs = options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS;
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      const isPassing = error instanceof DeliveryError && error.code === 'unavailable';
      if (!isPassing || count >= MAX_ATTEMPTS) throw error;
      await sleep(delayMs, undefined, { signal: options.signal });
      delayMs *= 2;
    }
  }
}
