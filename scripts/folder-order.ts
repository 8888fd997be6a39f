import { glob } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

/**
 * Folders of each package in the order of the data: a folder imports only from folders before it. Files directly in
 * `src` and helpers for tests (`testing`) may import from all. Packages without an entry have no folders.
 */
export const FOLDER_ORDER: Readonly<Record<string, readonly string[]>> = {
  'packages/core': ['time-zones', 'lines', 'records', 'agents', 'assemble', 'ledger', 'parse', 'live'],
  'packages/collect': ['find', 'spool', 'hooks', 'read', 'deliver'],
  'packages/service': ['telemetry', 'config'],
  'packages/storage': ['sources'],
  'apps/api': ['problems', 'http', 'paging', 'disk-space', 'documents', 'mcp', 'plugins', 'uploads', 'live', 'routes'],
  'apps/cli': [
    ...['terminal', 'data-directory', 'connection', 'prices', 'report', 'usage', 'parse', 'sessions', 'search', 'show'],
    ...['backfill', 'collector', 'restore', 'live', 'installation', 'status', 'commands'],
  ],
  'apps/web': ['api', 'format', 'ui', 'transcript', 'pages', 'shell'],
};

/** Packages whose folders still import each other in circles. */
const UNORDERED = new Set(['packages/db', 'packages/ingest']);

const SOURCE = /^((?:packages|apps)\/[^/]+)\/src\/(?:([^/]+)\/)?.*\.tsx?$/;
const IMPORT = /(?:from\s+|import\(\s*|import\s+)'(\.[^']+)'/g;

const isFree = (file: string): boolean => /\.test\.tsx?$|\/(testing|fixtures)\/|\/testing\.ts$/.test(file);

/**
 * Finds imports against the order of folders.
 *
 * @param files paths of all files in the repository, relative to its root
 * @param read reads one of them
 * @returns a line for each offence: place, import and reason
 */
export async function findUpwardImports(
  files: readonly string[],
  read: (file: string) => Promise<string>,
  orders = FOLDER_ORDER,
): Promise<string[]> {
  const offences: string[] = [];
  for (const file of files) {
    const [, name = '', folder] = SOURCE.exec(file) ?? [];
    if (folder === undefined || isFree(file) || UNORDERED.has(name)) continue;
    const order = orders[name] ?? [];
    if (!order.includes(folder)) {
      offences.push(`${file}: ${folder} has no place in the order of ${name}: add it to scripts/folder-order.ts`);
      continue;
    }
    for (const [, path = ''] of (await read(file)).matchAll(IMPORT)) {
      const [, , imported] = SOURCE.exec(normalize(join(dirname(file), path))) ?? [];
      if (imported === undefined || order.indexOf(imported) <= order.indexOf(folder)) continue;
      offences.push(`${file}: imports ${path}, but ${imported} comes after ${folder}: move what is shared down`);
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
