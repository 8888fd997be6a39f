import type { Database } from '../database/database.ts';
import { listRepositoryRenames } from '../workspaces/repository-renames.ts';
import { requireMatches, resolveNames, UnresolvedNameError } from './resolve-names.ts';

const MAX_OFFERED = 5;

/**
 * The full names of repositories to rename; each may be given by a part that only it matches. A name that is renamed
 * already means itself. Throws UnresolvedNameError.
 */
export async function resolveRepositories(
  database: Database,
  workspaceId: string,
  wanted: readonly string[],
): Promise<string[]> {
  const renames = await listRepositoryRenames(database, workspaceId);
  const renamed = new Set(renames.filter(({ new_name }) => new_name !== null).map(({ name }) => name));
  const names = new Set<string>();
  for (const each of new Set(wanted)) {
    if (renamed.has(each)) {
      names.add(each);
      continue;
    }
    const resolved = await resolveNames(database, workspaceId, { repository: each });
    requireMatches(resolved.unmatched);
    const found = resolved.names.repository ?? [];
    const [only] = found.includes(each) ? [each] : found;
    if (only === undefined || (only !== each && found.length > 1)) {
      const offered = found.slice(0, MAX_OFFERED);
      const more = found.length > MAX_OFFERED ? `, and ${found.length - MAX_OFFERED} more` : '';
      const message = `${each} matches several repositories: ${offered.join(', ')}${more}. Give the full name.`;
      throw new UnresolvedNameError('repository', message, offered, true);
    }
    names.add(only);
  }
  return [...names];
}
