import { type Environment, readInteger, readText } from '@recount/service/config';

export interface SpaceConfig {
  /** Free bytes of a disk below which it counts as low. */
  lowBytes: number;
  /** Free bytes of a disk below which uploads are refused. */
  minFreeBytes: number;
  /** Where the database's files are, if they are on this machine. */
  databaseDirectory: string | undefined;
}

const DEFAULT_LOW_BYTES = 2 * 1024 ** 3;
const DEFAULT_MIN_FREE_BYTES = 256 * 1024 ** 2;
const MAX_BYTES = 1024 ** 5;

/** Throws ConfigError. */
export function readSpaceConfig(environment: Environment): SpaceConfig {
  const readBytes = (name: string, fallback: number): number =>
    readInteger(environment, name, { fallback, min: 0, max: MAX_BYTES });
  return {
    lowBytes: readBytes('RECOUNT_LOW_SPACE_BYTES', DEFAULT_LOW_BYTES),
    minFreeBytes: readBytes('RECOUNT_MIN_FREE_BYTES', DEFAULT_MIN_FREE_BYTES),
    databaseDirectory: readText(environment, 'RECOUNT_DATABASE_DIRECTORY'),
  };
}
