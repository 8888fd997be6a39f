export { createDatabase, dropDatabase } from './databases.ts';
export { LocalPostgresError } from './local-postgres-error.ts';
export { type LocalPostgres, type StartLocalPostgresOptions, startLocalPostgres } from './start-local-postgres.ts';
