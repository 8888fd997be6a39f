import { resolve } from 'node:path';
import type { ReadSourcesOptions } from '@recount/storage/sources';
import type { CliContext } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';

interface GivenPaths {
  /** Absolute paths, or S3 locations. */
  paths: string[];
  /** Options needed to read them. */
  options: Pick<ReadSourcesOptions, 's3'>;
  close(): void;
}

/** Resolves the user's paths. Throws UsageError for a remote location other than S3. */
export async function openGivenPaths(context: CliContext, given: readonly string[]): Promise<GivenPaths> {
  const paths = given.map((path) => toAbsolutePath(context.workingDirectory, path));
  const s3 = paths.some(isS3Location) ? await loadSourceClient(context) : undefined;
  return { paths, options: { ...(s3 && { s3 }) }, close: () => s3?.destroy() };
}

function toAbsolutePath(workingDirectory: string, path: string): string {
  if (isS3Location(path)) return path;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) throw new UsageError(`${path}: only files, folders and s3:// are read`);
  return resolve(workingDirectory, path);
}

const isS3Location = (path: string): boolean => /^s3:\/\//i.test(path);

/** The SDK is slow to load and rarely needed. */
async function loadSourceClient({ environment }: CliContext) {
  const [{ createS3Client }, { readS3Config }] = await Promise.all([
    import('@recount/storage/s3-client'),
    import('@recount/service/config'),
  ]);
  return createS3Client(readS3Config(environment));
}
