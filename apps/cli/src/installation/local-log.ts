import { type Logger, type LoggerOptions, pino } from 'pino';
import { toSingleLine } from '../terminal/text-width.ts';
import { createBoundedLog } from './bounded-log.ts';

/** The log of a local installation. */
export interface LocalLog {
  logger: Logger;
  /** Adds a line of JSON that another process has logged, without its line feed. */
  writeLine(line: string): void;
}

const WARNING_LEVEL = 40;
/** The same warning is not shown again within this time, because an unavailable database causes many a second. */
const REPEAT_MS = 10_000;
const MAX_WARNINGS_REMEMBERED = 1000;

/** A log of JSON lines in a file. Warnings and errors are also passed to `onWarning`, one line for people each. */
export function createLocalLog(
  path: string,
  level: NonNullable<LoggerOptions['level']>,
  onWarning: (line: string) => void,
  nowMs = () => performance.now(),
): LocalLog {
  const file = createBoundedLog(path);
  const shownAtMs = new Map<string, number>();
  const write = (line: string): void => {
    file.write(line);
    const warning = toWarning(line);
    if (warning === undefined || nowMs() - (shownAtMs.get(warning) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    if (shownAtMs.size >= MAX_WARNINGS_REMEMBERED) shownAtMs.clear();
    shownAtMs.set(warning, nowMs());
    onWarning(warning);
  };
  return { logger: pino({ level }, { write }), writeLine: (line) => write(`${line}\n`) };
}

function toWarning(line: string): string | undefined {
  const { level, msg, reason, error, transcriptId } = parseLine(line);
  if (typeof level !== 'number' || level < WARNING_LEVEL) return undefined;
  const details = [reason ?? error, transcriptId && `transcript ${transcriptId}`].filter(Boolean).join(', ');
  return toSingleLine(details === '' ? String(msg) : `${msg}: ${details}`);
}

/** A line that is not JSON comes from a failure before the log existed. */
function parseLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line);
  } catch {
    return { level: WARNING_LEVEL, msg: line };
  }
}
