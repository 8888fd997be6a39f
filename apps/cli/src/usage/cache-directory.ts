import { homedir } from 'node:os';
import { join } from 'node:path';
import type { CliContext } from '../terminal/cli-context.ts';

/**
 * The folder where `recount usage` remembers what it has read; undefined without a home. May be deleted at any time.
 */
export function toUsageCache({ environment }: Pick<CliContext, 'environment'>): string | undefined {
  const home = environment.HOME || homedir();
  if (home === '') return undefined;
  const base =
    process.platform === 'darwin'
      ? join(home, 'Library/Caches')
      : process.platform === 'win32'
        ? environment.LOCALAPPDATA || join(home, 'AppData/Local')
        : environment.XDG_CACHE_HOME || join(home, '.cache');
  return join(base, 'recount', 'usage');
}
