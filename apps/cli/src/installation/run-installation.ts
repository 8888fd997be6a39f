import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { countTranscriptsByStatus, listSessions, presentSessions, readSearchBacklog, sql } from '@recount/db';
import { createDirectTarget, openDemo } from '@recount/ingest';
import { readLogLevel } from '@recount/service/config';
import { backfillWithProgress } from '../backfill/backfill-with-progress.ts';
import { formatReport } from '../backfill/format-report.ts';
import { showAttachments, uploadAttachments } from '../backfill/upload-attachments.ts';
import { toOperator } from '../connection/operator.ts';
import type { DataDirectory } from '../data-directory/data-directory.ts';
import type { InstallationLock } from '../data-directory/installation-lock.ts';
import { formatSessions } from '../sessions/session-table.ts';
import { type CliContext, note, print, START_COMMAND } from '../terminal/cli-context.ts';
import { PAGE_WIDTH, toPrintWidth } from '../terminal/print-width.ts';
import { collectWhenIdle } from './collect-when-idle.ts';
import { formatInstallation } from './format-installation.ts';
import { createLocalLog } from './local-log.ts';
import { chooseImport } from './offer-import.ts';
import { type InstallationOptions, type LocalInstallation, startInstallation } from './start-installation.ts';

export interface RunOptions extends Omit<InstallationOptions, 'onGiveUp'> {
  paths: readonly string[];
  /** True imports the sessions of this machine's agents, false does not; undefined asks on the first start. */
  isImportWanted: boolean | undefined;
  /** Opens the demo beside the user's data. */
  isDemo: boolean;
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
    if (!options.isOnce) showInstallation(context, directory, installation, false);
    collectWhenIdle();
    if (options.isDemo) await showDemo(context, installation, signal);
    await ingest(context, directory, installation, options, signal);
    if (options.isOnce) {
      signal.throwIfAborted();
      await showLatestSessions(context, installation, options.timeZone);
      showInstallation(context, directory, installation, true);
    } else if (!signal.aborted) await once(signal, 'abort');
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
  { paths: given, isImportWanted, isDemo, isOnce }: RunOptions,
  signal: AbortSignal,
): Promise<void> {
  const { connections, workspaceId } = installation;
  // A user who has named paths or the demo is not asked.
  const isWanted = given.length > 0 || isDemo || isOnce ? (isImportWanted ?? false) : isImportWanted;
  const paths = [...given, ...(await chooseImport(context, directory, isWanted).catch(ignoreInterruption(signal)))];
  if (signal.aborted) return;
  if (paths.length > 0) {
    const target = createDirectTarget(connections, { workspaceId });
    const { report, elapsedMs, refused } = await backfillWithProgress(context, { paths, target, signal });
    const attachments = await uploadAttachments(context, paths, { target, signal });
    for (const line of formatReport(report, elapsedMs, false)) print(context, line);
    showAttachments(context, attachments);
    print(context, '');
    if (signal.aborted) note(context, 'The import is not complete. `recount backfill` continues it.');
    // Once the tables are on disk, PostgreSQL can delete the write-ahead log, which is larger than the rows.
    if (installation.isOwnDatabase) await installation.connections.database.database.execute(sql`CHECKPOINT`);
    if (report.failed + attachments.failed + refused > 0 && isOnce) context.exitCode = 1;
  }
  // Also for what was waiting before.
  if (isOnce && !signal.aborted) await waitUntilIdle(installation, signal);
}

/** The question about the import ends with the program. */
function ignoreInterruption(signal: AbortSignal): (error: unknown) => readonly string[] {
  return (error) => {
    if (signal.aborted) return [];
    throw error;
  };
}

/** Makes the demo, and prints its link. */
async function showDemo(
  context: CliContext,
  { connections, createSignInUrl }: LocalInstallation,
  signal: AbortSignal,
): Promise<void> {
  note(context, 'Making the demo …');
  const { apiKey, name } = await openDemo(connections, { nowMs: Date.now(), actor: toOperator(), signal });
  // The dashboard then keeps its present sign-in for the way back.
  const link = (await createSignInUrl(apiKey))?.replace('#', '?demo=1#');
  print(
    context,
    link === undefined ? `Demo     workspace ${name}, API key ${apiKey}` : `Demo     ${link} (one-time link)`,
  );
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

async function showLatestSessions(
  context: CliContext,
  { connections, workspaceId }: LocalInstallation,
  timeZone: string,
): Promise<void> {
  const page = { sort: 'last_timestamp', order: 'desc', limit: TABLE_ROWS } as const;
  const { database } = connections.database;
  const { rows, next } = await listSessions(database, workspaceId, {}, page);
  const sessions = await presentSessions(database, workspaceId, rows);
  const layout = { timeZone, maxWidth: toPrintWidth(context, PAGE_WIDTH) };
  for (const line of [...formatSessions({ sessions, hasMore: next !== undefined }, layout), '']) print(context, line);
}

function showInstallation(
  context: CliContext,
  { path: dataDirectory, log: logFile }: DataDirectory,
  { url, signInUrl, apiKey, databasePlace, rawStore }: LocalInstallation,
  isOnce: boolean,
): void {
  const shown = { url, signInUrl, apiKey, dataDirectory, databasePlace, rawStore, logFile, isOnce };
  for (const line of formatInstallation(shown)) print(context, line);
  if (!isOnce) note(context, `Ctrl-C stops it; the next \`${START_COMMAND}\` finds the data again.`);
}
