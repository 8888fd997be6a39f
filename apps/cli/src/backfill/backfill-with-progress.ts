import { join } from 'node:path';
import {
  type BackfillOptions,
  type BackfillOutcome,
  type BackfillReport,
  type DeliveryTarget,
  openSessionMemory,
  readSessions,
  runBackfill,
} from '@recount/collect';
import { measureInput, type ReadSourcesOptions } from '@recount/storage/sources';
import { toDataDirectory } from '../data-directory/data-directory.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import { formatCountOf, formatDuration } from '../terminal/format-values.ts';
import { createProgressBar } from '../terminal/progress-bar.ts';
import { describeSkip, isRefusal, isUnreadable } from './format-report.ts';
import { openGivenPaths } from './given-paths.ts';
import { createRemainingWork } from './remaining-work.ts';

interface BackfillRequest extends BackfillOptions {
  paths: readonly string[];
  target: DeliveryTarget | undefined;
  /**
   * Identifies the target; what is remembered for it avoids reading unchanged database sessions again. Defaults to
   * nothing.
   */
  targetId?: string | undefined;
  sinceMs?: number | undefined;
  signal: AbortSignal;
  /** True to show progress on stderr. Default true. */
  showsProgress?: boolean;
  /** True to list each skipped file with the reason. Defaults to only given paths that are not transcripts. */
  namesSkipped?: boolean | undefined;
  onEvent?: Parameters<typeof runBackfill>[0]['onEvent'];
}

const STALL_MS = 20_000;
const SHOW_MS = 1000;
const MAX_NAMED_LINKS = 10;
const ARRIVED = new Set<BackfillOutcome>(['queued', 'ingested', 'superseded', 'already-there', 'healed']);

/**
 * Runs a backfill, with a progress bar if stderr is a terminal, else a line every few seconds. `refused` counts given
 * paths whose content is not a transcript; anything else in a folder is skipped.
 */
export async function backfillWithProgress(
  context: CliContext,
  request: BackfillRequest,
): Promise<{ report: BackfillReport; elapsedMs: number; refused: number }> {
  const startedAtMs = performance.now();
  const given = await openGivenPaths(context, request.paths);
  const { paths } = given;
  const { sinceMs, signal } = request;
  const options: ReadSourcesOptions = { signal, ...given.options, ...(sinceMs !== undefined && { sinceMs }) };
  const bar = createProgressBar(context.stderr);
  let totalBytes: number | undefined;
  // Only the progress bar needs it and it may take a while, so the backfill does not wait.
  const showsProgress = request.showsProgress ?? true;
  const measuring = showsProgress ? measureInput(paths, options) : undefined;
  measuring?.then(
    ({ inputBytes }) => {
      totalBytes = inputBytes;
    },
    () => undefined,
  );
  let refused = 0;
  let links = 0;
  const troubles = new Set<string>();
  const noteTrouble = (reason: string): void => {
    if (!troubles.has(reason)) bar.note(`${reason}. Trying again …`);
    troubles.add(reason);
  };
  let latest: Readonly<BackfillReport> | undefined;
  let isDelivered = false;
  const remaining = createRemainingWork(() => performance.now());
  const show = (): void => {
    if (!showsProgress || latest === undefined) return;
    const { consumedInputBytes, found, skipped } = latest;
    bar.update({
      totalBytes,
      // Otherwise the last file's bytes would be missing.
      doneBytes: isDelivered ? Math.max(consumedInputBytes, totalBytes ?? 0) : consumedInputBytes,
      files: found + skipped,
      remark: remaining.describe(latest, isDelivered),
    });
  };
  // A large transcript may cause no events for a long time.
  const timer = setInterval(show, SHOW_MS);
  const { targetId } = request;
  const memory =
    targetId === undefined
      ? undefined
      : await openSessionMemory(join(toDataDirectory(context).path, 'collected', `${targetId}.json`));
  try {
    const onEvent: BackfillRequest['onEvent'] = (event, report) => {
      if (event.kind === 'outcome' && ARRIVED.has(event.outcome)) memory?.confirm(event.location);
      if (event.kind === 'delivered') isDelivered = true;
      if (event.kind === 'stalled') bar.note(toStallNote(event.waitingCount));
      if (event.kind === 'retrying') noteTrouble(event.reason);
      if (event.kind === 'outcome' && event.outcome === 'skipped') {
        const { location, reason = '' } = event;
        const isRefused = paths.includes(location) && isRefusal(reason);
        if (isRefused) refused += 1;
        // Sessions that people expect may be behind it.
        const isNamedLink = reason === 'link' && ++links <= MAX_NAMED_LINKS;
        if (request.namesSkipped ?? (isRefused || isUnreadable(reason) || isNamedLink))
          bar.note(`skipped: ${location}: ${describeSkip(reason)}`);
      }
      latest = report;
      show();
      request.onEvent?.(event, report);
    };
    const sources = readSessions(paths, { ...options, memory });
    const report = await runBackfill({ target: request.target, onEvent }, sources, { ...request, stallMs: STALL_MS });
    return { report, elapsedMs: performance.now() - startedAtMs, refused };
  } finally {
    clearInterval(timer);
    bar.end();
    given.close();
    await memory?.save();
  }
}

function toStallNote(waitingCount: number): string {
  return (
    `${formatCountOf(waitingCount, 'transcript')} stored, which no worker has touched for ${formatDuration(STALL_MS)}. ` +
    'Is one running (`recount worker`)? It may start later, and nothing is lost. Ctrl-C or --no-wait ends the waiting.'
  );
}
