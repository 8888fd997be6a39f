/** The local PostgreSQL cannot be provided, started or stopped. The message is meant for whoever runs recount. */
export class LocalPostgresError extends Error {
  override readonly name = 'LocalPostgresError';
}

/** The advice that every dead end shares. */
export const useYourOwnDatabase = 'Set DATABASE_URL to use a PostgreSQL of yours.';
