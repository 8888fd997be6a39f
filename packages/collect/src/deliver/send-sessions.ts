import type { Dirent } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AGENTS, identifyAttachment, type SessionPlace } from '@recount/core';
import pLimit from 'p-limit';
import type { Machine } from '../find/find-places.ts';
import { type FoundSessions, findSessions } from '../find/find-sessions.ts';
import { isDenial, type MatchedFile } from '../find/match-files.ts';
import type { NotRead } from '../read/open-store.ts';
import { findInStores, readSessions } from '../read/read-sessions.ts';
import { openSessionMemory } from '../read/session-memory.ts';
import { openSentLog, type SentFile, type SentLog } from '../spool/sent-log.ts';
import {
  addWaiting,
  createSpoolFolder,
  keepFile,
  listWaiting,
  readHookNotes,
  readJson,
  removeHookNotes,
  type SpoolFolder,
  type WaitingFile,
  writeWhole,
} from '../spool/spool-folder.ts';
import { DeliveryError } from './delivery-error.ts';
import { FileSender, type FileSenderDependencies, type FileSenderOptions } from './send-file.ts';

export interface SendDependencies extends FileSenderDependencies {
  machine: Machine;
  /** The target's version, if it can be queried. A newer one may accept what an older one rejected. */
  readTargetVersion?: (() => Promise<string>) | undefined;
  /** Makes this the only sending process; undefined if another one is. */
  takeLock(): { release(): void } | undefined;
}

export interface SendOptions extends FileSenderOptions {
  /** Searches all places of all agents. By default only if a hook asks for it, and once a day. */
  sweeps?: boolean | undefined;
  onProgress?: ((progress: SendSummary & { waiting: number }) => void) | undefined;
}

interface SendSummary {
  sent: number;
  /** The server had them already. */
  duplicates: number;
  /** Rejected, or kept on this machine by the user's choice. */
  refused: number;
  sentBytes: number;
  /** Folders and files without read permission, which are skipped and tried again by the next sweep. */
  unreadable: string[];
  /**
   * Databases that are not read, or not completely, and links, with the reason. They are tried again by the next sweep.
   */
  notRead: NotRead[];
}

/**
 * The reason why not everything was sent; undefined if nothing is waiting. `busy` means that another process is
 * sending.
 */
export interface SendResult extends SendSummary {
  isBusy: boolean;
  waiting: number;
  stopped: DeliveryError | undefined;
}

/** The collector's status, stored in a file. */
export interface CollectorStatus {
  lastSweepAt?: string;
  lastSuccessAt?: string;
  targetVersion?: string;
  /** Why the last attempt failed; absent if it succeeded. */
  lastError?: { at: string; code: string; message: string };
  /** Databases that the last sweep did not read completely, and links; absent if there are none. */
  notRead?: NotRead[];
}

const isStore = ({ holds }: SessionPlace): boolean => ['database', 'folder', 'prompts'].includes(holds);

const SWEEP_INTERVAL_MS = 24 * 3600 * 1000;
const ANNOUNCE_INTERVAL_MS = 60_000;
const CONCURRENCY = 4;

const NOT_FOLLOWED =
  'a symbolic link, which is not followed; send its target with `recount backfill FOLDER --server URL`';

/**
 * Sends what hooks have noted, what has been waiting since the server was unavailable, and what a sweep finds. Resolves
 * when nothing is left, or when the server cannot be reached or rejects everything. Waiting sessions then stay,
 * whatever the agents do to their files. Rejects if the disk fails.
 */
export async function sendSessions(deps: SendDependencies, options: SendOptions = {}): Promise<SendResult> {
  const { folder } = deps;
  await createSpoolFolder(folder);
  const summary: SendSummary = { sent: 0, duplicates: 0, refused: 0, sentBytes: 0, unreadable: [], notRead: [] };
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
    // A hook that fired during the run saw a running sender and started none. The files that it names stay even if
    // nothing can be sent.
  } while (!options.signal?.aborted && (await readHookNotes(folder)).length > 0);
  return { ...summary, isBusy: false, waiting, stopped };
}

