export { createDatabase, dropDatabase } from './databases.ts';
export { type LocalPostgres, type StartLocalPostgresOptions, startLocalPostgres } from './start-local-postgres.ts';
