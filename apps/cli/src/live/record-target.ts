import type { ApiPlace } from '../connection/api-client.ts';
import { type ApiOptions, findApi } from '../connection/find-api.ts';
import { readCredentials } from '../data-directory/credentials.ts';
import { toDataDirectory } from '../data-directory/data-directory.ts';
import { findRunning } from '../data-directory/installation-lock.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import type { SpoolTarget } from './spool/spool-folder.ts';

/** The target of recordings, and its connection. */
export interface RecordTarget {
  spoolTarget: SpoolTarget;
  /** The API for a stream, if it is available now. Undefined for a server whose key is unknown. */
  findPlace(target: SpoolTarget): Promise<ApiPlace | undefined>;
}

/**
 * The server of `--server` or RECOUNT_SERVER, else the local installation. Throws UsageError, e.g. for a server without
 * a key.
 */
export async function findRecordTarget(context: CliContext, options: ApiOptions): Promise<RecordTarget> {
  const isNamed = (options.server ?? context.environment.RECOUNT_SERVER ?? '') !== '';
  const server = isNamed ? await findApi(context, options) : undefined;
  return {
    spoolTarget: server === undefined ? { kind: 'local' } : { kind: 'server', url: server.url },
    async findPlace(target) {
      if (target.kind === 'local') return await findLocalPlace(context, server === undefined ? options.key : undefined);
      // A key is only sent to the server that it belongs to.
      return target.url === server?.url ? server : undefined;
    },
  };
}

async function findLocalPlace(context: CliContext, key: string | undefined): Promise<ApiPlace | undefined> {
  const directory = toDataDirectory(context);
  const url = (await findRunning(directory.lock))?.url;
  const apiKey = key ?? (await readCredentials(directory.credentials))?.apiKey;
  return url === undefined || apiKey === undefined ? undefined : { url, key: apiKey };
}

export function toTargetName(target: SpoolTarget): string {
  return target.kind === 'local' ? 'the local installation' : target.url;
}
