import { S3Client } from '@aws-sdk/client-s3';
import { type Environment, readRawStoreConfig } from '@recount/config';

/** Reads `s3://` paths with the settings of the raw store, S3_ENDPOINT and the like. Throws ConfigError. */
export function createSourceClient(environment: Environment): S3Client {
  const { s3 } = readRawStoreConfig({ ...environment, RECOUNT_RAW_STORE: 's3://any' });
  const { region, endpoint, forcePathStyle, credentials } = s3;
  return new S3Client({
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint, responseChecksumValidation: 'WHEN_REQUIRED' as const }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    ...(credentials !== undefined && { credentials }),
  });
}
