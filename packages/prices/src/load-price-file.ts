import { lookup } from 'node:dns';
import { readFile, stat } from 'node:fs/promises';
import { get } from 'node:https';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import { MAX_PRICE_FILE_BYTES, type PriceFile, parsePriceFile } from './price-file.ts';

/** A price file cannot be read or is refused; the message says which one and why. */
export class PriceFileError extends Error {
  override name = 'PriceFileError';
}

/** An answer to a GET request. */
interface PriceAnswer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: AsyncIterable<Uint8Array>;
}

export type GetPrices = (url: URL, options: { signal: AbortSignal; isRedirected: boolean }) => Promise<PriceAnswer>;

const TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 3;

export const isPriceUrl = (location: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(location);

/**
 * Reads a price file from a path, or from an HTTPS URL: with at most 3 redirects, all to HTTPS, in 30 seconds, 32 MiB at
 * most. It dates from the day in its name (`prices-2026-11-20.json`), or else from when it was last modified. Throws
 * PriceFileError.
 */
export async function loadPriceFile(
  location: string,
  { directory = '.', get: fetch = getOverHttps }: { directory?: string; get?: GetPrices } = {},
): Promise<PriceFile> {
  const isUrl = isPriceUrl(location);
  try {
    const { text, modifiedAt } = isUrl
      ? await download(location, fetch)
      : await readLocal(resolve(directory, location));
    const source = isUrl ? location : resolve(directory, location);
    const parsed = parsePriceFile(text, { source, date: findDay(location) ?? modifiedAt });
    if ('file' in parsed) return parsed.file;
    throw new PriceFileError(parsed.refused);
  } catch (error) {
    throw new PriceFileError(`The price file ${location} cannot be used: ${(error as Error).message}`);
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

/** Addresses of this machine and of its link, such as the metadata services of clouds. */
const LOCAL = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const) {
  LOCAL.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  LOCAL.addSubnet(network, prefix, 'ipv6');
/** Addresses that a public server has no reason to redirect to. */
const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  PRIVATE.addSubnet(network, prefix, 'ipv4');
}
PRIVATE.addSubnet('fc00::', 7, 'ipv6');

/**
 * Checks that a price file may be fetched from an address. It must never be on this machine or link, and a redirect
 * must not lead to a private one.
 */
export function isAllowedAddress(address: string, isRedirected: boolean): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  const family = isIPv6(plain) ? 'ipv6' : 'ipv4';
  return isIP(plain) !== 0 && !LOCAL.check(plain, family) && !(isRedirected && PRIVATE.check(plain, family));
}

const getOverHttps: GetPrices = (url, { signal, isRedirected }) =>
  new Promise((done, fail) => {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !isAllowedAddress(host, isRedirected)) {
      fail(new PriceFileError('its server has an address that is not allowed'));
      return;
    }
    const request = get(
      url,
      {
        signal,
        headers: { accept: 'application/json', 'user-agent': 'recount' },
        // Checks the very address that is connected to.
        lookup(hostname, options, callback) {
          lookup(hostname, { ...options, all: true }, (error, addresses) => {
            const allowed = error ? [] : addresses.filter(({ address }) => isAllowedAddress(address, isRedirected));
            const [first] = allowed;
            if (error || first === undefined) {
              callback(error ?? new PriceFileError('its server has an address that is not allowed'), [], 0);
            } else if (options.all) callback(null, allowed);
            else callback(null, first.address, first.family);
          });
        },
      },
      (response) => done({ status: response.statusCode ?? 0, headers: response.headers, body: response }),
    );
    request.on('error', fail);
  });
