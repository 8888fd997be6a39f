const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
]);

/** SQLSTATE classes: connection, transaction rollback, resources, lock not available, operator intervention. */
const TRANSIENT_CLASSES = new Set(['08', '40', '53', '55', '57']);

/** A write to a replica, or to a primary that has become one. */
const READ_ONLY_STATE = '25006';

/** Errors of the driver and its pool that carry no code. */
const DRIVER_MESSAGES =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Cannot use a pool after calling end)/;

const MAX_CAUSES = 5;

/** Whether a query failed for want of a database, so that the same request may succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    const { code } = current as Error & { code?: unknown };
    if (typeof code === 'string' && (SOCKET_CODES.has(code) || isTransientState(code))) return true;
    if (DRIVER_MESSAGES.test(current.message)) return true;
    current = current.cause;
  }
  return false;
}

function isTransientState(code: string): boolean {
  return code === READ_ONLY_STATE || (code.length === 5 && TRANSIENT_CLASSES.has(code.slice(0, 2)));
}
