import { join } from 'node:path';
import {
  type BackfillEvent,
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
import { createProgressBar, type ProgressBar } from '../terminal/progress-bar.ts';
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
  const { sinceMs, signal, targetId, showsProgress = true } = request;
  const options: ReadSourcesOptions = { signal, ...given.options, ...(sinceMs !== undefined && { sinceMs }) };
  const display = new BackfillDisplay(context, { paths, namesSkipped: request.namesSkipped });
  if (showsProgress) display.measure(measureInput(paths, options));
  // A large transcript may cause no events for a long time.
  const timer = showsProgress ? setInterval(() => display.show(), SHOW_MS) : undefined;
  const memory =
    targetId === undefined
      ? undefined
      : await openSessionMemory(join(toDataDirectory(context).path, 'collected', `${targetId}.json`));
  try {
    const onEvent: BackfillRequest['onEvent'] = (event, report) => {
      if (event.kind === 'outcome' && ARRIVED.has(event.outcome)) memory?.confirm(event.location);
      display.note(event, report);
      if (showsProgress) display.show();
      request.onEvent?.(event, report);
    };
    const sources = readSessions(paths, { ...options, memory });
    const report = await runBackfill({ target: request.target, onEvent }, sources, { ...request, stallMs: STALL_MS });
    return { report, elapsedMs: performance.now() - startedAtMs, refused: display.refused };
  } finally {
    clearInterval(timer);
    display.end();
    given.close();
    await memory?.save();
  }
}

/** The progress bar and the remarks above it. */
class BackfillDisplay {
  readonly #bar: ProgressBar;
  readonly #paths: readonly string[];
  readonly #namesSkipped: boolean | undefined;
  readonly #remaining = createRemainingWork(() => performance.now());
  readonly #troubles = new Set<string>();
  #totalBytes: number | undefined;
  #latest: Readonly<BackfillReport> | undefined;
  #isDelivered = false;
  #links = 0;
  /** Given paths whose content is not a transcript. */
  refused = 0;

  constructor(context: CliContext, { paths, namesSkipped }: Pick<BackfillRequest, 'paths' | 'namesSkipped'>) {
    this.#bar = createProgressBar(context.stderr);
    this.#paths = paths;
    this.#namesSkipped = namesSkipped;
  }

  /** Only the bar needs the size of the input, and it may take a while, so the backfill does not wait. */
  measure(measuring: Promise<{ inputBytes: number }>): void {
    measuring.then(
      ({ inputBytes }) => {
        this.#totalBytes = inputBytes;
      },
      () => undefined,
    );
  }

  note(event: BackfillEvent, report: Readonly<BackfillReport>): void {
    if (event.kind === 'delivered') this.#isDelivered = true;
    if (event.kind === 'stalled') this.#bar.note(toStallNote(event.waitingCount));
    if (event.kind === 'retrying') this.#noteTrouble(event.reason);
    if (event.kind === 'outcome' && event.outcome === 'skipped') this.#noteSkipped(event.location, event.reason);
    this.#latest = report;
  }

  show(): void {
    if (this.#latest === undefined) return;
    const { consumedInputBytes, found, skipped } = this.#latest;
    this.#bar.update({
      totalBytes: this.#totalBytes,
      // Otherwise the last file's bytes would be missing.
      doneBytes: this.#isDelivered ? Math.max(consumedInputBytes, this.#totalBytes ?? 0) : consumedInputBytes,
      files: found + skipped,
      remark: this.#remaining.describe(this.#latest, this.#isDelivered),
    });
  }

  end(): void {
    this.#bar.end();
  }

  #noteTrouble(reason: string): void {
    if (!this.#troubles.has(reason)) this.#bar.note(`${reason}. Trying again …`);
    this.#troubles.add(reason);
  }

  #noteSkipped(location: string, reason = ''): void {
    const isRefused = this.#paths.includes(location) && isRefusal(reason);
    if (isRefused) this.refused += 1;
    // Sessions that people expect may be behind it.
    const isNamedLink = reason === 'link' && ++this.#links <= MAX_NAMED_LINKS;
    if (this.#namesSkipped ?? (isRefused || isUnreadable(reason) || isNamedLink))
      this.#bar.note(`skipped: ${location}: ${describeSkip(reason)}`);
  }
}

function toStallNote(waitingCount: number): string {
  return (
    `${formatCountOf(waitingCount, 'transcript')} stored, which no worker has touched for ${formatDuration(STALL_MS)}. ` +
    'Is one running (`recount worker`)? It may start later, and nothing is lost. Ctrl-C or --no-wait ends the waiting.'
  );
}
