/** The local PostgreSQL cannot be provided, started or stopped. The message is written for the user. */
export class LocalPostgresError extends Error {
  override readonly name = 'LocalPostgresError';
}

/** Advice that ends every such message. */
export const useYourOwnDatabase = 'Set DATABASE_URL to use a PostgreSQL of yours.';
