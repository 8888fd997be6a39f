import { glob } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

/**
 * Folders of each package in the order of the data. A folder imports only from folders before it. Helpers for tests
 * (`testing`) may import from all. A file directly in `src` may be listed by its name; `.` stands for all others there,
 * which come last without it. Packages without an entry have no folders.
 */
export const FOLDER_ORDER: Readonly<Record<string, readonly string[]>> = {
  'packages/core': ['time-zones', 'lines', 'records', 'agents', 'assemble', 'ledger', 'parse', 'live', 'bills', 'demo'],
  'packages/contract': ['.', 'reports', 'price-effect.ts', 'shares.ts', 'index.ts'],
  'packages/collect': ['find', 'spool', 'hooks', 'read', 'deliver', 'backfill'],
  'packages/db': [
    ...[
      'schema',
      'database',
      'copy',
      'migrations',
      'workspaces',
      'cluster',
      'people',
      'shares',
      'transcripts',
      'derive',
      'messages',
    ],
    ...[
      'usage',
      'telemetry',
      'bills',
      'findings',
      'filters',
      'search',
      'sessions',
      'attachments',
      'live',
      'reports',
      'alerts',
      'budgets',
      'digests',
      'export',
      'consistency',
    ],
  ],
  'packages/ingest': [
    ...['queue', '.', 'secrets', 'raw-objects', 'prices', 'receive', 'process', 'live', 'backfill', 'search'],
    ...['alerts', 'maintenance', 'demo', 'consistency', 'index.ts'],
  ],
  'packages/service': ['telemetry', 'config'],
  'packages/storage': ['.', 'sources'],
  'apps/api': [
    ...['provider-settings.ts', 'config.ts', 'problems', 'http', 'metrics', 'api-dependencies.ts', 'disk-space'],
    ...['access', 'identity', 'plugins', 'paging'],
    ...['uploads', 'otlp', 'documents', 'people', 'live', 'mcp', 'routes'],
  ],
  'apps/cli': [
    ...['terminal', 'data-directory', 'connection', 'prices', 'report', 'usage', 'parse', 'sessions', 'search', 'show'],
    ...['backfill', 'bills', 'collector', 'restore', 'live', 'installation', 'status', 'cluster', 'people', 'commands'],
  ],
  'apps/web': ['format', 'server-data', 'ui', 'transcript', 'parts', 'pages', 'shell'],
};

const SOURCE = /^((?:packages|apps)\/[^/]+)\/src\/(.+\.tsx?)$/;
const IMPORT = /(?:from\s+|import\(\s*|import\s+)'(\.[^']+)'/g;

const isForTests = (file: string): boolean => /\.test\.tsx?$|\/(testing|fixtures)\/|\/testing\.ts$/.test(file);

function findRank(order: readonly string[], path: string): { place: string; rank: number } {
  const place = order.includes(path) || !path.includes('/') ? path : path.slice(0, path.indexOf('/'));
  if (order.includes(place)) return { place, rank: order.indexOf(place) };
  if (place !== path) return { place, rank: -1 };
  return { place, rank: order.includes('.') ? order.indexOf('.') : order.length };
}

/**
 * Finds imports against the order of folders.
 *
 * @param files paths of all files in the repository, relative to its root
 * @param read reads one of them
 * @returns a line for each offence, with place, import and reason
 */
export async function findUpwardImports(
  files: readonly string[],
  read: (file: string) => Promise<string>,
  orders = FOLDER_ORDER,
): Promise<string[]> {
  const offences: string[] = [];
  for (const file of files) {
    const [, name = '', path = ''] = SOURCE.exec(file) ?? [];
    if (path === '' || isForTests(file)) continue;
    const order = orders[name] ?? [];
    const { place, rank } = findRank(order, path);
    if (rank === -1) {
      offences.push(`${file}: ${place} has no place in the order of ${name}: add it to scripts/folder-order.ts`);
      continue;
    }
    for (const [, specifier = ''] of (await read(file)).matchAll(IMPORT)) {
      const target = normalize(join(dirname(file), specifier));
      const [, , imported = ''] = SOURCE.exec(target) ?? [];
      const { place: importedPlace, rank: importedRank } = findRank(order, imported);
      if (isForTests(target)) offences.push(`${file}: imports ${specifier}, which is only for tests`);
      else if (imported !== '' && importedRank > rank)
        offences.push(
          `${file}: imports ${specifier}, but ${importedPlace} comes after ${place}: move what is shared down`,
        );
    }
  }
  return offences;
}

/** Paths of all sources, relative to `root`. */
export async function listSources(root: string): Promise<string[]> {
  const files: string[] = [];
  for await (const file of glob('{packages,apps}/*/src/**/*.{ts,tsx}', { cwd: root })) files.push(file);
  return files;
}
