import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { countTranscriptsByStatus, listSessions, readSearchBacklog, readSessionErrors, sql } from '@recount/db';
import { createDirectTarget } from '@recount/ingest';
import { readLogLevel } from '@recount/service/config';
import { backfillWithProgress } from '../backfill/backfill-with-progress.ts';
import { bringAttachments, showAttachments } from '../backfill/bring-attachments.ts';
import { formatReport } from '../backfill/format-report.ts';
import type { DataDirectory } from '../data-directory/data-directory.ts';
import type { InstallationLock } from '../data-directory/installation-lock.ts';
import { formatSessions } from '../sessions/session-table.ts';
import { type CliContext, note, print, START_COMMAND, toLauncher } from '../terminal/cli-context.ts';
import { PAGE_WIDTH, toPrintWidth } from '../terminal/print-width.ts';
import { formatInstallation } from './format-installation.ts';
import { loadSamples } from './load-samples.ts';
import { createLocalLog } from './local-log.ts';
import { type InstallationOptions, type LocalInstallation, startInstallation } from './start-installation.ts';

export interface RunOptions extends Omit<InstallationOptions, 'onGiveUp'> {
  paths: readonly string[];
  timeZone: string;
}

const TABLE_ROWS = 20;
const IDLE_POLL_MS = 200;

/**
 * Runs the installation of a data directory, whose lock this process has, until it is interrupted. Throws CliError if
 * PostgreSQL or the worker ends and cannot be restarted.
 */
export async function runInstallation(
  context: CliContext,
  directory: DataDirectory,
  lock: InstallationLock,
  options: RunOptions,
): Promise<void> {
  const failure = new AbortController();
  const signal = AbortSignal.any([context.listenForInterruption(), failure.signal]);
  const onGiveUp = (error: Error): void => failure.abort(error);
  context.outlivesReader = !options.isOnce;
  const level = readLogLevel(context.environment);
  // Failures during shutdown are expected.
  const onWarning = (line: string): void => (signal.aborted ? undefined : note(context, `warning: ${line}`));
  const log = createLocalLog(directory.log, level, onWarning);
  const installation = await startInstallation(context, directory, log, { ...options, onGiveUp }, signal);
  try {
    const { url, databaseUrl, rawStore } = installation;
    await lock.publish({ url, databaseUrl, rawStore });
    await ingest(context, directory, installation, options, signal);
    signal.throwIfAborted();
    await showInstallation(context, directory, installation, options);
    if (!options.isOnce && !signal.aborted) await once(signal, 'abort');
    failure.signal.throwIfAborted();
  } finally {
    if (!options.isOnce) note(context, 'Stopping …');
    await lock.withdraw();
    await installation.close();
  }
}

async function ingest(
  context: CliContext,
  directory: DataDirectory,
  installation: LocalInstallation,
  { paths, isOnce }: RunOptions,
  signal: AbortSignal,
): Promise<void> {
  await loadSamples(context, directory, installation, signal);
  if (signal.aborted) return;
  if (paths.length > 0) {
    const { connections, workspaceId } = installation;
    const target = createDirectTarget(connections, { workspaceId });
    const { report, elapsedMs, refused } = await backfillWithProgress(context, { paths, target, signal });
    const attachments = await bringAttachments(context, paths, { target, signal });
    for (const line of formatReport(report, elapsedMs, false)) print(context, line);
    showAttachments(context, attachments);
    print(context, '');
    // Once the tables are on disk, PostgreSQL can delete the write-ahead log, which is larger than the rows.
    if (installation.isOwnDatabase) await installation.connections.database.database.execute(sql`CHECKPOINT`);
    if (report.failed + attachments.failed + refused > 0 && isOnce) context.exitCode = 1;
  }
  // Also for what was waiting before.
  if (isOnce && !signal.aborted) await waitUntilIdle(installation, signal);
}

async function waitUntilIdle({ connections, workspaceId }: LocalInstallation, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { database } = connections.database;
    const { queued, processing } = await countTranscriptsByStatus(database, { workspaceId });
    const { waitingSessions, failingSessions } = await readSearchBacklog(database, workspaceId);
    if (queued + processing === 0 && waitingSessions === failingSessions) return;
    await sleep(IDLE_POLL_MS);
  }
}

async function showInstallation(
  context: CliContext,
  directory: DataDirectory,
  installation: LocalInstallation,
  { timeZone, isOnce }: RunOptions,
): Promise<void> {
  const { url, signInUrl, apiKey, databasePlace, rawStore, connections, workspaceId } = installation;
  const page = { sort: 'last_timestamp', order: 'desc', limit: TABLE_ROWS } as const;
  const { database } = connections.database;
  const { rows, next } = await listSessions(database, workspaceId, {}, page);
  const ids = rows.map(({ session_id }) => session_id);
  const errors = await readSessionErrors(database, workspaceId, ids);
  const none = { tool_error_count: 0, api_error_count: 0 };
  const sessions = rows.map((row) => ({ ...row, ...(errors.get(row.session_id) ?? none) }));
  const latest = { sessions, hasMore: next !== undefined };
  const layout = { timeZone, maxWidth: toPrintWidth(context, PAGE_WIDTH) };
  const launcher = toLauncher(context.workingDirectory);
  const { path: dataDirectory, log: logFile } = directory;
  const shown = { url, signInUrl, apiKey, dataDirectory, databasePlace, rawStore, logFile, launcher, isOnce };
  for (const line of [...formatSessions(latest, layout), '', ...formatInstallation(shown)]) print(context, line);
  if (!isOnce) note(context, `Ctrl-C stops it; the next \`${START_COMMAND}\` finds the data again.`);
}
