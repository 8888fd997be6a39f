import { describe, expect, it } from 'vitest';
import { AddressError, classifyAddress, resolveDestination, toBlockList } from './check-address.ts';

const NONE = toBlockList([]);

const resolveTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? (6 as const) : (4 as const) }));

describe('an address', () => {
  it.each([
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    ...['0.0.0.0', '255.255.255.255', '224.0.0.1', '198.18.0.1', '192.0.0.192'],
    ...['::', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', 'fc00::1', 'fd12:3456::1', 'fe80::1'],
    ...['fec0::1', 'ff02::1', '64:ff9b::7f00:1', '64:ff9b::a00:1', '2002:7f00:1::', '2001:0:1::1', '::127.0.0.1'],
    ...['::ffff:0:127.0.0.1', '::ffff:0:a00:1', '100::1', '100:0:0:1::1', '1fff::1', '4000::1', '5f00::1', 'bfff::1'],
    '168.63.129.16',
    'no address',
  ])('%s is internal', (address) => {
    expect(classifyAddress(address, NONE)).toBe('internal');
  });

  it.each([
    '1.1.1.1',
    '172.15.0.1',
    '172.32.0.1',
    '192.167.1.1',
    '100.128.0.1',
    '168.63.129.17',
    '2606:4700:4700::1111',
    '3ffe::1',
    '::ffff:8.8.8.8',
    '::ffff:808:808',
  ])('%s is public', (address) => {
    expect(classifyAddress(address, NONE)).toBe('public');
  });

  it('is allowed if its network is', () => {
    const allowed = toBlockList(['10.1.0.0/16', '::1']);
    expect(classifyAddress('10.1.2.3', allowed)).toBe('allowed');
    expect(classifyAddress('::ffff:10.1.2.3', allowed)).toBe('allowed');
    expect(classifyAddress('10.2.2.3', allowed)).toBe('internal');
    expect(classifyAddress('::1', allowed)).toBe('allowed');
  });
});

describe('networks', () => {
  it.each(['10.0.0.0/33', '10.0.0/8', 'example.org', '', '10.0.0.0/8/8', '10.0.0.0/-1', 'fc00::/129'])(
    'refuses %j',
    (network) => {
      expect(() => toBlockList([network])).toThrow(RangeError);
    },
  );
});

describe('a destination', () => {
  it.each([
    ...['https://127.0.0.1/', 'https://[::1]/', 'https://0x7f.1/', 'https://2130706433/', 'https://[::ffff:10.0.0.1]/'],
    ...['https://127.1:8443/', 'http://169.254.169.254/latest/meta-data'],
  ])('%s is refused', async (url) => {
    await expect(resolveDestination(new URL(url), { allowed: NONE })).rejects.toThrow(AddressError);
  });

  it('is refused if one of its addresses is internal, or it has none', async () => {
    const url = new URL('https://example.org/hook');
    const check = (...addresses: string[]) =>
      resolveDestination(url, { allowed: NONE, resolve: resolveTo(...addresses) });
    await expect(check('1.1.1.1', '10.0.0.1')).rejects.toThrow('internal address');
    await expect(check()).rejects.toThrow('no address');
    await expect(check('1.1.1.1', '2606:4700:4700::1111')).resolves.toHaveLength(2);
  });

  it('is sent in the clear only to allowed networks', async () => {
    const rules = { allowed: toBlockList(['10.0.0.0/8']) };
    const url = new URL('http://example.org/hook');
    await expect(resolveDestination(url, { ...rules, resolve: resolveTo('1.1.1.1') })).rejects.toThrow('https');
    await expect(resolveDestination(url, { ...rules, resolve: resolveTo('10.0.0.1') })).resolves.toHaveLength(1);
  });
});
