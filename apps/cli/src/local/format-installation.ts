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
  /** What is typed to call recount. */
  launcher: string;
  /** Whether it ends at once, and nothing of it can be asked over HTTP. */
  isOnce: boolean;
}

/** Where an installation is and what to try with it. Lines are longer than 80 columns only for what is to be copied. */
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
    ...(signInUrl === undefined ? [] : [`Open     ${signInUrl}`, '         (signs in, once)']),
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

/** What lies where, and how much, before it is deleted. Paths stay whole: they are what is deleted. */
export function formatPlaces(places: readonly { path: string; what: string; bytes: number }[]): string[] {
  const rows = places.map(({ path, what, bytes }) => [formatBytes(bytes), what, path]);
  const longest = Math.max(...places.map(({ path }) => path.length));
  return formatTable([{ header: '', align: 'right' }, { header: '' }, { header: '' }], rows, longest + 80).slice(1);
}
