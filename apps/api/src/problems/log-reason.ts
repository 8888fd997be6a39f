import { toFailureReason } from '@recount/ingest';

/**
 * What the log says of an error: never a stack, a URL, a query or its values. The framework's own errors quote URLs in
 * their messages, so of those only the code is told.
 */
export function toLogReason(error: unknown): string {
  if (error instanceof Error) {
    const { code } = error as Error & { code?: unknown };
    if (typeof code === 'string' && code.startsWith('FST_')) return code;
  }
  return toFailureReason(error);
}
