import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Of one log file; the one before it is kept beside it. */
export const MAX_LOG_BYTES = 10 * 1024 * 1024;

/**
 * A log file for lines of JSON. When it is full it becomes `<path>.1`, so that both together stay below twice the bound.
 * Lines are there when `write` returns, whatever ends the process.
 */
export function createBoundedLog(path: string, maxBytes = MAX_LOG_BYTES): { write(line: string): void } {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let sizeBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return {
    write(line) {
      if (sizeBytes >= maxBytes) {
        renameSync(path, `${path}.1`);
        sizeBytes = 0;
      }
      appendFileSync(path, line, { mode: 0o600 });
      sizeBytes += Buffer.byteLength(line);
    },
  };
}
