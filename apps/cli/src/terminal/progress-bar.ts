import { formatBytes, formatCount, formatDuration } from './format-values.ts';
import { type CliOutput, toTerminalText } from './guard-terminal.ts';
import { cutToWidth } from './text-width.ts';

export interface Progress {
  /** Undefined while it is not known. */
  totalBytes: number | undefined;
  doneBytes: number;
  files: number;
  /** What is going on beside the reading. */
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
const BAR_COLUMNS = 24;
const CLEAR_LINE = '\r\u001B[2K';
/** Before that, a rate says little. */
const MIN_ELAPSED_MS = 1000;

/** A progress bar on a terminal; on anything else only the notes are written. */
export function createProgressBar(stream: CliOutput, nowMs = () => performance.now()): ProgressBar {
  const startedAtMs = nowMs();
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  let line = '';
  const draw = (text: string): void => {
    if (stream.isTTY) stream.writeUnguarded(CLEAR_LINE + toTerminalText(text));
    line = text;
  };
  return {
    update(progress) {
      if (!stream.isTTY || nowMs() - drawnAtMs < FRAME_MS) return;
      drawnAtMs = nowMs();
      draw(cutToWidth(formatProgress(progress, drawnAtMs - startedAtMs), (stream.columns ?? 80) - 1));
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

/** As ` 42 % [██████      ]  12 MB of 29 MB  3.1 MB/s  12 files/s  5 s left  remark`. */
export function formatProgress({ totalBytes, doneBytes, files, remark }: Progress, elapsedMs: number): string {
  const seconds = Math.max(elapsedMs, 1) / 1000;
  const hasRate = elapsedMs >= MIN_ELAPSED_MS;
  const rates = hasRate ? [`${formatBytes(doneBytes / seconds)}/s`, `${formatCount(files / seconds)} files/s`] : [];
  if (totalBytes === undefined || totalBytes === 0) {
    return [formatBytes(doneBytes), `${formatCount(files)} files`, ...rates, remark].join('  ').trimEnd();
  }
  const share = Math.min(1, doneBytes / totalBytes);
  const filled = Math.round(share * BAR_COLUMNS);
  const bar = `${String(Math.floor(share * 100)).padStart(3)} % [${'█'.repeat(filled)}${' '.repeat(BAR_COLUMNS - filled)}]`;
  const left = hasRate && share > 0 && share < 1 ? [`${formatDuration((elapsedMs / share) * (1 - share))} left`] : [];
  const amount = `${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}`;
  return [bar, amount, ...rates, ...left, remark].join('  ').trimEnd();
}
