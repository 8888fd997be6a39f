import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

/** A destination is, or resolves to, an address that nothing may be sent to. */
export class AddressError extends Error {
  override name = 'AddressError';
}

/**
 * Networks that are not on the public internet, or lead to such a network (RFC 6890 and the registries of IANA). Of IPv6,
 * only 2000::/3 is public. 168.63.129.16 is the inside of Azure's machines.
 */
const INTERNAL_NETWORKS = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16'],
  // Not ::/8, because IPv4 addresses are compared in the form ::ffff:1.2.3.4.
  ...['::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/8', '200::/7', '400::/6', '800::/5'],
  ...['1000::/4', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '4000::/2', '8000::/1'],
];

/** Throws RangeError for a text that is no network, such as `10.0.0.0/8`, and no address. */
export function toBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix, ...rest] = network.split('/');
    const version = isIP(address);
    const bits = version === 4 ? 32 : 128;
    const length = prefix === undefined ? bits : Number(prefix);
    const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && length <= bits);
    if (version === 0 || !isPrefix || rest.length > 0) throw new RangeError(`${network} is not a network`);
    list.addSubnet(address, length, version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

const INTERNAL = toBlockList(INTERNAL_NETWORKS);

export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

export interface AddressRules {
  /** Internal networks that are allowed. */
  allowed: BlockList;
  /** Default the resolver of the system. */
  resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
}

const resolveBySystem = async (host: string): Promise<ResolvedAddress[]> =>
  (await lookup(host, { all: true })).map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));

export type AddressKind = 'public' | 'allowed' | 'internal';

/** An IPv4 address in an IPv6 one counts as the IPv4 address. */
export function classifyAddress(address: string, allowed: BlockList): AddressKind {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  const family = isIP(mapped) === 6 ? 'ipv6' : 'ipv4';
  if (isIP(mapped) === 0) return 'internal';
  if (allowed.check(mapped, family)) return 'allowed';
  return INTERNAL.check(mapped, family) ? 'internal' : 'public';
}

/**
 * The addresses of a URL's host, to connect to one of them and to no other. Throws AddressError if any of them is
 * internal and not allowed, or if what is sent would be readable on its way to a public one.
 */
export async function resolveDestination(
  url: URL,
  { allowed, resolve = resolveBySystem }: AddressRules,
): Promise<readonly ResolvedAddress[]> {
  // Without the brackets of IPv6.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const version = isIP(host);
  const addresses = version === 0 ? await resolve(host) : [{ address: host, family: version === 6 ? 6 : 4 } as const];
  if (addresses.length === 0) throw new AddressError('The host has no address');
  const kinds = addresses.map(({ address }) => classifyAddress(address, allowed));
  if (kinds.includes('internal')) {
    throw new AddressError(
      'The host has an internal address. Operators can allow its network with RECOUNT_ALERT_PRIVATE_NETWORKS',
    );
  }
  if (url.protocol !== 'https:' && kinds.includes('public')) throw new AddressError('Only https:// is allowed');
  return addresses;
}
