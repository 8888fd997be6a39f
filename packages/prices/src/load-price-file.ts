import { resolve } from 'node:path';
import { MAX_PRICE_FILE_BYTES, type PriceFile, parsePriceFile } from './price-file.ts';
import { type GetPrices, PriceFileError } from './price-request.ts';

const TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 3;

export const isPriceUrl = (location: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(location);

/** The place of a price file for people: of a URL without user, password, and what follows `?`, which may sign it. */
export const toShownLocation = (location: string): string =>
  isPriceUrl(location)
    ? location
        .trim()
        .replace(/[?#].*$/s, '')
        .replace(/^([^/]*\/\/)[^/]*@/, '$1')
    : location;

/**
 * Reads a price file from a path, or from an HTTPS URL: with at most 3 redirects, all to HTTPS, in 30 seconds, 32 MiB at
 * most. It dates from the day in its name (`prices-2026-11-20.json`), or else from when it was last modified. Throws
 * PriceFileError.
 */
export async function loadPriceFile(
  location: string,
  { directory = '.', get: fetch }: { directory?: string; get?: GetPrices } = {},
): Promise<PriceFile> {
  const isUrl = isPriceUrl(location);
  try {
    const { text, modifiedAt } = isUrl
      ? await download(location, fetch ?? (await import('./get-over-https.ts')).getOverHttps)
      : await readLocal(resolve(directory, location));
    const source = isUrl ? toShownLocation(location) : resolve(directory, location);
    const parsed = parsePriceFile(text, { source, date: findDay(location) ?? modifiedAt });
    if ('file' in parsed) return parsed.file;
    throw new PriceFileError(parsed.refused);
  } catch (error) {
    throw new PriceFileError(`The price file ${toShownLocation(location)} cannot be used: ${(error as Error).message}`);
  }
}

function findDay(location: string): string | null {
  const name =
    location
      .replace(/[?#].*$/, '')
      .split(/[\\/]/)
      .at(-1) ?? '';
  const day = /(?<!\d)(20\d\d-\d\d-\d\d)(?!\d)/.exec(name)?.[1];
  return day === undefined || Number.isNaN(Date.parse(day)) ? null : day;
}

interface Content {
  text: string;
  /** ISO 8601; null if unknown. */
  modifiedAt: string | null;
}

async function readLocal(path: string): Promise<Content> {
  // Most programs read no price file, and need not load what it takes.
  const { readFile, stat } = await import('node:fs/promises');
  const { size, mtime } = await stat(path);
  if (size > MAX_PRICE_FILE_BYTES) throw new PriceFileError('it is larger than 32 MiB');
  return { text: await readFile(path, 'utf8'), modifiedAt: mtime.toISOString() };
}

async function download(location: string, fetch: GetPrices): Promise<Content> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let url = toAllowedUrl(location);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const { status, headers, body } = await fetch(url, { signal, isRedirected: redirects > 0 });
    const target = headers.location;
    if (status >= 300 && status < 400 && typeof target === 'string') {
      url = toAllowedUrl(new URL(target, url).href);
      continue;
    }
    if (status !== 200) throw new PriceFileError(`the server answers ${status}`);
    const modifiedMs = Date.parse(String(headers['last-modified']));
    const modifiedAt = Number.isNaN(modifiedMs) ? null : new Date(modifiedMs).toISOString();
    return { text: await readBounded(body), modifiedAt };
  }
  throw new PriceFileError(`it is redirected more than ${MAX_REDIRECTS} times`);
}

function toAllowedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:')
    throw new PriceFileError('its URL, and where that redirects to, must begin with https://');
  if (url.username !== '' || url.password !== '') throw new PriceFileError('its URL must not contain a password');
  return url;
}

async function readBounded(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_PRICE_FILE_BYTES) throw new PriceFileError('it is larger than 32 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
