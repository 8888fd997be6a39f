import { setTimeout as sleep } from 'node:timers/promises';
import { backfillWithProgress } from '../backfill/backfill-with-progress.ts';
import { formatReport } from '../backfill/format-report.ts';
import { showAttachments, uploadAttachments } from '../backfill/upload-attachments.ts';
import { createApiClient } from '../connection/api-client.ts';
import { createHttpTarget } from '../connection/http-target.ts';
import { readCredentials } from '../data-directory/credentials.ts';
import type { DataDirectory } from '../data-directory/data-directory.ts';
import { findRunning } from '../data-directory/installation-lock.ts';
import { readLatestFromApi } from '../sessions/read-sessions.ts';
import { formatSessions } from '../sessions/session-table.ts';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { PAGE_WIDTH, toPrintWidth } from '../terminal/print-width.ts';
import { chooseImport } from './offer-import.ts';

const START_TIMEOUT_MS = 90_000;
const POLL_MS = 200;
const TABLE_ROWS = 20;

/**
 * Runs the request of `recount up` with the installation that another process runs. Returns false if that has ended
 * since then. Throws CliError.
 */
export async function joinRunning(
  context: CliContext,
  directory: DataDirectory,
  request: { paths: readonly string[]; isImportWanted: boolean | undefined; isDemo: boolean; timeZone: string },
): Promise<boolean> {
  const signal = context.listenForInterruption();
  const ready = await waitUntilReady(directory, signal);
  if (ready === undefined) return false;
  const { url, pid } = ready;
  note(context, `recount runs already, as process ${pid}.`);
  const credentials = await readCredentials(directory.credentials);
  if (credentials === undefined) throw new CliError(`${directory.credentials} cannot be read.`);
  const client = createApiClient({ url, key: credentials.apiKey });
  const paths = [...request.paths, ...(await chooseImport(context, directory, request.isImportWanted ?? false))];
  if (paths.length > 0) {
    const target = createHttpTarget(client);
    const { report, elapsedMs } = await backfillWithProgress(context, { paths, target, signal });
    const attachments = await uploadAttachments(context, paths, { target, signal });
    for (const line of formatReport(report, elapsedMs, false)) print(context, line);
    showAttachments(context, attachments);
    print(context, '');
    if (report.failed + attachments.failed > 0) context.exitCode = 1;
  }
  if (request.isDemo) {
    await client.request('/v1/demo', { method: 'POST' });
    note(context, 'The demo is ready. “Explore demo data” on the Overview of the dashboard opens it.');
  }
  signal.throwIfAborted();
  const latest = await readLatestFromApi(client, TABLE_ROWS);
  const lines = formatSessions(latest, { timeZone: request.timeZone, maxWidth: toPrintWidth(context, PAGE_WIDTH) });
  for (const line of [
    ...lines,
    '',
    `URL      ${url}`,
    `API key  ${credentials.apiKey}`,
    `Data     ${directory.path}`,
  ]) {
    print(context, line);
  }
  return true;
}

/** Its place, once it is ready; undefined if it has ended. */
async function waitUntilReady(
  directory: DataDirectory,
  signal: AbortSignal,
): Promise<{ url: string; pid: number } | undefined> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const { url, pid } = (await findRunning(directory.lock)) ?? {};
    if (pid === undefined) return undefined;
    if (url !== undefined) return { url, pid };
    if (performance.now() > deadlineMs) throw new CliError(`The recount of process ${pid} does not become ready.`);
    await sleep(POLL_MS, undefined, { signal });
  }
}
