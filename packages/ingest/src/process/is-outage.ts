import { isConnectionLost } from '@recount/db';
import { RawStoreError } from '@recount/storage';

const MAX_CAUSES = 5;

/** Whether raw store or database were away, which says nothing of the transcript. */
export function isOutage(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    if (current instanceof RawStoreError) return current.retryable;
    current = current.cause;
  }
  return isConnectionLost(error);
}
