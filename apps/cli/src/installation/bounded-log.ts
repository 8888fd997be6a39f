import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The size where a new log file starts; the previous one stays. */
const MAX_LOG_BYTES = 10 * 1024 * 1024;
const WARNING_LEVEL = 40;

/**
 * A log file for lines of JSON. When it is full it is renamed to `<path>.1`, so that both together stay below twice the
 * limit. Lines are written when `write` returns, whatever ends the process. `write` never throws. Lines that cannot be
 * written are lost, and the next one that is written says how many.
 */
export function createBoundedLog(path: string, maxBytes = MAX_LOG_BYTES): { write(line: string): void } {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let sizeBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  let lostLines = 0;
  const append = (line: string): void => {
    if (sizeBytes >= maxBytes) {
      renameSync(path, `${path}.1`);
      sizeBytes = 0;
    }
    appendFileSync(path, line, { mode: 0o600 });
    sizeBytes += Buffer.byteLength(line);
  };
  return {
    write(line) {
      try {
        // Preceded by a line feed, because the full disk may have cut a line.
        if (lostLines > 0) append(`\n${JSON.stringify({ level: WARNING_LEVEL, lostLines, msg: 'log lines lost' })}\n`);
        lostLines = 0;
        append(line);
      } catch {
        lostLines += 1;
      }
    },
  };
}
