const MAX_REASON_LENGTH = 500;

/**
 * SQLSTATE classes whose messages describe the server or the statement, never values, such as connection, transaction
 * rollback, syntax and access, resources, object state, operator intervention.
 */
const VALUE_FREE_CLASSES = new Set(['08', '40', '42', '53', '55', '57']);

interface DatabaseError extends Error {
  code: string;
  table?: string;
  column?: string;
  constraint?: string;
}

/**
 * Why an attempt failed, without anything of the transcript. Postgres quotes offending values in its messages and
 * drizzle quotes the whole query, so for their errors only the error class and the names of the place are used.
 */
export function toFailureReason(error: unknown): string {
  const databaseError = findDatabaseError(error);
  if (databaseError !== undefined) {
    const { code, message, table, column, constraint } = databaseError;
    const place = [table, column, constraint].filter((name) => name !== undefined).join(', ');
    const details = VALUE_FREE_CLASSES.has(code.slice(0, 2)) ? message : place;
    return `Postgres error ${code}${details === '' ? '' : `: ${details}`}`.slice(0, MAX_REASON_LENGTH);
  }
  if (!(error instanceof Error)) return 'Unknown error';
  const { name, message } = toNamedError(error);
  return `${name}: ${message.startsWith('Failed query') ? 'query failed' : message}`.slice(0, MAX_REASON_LENGTH);
}

/**
 * The kind of a failure for counting, e.g. `postgres-23505` or `RawStoreError`. There are few, without text of a
 * transcript.
 */
export function toFailureKind(error: unknown): string {
  const databaseError = findDatabaseError(error);
  if (databaseError !== undefined) return `postgres-${databaseError.code}`;
  return error instanceof Error ? toNamedError(error).name : 'unknown';
}

/** The cause of a failed query, because drizzle's own error says only which query it was. */
function toNamedError(error: Error): Error {
  return error.message.startsWith('Failed query') && error.cause instanceof Error ? error.cause : error;
}

/** Searches the causes for an error with an SQLSTATE. */
function findDatabaseError(error: unknown): DatabaseError | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code } = current as Partial<DatabaseError>;
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in current) {
      return current as unknown as DatabaseError;
    }
  }
  return undefined;
}
