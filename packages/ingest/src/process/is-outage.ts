import { isConnectionLost, isDatabaseExhausted } from '@recount/db';
import { RawStoreError } from '@recount/storage';

const MAX_CAUSES = 5;

/**
 * What of the installation an error says something about, rather than about the transcript:
 * - `away`: the raw store failed, or the connection to the database was lost
 * - `store-full`, `database-exhausted`: it answers, and has no room or other resource left, or takes no writes
 */
export type Outage = 'away' | 'store-full' | 'database-exhausted';

/** Undefined where the error may be of the transcript's own making. */
export function toOutage(error: unknown): Outage | undefined {
  const storeError = findStoreError(error);
  if (storeError !== undefined) {
    if (storeError.code === 'out-of-space') return 'store-full';
    return storeError.retryable ? 'away' : undefined;
  }
  if (isDatabaseExhausted(error)) return 'database-exhausted';
  return isConnectionLost(error) ? 'away' : undefined;
}

function findStoreError(error: unknown): RawStoreError | undefined {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    if (current instanceof RawStoreError) return current;
    current = current.cause;
  }
  return undefined;
}
