import { formatBytes } from '../terminal/format-values.ts';
import { formatTable } from '../terminal/table.ts';

export interface ShownInstallation {
  url: string;
  /** A link that signs in once; undefined without a dashboard. */
  signInUrl: string | undefined;
  apiKey: string;
  dataDirectory: string;
  databasePlace: string;
  rawStore: string;
  logFile: string;
  /** True if it ends immediately, so that nothing can be queried over HTTP. */
  isOnce: boolean;
}

/** The places of an installation, the link first. Lines exceed 80 columns only for text to be copied. */
export function formatInstallation(shown: ShownInstallation): string[] {
  const { url, signInUrl, apiKey } = shown;
  const log = `Log      ${shown.logFile}`;
  if (!shown.isOnce) {
    const link = signInUrl === undefined ? [] : [`Open     ${signInUrl} (one-time link)`];
    return [...link, `URL      ${url}`, `API key  ${apiKey}`, `Data     ${shown.dataDirectory}`, log];
  }
  return [
    `Data     ${shown.dataDirectory}`,
    `         database: ${shown.databasePlace}`,
    `         raw transcripts: ${shown.rawStore}`,
    log,
  ];
}

/** Places with their contents and sizes, before they are deleted. Paths are not shortened. */
export function formatPlaces(places: readonly { path: string; what: string; bytes: number }[]): string[] {
  const rows = places.map(({ path, what, bytes }) => [formatBytes(bytes), what, path]);
  const longest = Math.max(...places.map(({ path }) => path.length));
  return formatTable([{ header: '', align: 'right' }, { header: '' }, { header: '' }], rows, longest + 80).slice(1);
}
