import { formatBytes, formatCount, formatCountOf, formatDuration } from './format-values.ts';
import { type CliOutput, toTerminalText } from './guard-terminal.ts';
import { cutToWidth } from './text-width.ts';

export interface Progress {
  /** Undefined while unknown. */
  totalBytes: number | undefined;
  doneBytes: number;
  files: number;
  /** Other current activity. */
  remark: string;
}

export interface ProgressBar {
  update(progress: Progress): void;
  /** Writes a line above the bar. */
  note(line: string): void;
  /** Removes the bar. */
  end(): void;
}

const FRAME_MS = 100;
/** If the output is a file or a program, an occasional line shows progress. */
const LINE_MS = 5000;
const BAR_COLUMNS = 24;
const CLEAR_LINE = '\r\u001B[2K';
/** Before that, a rate means little. */
const MIN_ELAPSED_MS = 1000;
/** Less would be shown as 0 s. */
const MIN_LEFT_MS = 500;

/** A progress bar on a terminal; otherwise a line every 5 seconds, between the notes. */
export function createProgressBar(stream: CliOutput, nowMs = () => performance.now()): ProgressBar {
  const startedAtMs = nowMs();
  let drawnAtMs = stream.isTTY ? Number.NEGATIVE_INFINITY : startedAtMs;
  let line = '';
  const draw = (text: string): void => {
    stream.writeUnguarded(CLEAR_LINE + toTerminalText(text));
    line = text;
  };
  return {
    update(progress) {
      if (nowMs() - drawnAtMs < (stream.isTTY ? FRAME_MS : LINE_MS)) return;
      drawnAtMs = nowMs();
      const text = formatProgress(progress, drawnAtMs - startedAtMs, stream.isTTY);
      if (stream.isTTY) draw(cutToWidth(text, (stream.columns ?? 80) - 1));
      else stream.write(`${toTerminalText(text)}\n`);
    },
    note(text) {
      const bar = line;
      if (bar !== '') draw('');
      stream.write(`${text}\n`);
      if (bar !== '') draw(bar);
    },
    end() {
      if (line !== '') draw('');
    },
  };
}

/**
 * Runs something without measurable progress, and says every 5 seconds that it is running: `what() … 15 s`, on a
 * terminal in one line that disappears.
 */
export async function whileShowing<Result>(
  stream: CliOutput,
  what: () => string,
  run: () => Promise<Result>,
): Promise<Result> {
  const startedAtMs = performance.now();
  let isShown = false;
  const show = (): void => {
    isShown = true;
    const text = `${what()} … ${formatDuration(performance.now() - startedAtMs)}`;
    if (stream.isTTY) stream.writeUnguarded(CLEAR_LINE + toTerminalText(cutToWidth(text, (stream.columns ?? 80) - 1)));
    else stream.write(`${text}\n`);
  };
  const timer = setInterval(show, stream.isTTY ? LINE_MS / 5 : LINE_MS);
  try {
    return await run();
  } finally {
    clearInterval(timer);
    if (isShown && stream.isTTY) stream.writeUnguarded(CLEAR_LINE);
  }
}

/**
 * As ` 42 % [██████ ] 12 MB of 29 MB 3.1 MB/s 12 files/s 5 s left to read remark`. The time is for the bytes alone. The
 * remark covers the later steps.
 */
export function formatProgress(
  { totalBytes, doneBytes, files, remark }: Progress,
  elapsedMs: number,
  hasBar = true,
): string {
  const seconds = Math.max(elapsedMs, 1) / 1000;
  const hasRate = elapsedMs >= MIN_ELAPSED_MS;
  const rates = hasRate ? [`${formatBytes(doneBytes / seconds)}/s`, `${formatCount(files / seconds)} files/s`] : [];
  if (totalBytes === undefined || totalBytes === 0) {
    return [formatBytes(doneBytes), formatCountOf(files, 'file'), ...rates, remark].join('  ').trimEnd();
  }
  const share = Math.min(1, doneBytes / totalBytes);
  const filled = Math.round(share * BAR_COLUMNS);
  const percent = `${String(Math.floor(share * 100)).padStart(3)} %`;
  const bar = hasBar ? `${percent} [${'█'.repeat(filled)}${' '.repeat(BAR_COLUMNS - filled)}]` : percent;
  const leftMs = hasRate && share > 0 ? (elapsedMs / share) * (1 - share) : 0;
  const left = leftMs >= MIN_LEFT_MS ? [`${formatDuration(leftMs)} left to read`] : [];
  const amount = `${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}`;
  return [bar, amount, ...rates, ...left, remark].join('  ').trimEnd();
}
