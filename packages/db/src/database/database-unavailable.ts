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

/** SQLSTATE classes, connection, transaction rollback, resources, lock not available, operator intervention. */
const TRANSIENT_CLASSES = new Set(['08', '40', '53', '55', '57']);

/** Too many connections; a connection ended by an administrator, a crash or a timeout; starting up or shutting down. */
const CONNECTION_STATES = new Set(['53300', '57P01', '57P02', '57P03', '57P05']);

/** A write to a replica, or to a primary that was demoted. */
const READ_ONLY_STATE = '25006';
/** The operating system failed to read or write a file. */
const IO_ERROR_STATE = '58030';
const DISK_FULL_STATE = '53100';

/** Errors of the driver and its pool that have no code. */
const DRIVER_MESSAGES =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Cannot use a pool after calling end)/;

const MAX_CAUSES = 5;

/** True if a query failed because the database was unavailable, so that the same request may succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return isLost(
    error,
    (state) => isExhaustedState(state) || (state.length === 5 && TRANSIENT_CLASSES.has(state.slice(0, 2))),
  );
}

/**
 * True if the database responds but cannot work. Its disk is full or failing, memory or another resource is exhausted,
 * or it is read-only, e.g. after a failover. `checkDatabaseWrite` shows whether this affects every client.
 */
export function isDatabaseExhausted(error: unknown): boolean {
  return hasState(error, isExhaustedState);
}

/** True if the database's disk, or its quota, is full. */
export function isDatabaseFull(error: unknown): boolean {
  return hasState(error, (state) => state === DISK_FULL_STATE);
}

/**
 * True if the connection to the database was lost, or could not be made. Narrower than `isDatabaseUnavailable`.
 * Excludes deadlocks and cancelled statements, which the statement itself may have caused.
 */
export function isConnectionLost(error: unknown): boolean {
  return isLost(error, (state) => CONNECTION_STATES.has(state) || /^08[0-9A-Z]{3}$/.test(state));
}

/** Messages of a Citus coordinator about a node, whose codes differ, and of `askNodes`. */
const NODE_FAILURE =
  /^(?:connection to the remote node (?:\S+@)?|failure on connection marked as essential: |The node )([\w.[\]:-]+:\d+)/;

/** `host:port` of the cluster's node that did not answer, if a query failed for that. */
export function findLostNode(error: unknown): string | undefined {
  for (const { message } of listCauses(error)) {
    const [, node] = NODE_FAILURE.exec(message) ?? [];
    if (node !== undefined) return node;
  }
  return undefined;
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
