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

/** Too many connections; an administrator's or a crash's end of the connection; starting up or stopping. */
const CONNECTION_STATES = new Set(['53300', '57P01', '57P02', '57P03']);

/** A write to a replica, or to a primary that has become one. */
const READ_ONLY_STATE = '25006';

/** Errors of the driver and its pool that carry no code. */
const DRIVER_MESSAGES =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Cannot use a pool after calling end)/;

const MAX_CAUSES = 5;

/** Whether a query failed for want of a database, so that the same request may succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return isLost(
    error,
    (state) => state === READ_ONLY_STATE || (state.length === 5 && TRANSIENT_CLASSES.has(state.slice(0, 2))),
  );
}

/**
 * Whether the connection to the database was lost, or could not be had. Narrower than `isDatabaseUnavailable`: neither
 * a deadlock nor a cancelled statement, which may be of the statement's own making.
 */
export function isConnectionLost(error: unknown): boolean {
  return isLost(error, (state) => CONNECTION_STATES.has(state) || /^08[0-9A-Z]{3}$/.test(state));
}

function isLost(error: unknown, isMatchingState: (state: string) => boolean): boolean {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    const { code } = current as Error & { code?: unknown };
    if (typeof code === 'string' && (SOCKET_CODES.has(code) || isMatchingState(code))) return true;
    if (DRIVER_MESSAGES.test(current.message)) return true;
    current = current.cause;
  }
  return false;
}
