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
  'EMFILE',
  'ENFILE',
]);

/** SQLSTATE classes: connection, transaction rollback, resources, lock not available, operator intervention. */
const TRANSIENT_CLASSES = new Set(['08', '40', '53', '55', '57']);

/** Too many connections; an administrator's, a crash's or a timeout's end of the connection; starting up or stopping. */
const CONNECTION_STATES = new Set(['53300', '57P01', '57P02', '57P03', '57P05']);

/** A write to a replica, or to a primary that has become one. */
const READ_ONLY_STATE = '25006';
/** The operating system refused to read or write a file. */
const IO_ERROR_STATE = '58030';
const DISK_FULL_STATE = '53100';

/** Errors of the driver and its pool that carry no code. */
const DRIVER_MESSAGES =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Cannot use a pool after calling end)/;

const MAX_CAUSES = 5;

/** Whether a query failed for want of a database, so that the same request may succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return isLost(
    error,
    (state) => isExhaustedState(state) || (state.length === 5 && TRANSIENT_CLASSES.has(state.slice(0, 2))),
  );
}

/**
 * Whether the database answers but cannot do its work: its disk is full or fails, its memory or another resource is used
 * up, or it takes no writes, as after a failover. Whether that is so for everybody, `checkDatabaseWrite` tells.
 */
export function isDatabaseExhausted(error: unknown): boolean {
  return hasState(error, isExhaustedState);
}

/** Whether the database's disk is full, or a quota of it. */
export function isDatabaseFull(error: unknown): boolean {
  return hasState(error, (state) => state === DISK_FULL_STATE);
}

/**
 * Whether the connection to the database was lost, or could not be had. Narrower than `isDatabaseUnavailable`: neither
 * a deadlock nor a cancelled statement, which may be of the statement's own making.
 */
export function isConnectionLost(error: unknown): boolean {
  return isLost(error, (state) => CONNECTION_STATES.has(state) || /^08[0-9A-Z]{3}$/.test(state));
}

const isExhaustedState = (state: string): boolean =>
  state === READ_ONLY_STATE ||
  state === IO_ERROR_STATE ||
  (/^53[0-9A-Z]{3}$/.test(state) && !CONNECTION_STATES.has(state));

function isLost(error: unknown, isMatchingState: (state: string) => boolean): boolean {
  const isMatch = (code: string): boolean => SOCKET_CODES.has(code) || isMatchingState(code);
  return hasState(error, isMatch) || listCauses(error).some(({ message }) => DRIVER_MESSAGES.test(message));
}

function hasState(error: unknown, isMatch: (code: string) => boolean): boolean {
  return listCauses(error).some((cause) => {
    const { code } = cause as Error & { code?: unknown };
    return typeof code === 'string' && isMatch(code);
  });
}

function listCauses(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < MAX_CAUSES; cause = cause.cause) causes.push(cause);
  return causes;
}
