import { resolve } from 'node:path';
import type { ReadSourcesOptions } from '@recount/storage/sources';
import type { CliContext } from '../cli-context.ts';
import { UsageError } from '../cli-error.ts';

interface GivenPaths {
  /** Absolute, or of S3. */
  paths: string[];
  /** What reading them takes. */
  options: Pick<ReadSourcesOptions, 's3'>;
  close(): void;
}

/** Paths of the user's. Throws UsageError for a remote place that is no S3 one. */
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

/** The SDK takes long to load, and is seldom needed. */
async function loadSourceClient({ environment }: CliContext) {
  const [{ createS3Client }, { readS3Config }] = await Promise.all([
    import('@recount/storage/s3-client'),
    import('@recount/service/config'),
  ]);
  return createS3Client(readS3Config(environment));
}
