import { expect, it } from 'vitest';
import { formatInstallation, formatPlaces } from './format-installation.ts';

const FOLDER = `/home/maya/${'a-long-folder-name/'.repeat(4)}recount`;
const INSTALLATION = {
  url: 'http://127.0.0.1:7878',
  signInUrl: `http://127.0.0.1:7878/sign-in#${'s'.repeat(43)}`,
  apiKey: `rk_${'k'.repeat(43)}`,
  dataDirectory: FOLDER,
  databasePlace: `${FOLDER}/postgres`,
  rawStore: `${FOLDER}/raw`,
  logFile: `${FOLDER}/logs/recount.log`,
  isOnce: false,
};

/** Without paths, keys and URLs, which are meant for copying. */
const toWords = (line: string): string => line.replaceAll(/\S*(?:\/|rk_)\S*/g, '');

it('shows where an installation is in 80 columns, without breaking text for copying', () => {
  const lines = formatInstallation(INSTALLATION);
  for (const line of lines) expect({ line, fits: toWords(line).length <= 60 }).toEqual({ line, fits: true });
  expect(lines[0]).toBe(`Open     ${INSTALLATION.signInUrl} (one-time link)`);
  expect(lines).toContain(`URL      ${INSTALLATION.url}`);
  expect(lines).toContain(`Data     ${FOLDER}`);
  const short = formatInstallation({
    ...INSTALLATION,
    dataDirectory: '/root/.recount',
    databasePlace: '/p',
    rawStore: '/r',
  });
  for (const line of short) if (!/^ {2}curl|^Open|^Log/.test(line)) expect(line.length).toBeLessThanOrEqual(80);
});

it('shows neither URL nor key of an installation that ends immediately', () => {
  expect(formatInstallation({ ...INSTALLATION, isOnce: true }).join('\n')).not.toMatch(/http|rk_/);
});

it('lists what would be deleted, each path whole and last', () => {
  const lines = formatPlaces([
    { path: FOLDER, what: 'data', bytes: 208_000 },
    { path: '/var/lib/recount/postgres-0123456789ab', what: 'database', bytes: 48_000_000 },
    { path: '/home/maya/.cache/recount', what: 'cache of recount usage', bytes: 90 },
  ]);
  expect(lines).toEqual([
    `208 kB  data                    ${FOLDER}`,
    ' 48 MB  database                /var/lib/recount/postgres-0123456789ab',
    '  90 B  cache of recount usage  /home/maya/.cache/recount',
  ]);
});