/** Lets hooks see that a sender is running. */
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
  // Left over from a sender that was killed.
  await rm(folder.outgoing, { recursive: true, force: true });
  const sender = new FileSender(deps, options, log, summary);
  const status = (await readJson<CollectorStatus>(folder.status)) ?? {};
  const notes = await readHookNotes(folder);
  for (const path of new Set(notes.flatMap(({ paths }) => paths))) {
    for (const file of await listOfSession(path, log)) await addWaiting(folder, { path: file });
  }
  // In either direction, because the clock may have been ahead then.
  const isSweepDue = Math.abs(Date.now() - Date.parse(status.lastSweepAt ?? '1970-01-01')) > SWEEP_INTERVAL_MS;
  const asksForSweep = notes.some(({ event, paths }) => event === 'SessionStart' || paths.length === 0);
  const isSweep = options.sweeps || isSweepDue || asksForSweep;
  // Only now, because the paths that they name have been recorded elsewhere.
  await removeHookNotes(folder, notes);
  const files = new Map((await listWaiting(folder)).map((file) => [file.path, file]));
  if (isSweep) {
    const targetVersion = await deps.readTargetVersion?.().catch(() => undefined);
    const triesRefused = targetVersion !== undefined && targetVersion !== status.targetVersion;
    const onDenied = (path: string): number => summary.unreadable.push(path);
    const onLink = (link: NotRead): number => summary.notRead.push(link);
    for (const file of await listChanged(machine, log, { triesRefused, onDenied, onLink })) files.set(file.path, file);
    if (targetVersion !== undefined) status.targetVersion = targetVersion;
  }
  const { stopped: stoppedAtFiles, left } = await sendAll(sender, options, [...files.values()], summary);
  const stopped = stoppedAtFiles ?? (isSweep ? await sendStored(deps, sender, options, summary) : undefined);
  for (const file of left) {
    await addWaiting(folder, file);
    await keepFile(folder, file.path).catch(() => false);
  }
  const now = new Date().toISOString();
  const isDone = stopped === undefined && !options.signal?.aborted;
  // An interrupted sweep does not count as done.
  if (isSweep && isDone) {
    status.lastSweepAt = now;
    delete status.notRead;
    if (summary.notRead.length > 0) status.notRead = summary.notRead;
  }
  if (isDone) {
    status.lastSuccessAt = now;
    delete status.lastError;
  } else if (stopped !== undefined) {
    status.lastError = { at: now, code: stopped.code, message: stopped.message };
  }
  await writeWhole(folder.status, JSON.stringify(status));
  return { stopped, waiting: left.length };
}

/**
 * The file itself and the contents of the folder with its name, its sub-agents, and attachments that changed since they
 * were sent.
 */
async function listOfSession(path: string, log: Pick<SentLog, 'find'>): Promise<string[]> {
  const folder = path.replace(/\.jsonl$/, '');
  if (folder === path) return [path];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((): Dirent[] => []);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const subagents = files.filter((file) => dirname(file) === join(folder, 'subagents') && file.endsWith('.jsonl'));
  const attachments = files.filter((file) => identifyAttachment(file) !== undefined);
  const stats = await Promise.all(attachments.map((file) => stat(file).catch(() => undefined)));
  const changed = attachments.filter((file, index) => {
    const found = stats[index];
    return found !== undefined && !isAsSent(log.find(file), { sizeBytes: found.size, modifiedAtMs: found.mtimeMs });
  });
  return [path, ...subagents, ...changed];
}

/** Links in the places of agents, and why what they point to is not sent. */
export const listLinks = (machine: Machine): NotRead[] => toNotFollowed(findSessions(machine, AGENTS));

const toNotFollowed = (found: readonly FoundSessions[]): NotRead[] =>
  found.flatMap(({ links }) => links).map((path) => ({ path, reason: NOT_FOLLOWED }));

