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
  /** The command that calls recount. */
  launcher: string;
  /** True if it ends immediately, so that nothing can be queried over HTTP. */
  isOnce: boolean;
}

/** The place of an installation, with commands to try. Lines exceed 80 columns only for text to be copied. */
export function formatInstallation(shown: ShownInstallation): string[] {
  const { url, signInUrl, apiKey, launcher } = shown;
  const places = [
    `Data     ${shown.dataDirectory}`,
    `         database: ${shown.databasePlace}`,
    `         raw transcripts: ${shown.rawStore}`,
    `Log      ${shown.logFile}`,
  ];
  if (shown.isOnce) return places;
  return [
    `URL      ${url}`,
    ...(signInUrl === undefined ? [] : [`Open     ${signInUrl}`, '         (one-time sign-in link)']),
    `API key  ${apiKey}`,
    ...places,
    '',
    'Try:',
    `  curl -H 'Authorization: Bearer ${apiKey}' '${url}/v1/sessions?limit=5'`,
    `  ${launcher} sessions`,
    `  ${launcher} backfill ~/.claude/projects`,
    `  ${url}/docs in a browser`,
    '',
  ];
}

/** Places with their contents and sizes, before they are deleted. Paths are not shortened. */
export function formatPlaces(places: readonly { path: string; what: string; bytes: number }[]): string[] {
  const rows = places.map(({ path, what, bytes }) => [formatBytes(bytes), what, path]);
  const longest = Math.max(...places.map(({ path }) => path.length));
  return formatTable([{ header: '', align: 'right' }, { header: '' }, { header: '' }], rows, longest + 80).slice(1);
}
