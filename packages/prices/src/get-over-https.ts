import { lookup } from 'node:dns';
import { get } from 'node:https';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { type GetPrices, PriceFileError } from './price-request.ts';

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

export const getOverHttps: GetPrices = (url, { signal, isRedirected }) =>
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