interface ListOptions {
  triesRefused?: boolean;
  onDenied?: (path: string) => void;
  onLink?: (link: NotRead) => void;
}

/**
 * Session files and attachments that changed since they were last sent, of agents whose sessions can be read; with
 * `triesRefused` also those that were rejected. `onDenied` is called for paths without read permission, `onLink` for
 * links. Logs of sessions that are also in a database are left out, because they are sent together with its rows.
 */
export async function listChanged(
  machine: Machine,
  log: Pick<SentLog, 'find'>,
  { triesRefused = false, onDenied, onLink }: ListOptions = {},
): Promise<WaitingFile[]> {
  const found = findSessions(machine, AGENTS);
  for (const { denied } of found) for (const path of denied) onDenied?.(path);
  for (const link of toNotFollowed(found)) onLink?.(link);
  const isDone = (file: MatchedFile): boolean => {
    const sent = log.find(file.path);
    return isAsSent(sent, file) && !(triesRefused && sent?.transcriptId === null);
  };
  const waiting = found
    .filter(({ place }) => place.holds === 'transcripts' || place.holds === 'attachments')
    .flatMap(({ agent, files }: FoundSessions) =>
      files.filter((file) => file.sizeBytes > 0 && !isDone(file)).map(({ path }) => ({ path, agent: agent.id })),
    );
  const inStores = await findInStores(waiting.map(({ path }) => path));
  return waiting.filter(({ path }) => !inStores.has(path));
}

const isAsSent = (sent: SentFile | undefined, file: { sizeBytes: number; modifiedAtMs: number }): boolean =>
  sent?.sizeBytes === file.sizeBytes && sent.modifiedAtMs === file.modifiedAtMs;

/** Returns why it stopped before everything was sent, and what is left. */
async function sendAll(
  sender: FileSender,
  options: SendOptions,
  files: readonly WaitingFile[],
  summary: SendSummary,
): Promise<{ stopped: DeliveryError | undefined; left: WaitingFile[] }> {
  const left: WaitingFile[] = [];
  let stopped: DeliveryError | undefined;
  const limit = pLimit(CONCURRENCY);
  await limit.map(files, async (file) => {
    if (stopped !== undefined || options.signal?.aborted) return left.push(file);
    try {
      await sender.sendFile(file);
      options.onProgress?.({ ...summary, waiting: limit.pendingCount });
    } catch (error) {
      if (isDenial(error)) return summary.unreadable.push(file.path);
      left.push(file);
      if (options.signal?.aborted) return;
      if (!(error instanceof DeliveryError)) throw error;
      stopped ??= error;
    }
  });
  return { stopped, left };
}

/**
 * Sends the sessions in agents' databases whose rows changed. They stay there until the server can be reached; one
 * whose database cannot be read is tried again by the next sweep. Returns why it stopped before all were sent.
 */
async function sendStored(
  { folder, machine }: SendDependencies,
  sender: FileSender,
  { signal }: SendOptions,
  summary: SendSummary,
): Promise<DeliveryError | undefined> {
  const paths = await listDatabases(machine);
  if (paths.length === 0) return undefined;
  const memory = await openSessionMemory(folder.databases);
  try {
    for await (const item of readSessions(paths, { memory, ...(signal && { signal }) })) {
      if (item.kind === 'failed') summary.notRead.push({ path: item.location, reason: item.error.message });
      if (item.kind !== 'transcript') continue;
      if (await sender.sendStream(item.path, await item.open())) memory.confirm(item.location);
    }
    return undefined;
  } catch (error) {
    if (signal?.aborted) return undefined;
    if (!(error instanceof DeliveryError)) throw error;
    return error;
  } finally {
    await memory.save();
  }
}

/** Readable agents' databases, and heads of sessions in many files. */
export async function listDatabases(machine: Machine): Promise<string[]> {
  const found = findSessions(machine, AGENTS);
  return found.filter(({ place }) => isStore(place)).flatMap(({ files }) => files.map(({ path }) => path));
}
