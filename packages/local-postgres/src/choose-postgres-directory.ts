import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isReachable, type ReadFileMode } from './account-access.ts';
import type { ServerAccount } from './server-account.ts';

/** Where root keeps what the unprivileged account could not reach in the place it was meant for. */
export const systemDirectory = '/var/lib/recount';

/**
 * The directory that really holds the cluster asked for in `requestedDirectory` (absolute, symbolic links resolved).
 *
 * Usually that directory itself. Run by root, PostgreSQL gets an account of its own, which cannot reach a directory
 * below a home directory of mode 0700. The cluster then lives in `/var/lib/recount/postgres-<hash>`, where the hash is
 * the first 12 hexadecimal digits of the SHA-256 of the requested path: the same request always finds the same data.
 */
export async function choosePostgresDirectory(
  readFileMode: ReadFileMode,
  { requestedDirectory, account }: { requestedDirectory: string; account: ServerAccount | undefined },
): Promise<string> {
  if (account === undefined || (await isReachable(readFileMode, requestedDirectory, account))) {
    return requestedDirectory;
  }
  const hash = createHash('sha256').update(requestedDirectory).digest('hex').slice(0, 12);
  return join(systemDirectory, `postgres-${hash}`);
}
