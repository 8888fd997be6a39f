import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isAllowedAddress } from './get-over-https.ts';
import { loadPriceFile } from './load-price-file.ts';
import { MAX_PRICE_FILE_BYTES } from './price-file.ts';
import type { GetPrices } from './price-request.ts';
import { openPriceSource } from './price-source.ts';

const CONTENT = JSON.stringify({
  'gpt-9': { litellm_provider: 'openai', input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 },
});

/** Answers by URL; `text` may be a number of bytes. */
function answering(
  answers: Record<string, { status?: number; headers?: Record<string, string>; text?: string | number }>,
) {
  const asked: string[] = [];
  const get: GetPrices = async (url, { isRedirected }) => {
    asked.push(`${url.href}${isRedirected ? ' redirected' : ''}`);
    const { status = 200, headers = {}, text = CONTENT } = answers[url.href] ?? { status: 404 };
    async function* body() {
      if (typeof text === 'string') yield Buffer.from(text);
      else for (let left = text; left > 0; left -= 2 ** 20) yield Buffer.alloc(2 ** 20);
    }
    return { status, headers, body: body() };
  };
  return { get, asked };
}

describe('loadPriceFile', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'recount-prices-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('reads a file, dated by its name or else by its time', async () => {
    await writeFile(join(directory, 'prices-2026-11-20.json'), CONTENT);
    await writeFile(join(directory, 'prices.json'), CONTENT);
    await utimes(join(directory, 'prices.json'), 0, Date.parse('2026-10-01T12:00:00Z') / 1000);
    expect((await loadPriceFile('prices-2026-11-20.json', { directory })).date).toBe('2026-11-20');
    expect(await loadPriceFile('prices.json', { directory })).toMatchObject({
      ...{ date: '2026-10-01', source: join(directory, 'prices.json'), modelCount: 1 },
    });
    await expect(loadPriceFile('none.json', { directory })).rejects.toThrow('none.json cannot be used: ENOENT');
  });

  it('reads a URL, dated by its Last-Modified', async () => {
    const headers = { 'last-modified': 'Fri, 20 Nov 2026 08:00:00 GMT' };
    const { get, asked } = answering({ 'https://example.com/a': { headers } });
    expect(await loadPriceFile('https://example.com/a', { get })).toMatchObject({ date: '2026-11-20' });
    expect(asked).toEqual(['https://example.com/a']);
  });

  it('follows few redirects, to HTTPS only', async () => {
    const to = (location: string) => ({ status: 302, headers: { location } });
    const { get, asked } = answering({
      'https://a.example/': to('/b'),
      'https://a.example/b': to('https://c.example/'),
      'https://c.example/': {},
      'https://plain.example/': to('http://c.example/'),
      'https://file.example/': to('file:///etc/passwd'),
      'https://loop.example/': to('https://loop.example/'),
    });
    expect((await loadPriceFile('https://a.example/', { get })).date).toBeNull();
    expect(asked).toEqual(['https://a.example/', 'https://a.example/b redirected', 'https://c.example/ redirected']);
    for (const url of ['https://plain.example/', 'https://file.example/', 'http://a.example/', 'ftp://a.example/x']) {
      await expect(loadPriceFile(url, { get })).rejects.toThrow('must begin with https://');
    }
    await expect(loadPriceFile('https://loop.example/', { get })).rejects.toThrow('redirected more than 3 times');
    await expect(loadPriceFile('https://user:secret@a.example/', { get })).rejects.toThrow(
      'must not contain a password',
    );
    await expect(loadPriceFile('https://unknown.example/', { get })).rejects.toThrow('the server answers 404');
  });

  it('refuses what is too large or no price list', async () => {
    const { get } = answering({
      'https://a.example/large': { text: MAX_PRICE_FILE_BYTES + 1 },
      'https://a.example/html': { text: '<html>' },
    });
    await expect(loadPriceFile('https://a.example/large', { get })).rejects.toThrow('larger than 32 MiB');
    await expect(loadPriceFile('https://a.example/html', { get })).rejects.toThrow('it is not JSON');
  });
});

it('allows no addresses of this machine or link, and redirected none of private networks', () => {
  for (const address of ['127.0.0.1', '::1', '169.254.169.254', 'fe80::1', '0.0.0.0', '::ffff:127.0.0.1', 'nonsense']) {
    expect([address, isAllowedAddress(address, false)]).toEqual([address, false]);
  }
  for (const address of ['10.1.2.3', '172.20.0.1', '192.168.1.1', 'fd00::1']) {
    expect([address, isAllowedAddress(address, false), isAllowedAddress(address, true)]).toEqual([
      address,
      true,
      false,
    ]);
  }
  for (const address of ['93.184.216.34', '2606:2800:220:1::1']) expect(isAllowedAddress(address, true)).toBe(true);
});

describe('openPriceSource', () => {
  it('reads a path once, and refuses one that cannot be read', async () => {
    const load = vi.fn().mockRejectedValue(new Error('gone'));
    await expect(openPriceSource('/prices.json', { load })).rejects.toThrow('gone');
  });

  it('shows no password and no signature of a URL, in its place, its source and its errors', async () => {
    const url = 'https://bucket.example/prices.json?X-Amz-Signature=s3cret#s3cret';
    const shown = 'https://bucket.example/prices.json';
    const { get } = answering({ [url]: {} });
    expect(await loadPriceFile(url, { get })).toMatchObject({ source: shown });
    const withPassword = url.replace('//', '//ada:s3cret@');
    for (const [location, place] of [
      [withPassword, shown],
      [withPassword.replace('https', 'http'), shown.replace('https', 'http')],
      [url, shown],
    ] as const) {
      const load = (from: string) => loadPriceFile(from, { get: answering({}).get });
      const source = await openPriceSource(location, { load });
      source.close();
      expect(source.location).toBe(place);
      expect(source.error).toContain(place);
      expect(source.error).not.toContain('s3cret');
    }
  });

  it('keeps the last file of a URL while it cannot be read, and tries again', async () => {
    vi.useFakeTimers();
    const load = vi.fn().mockRejectedValueOnce(new Error('timeout')).mockResolvedValueOnce({ version: 'a' });
    const onChange = vi.fn();
    const source = await openPriceSource('https://a.example/', { load, onChange });
    expect([source.file, source.error]).toEqual([undefined, 'timeout']);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect([source.file?.version, source.error]).toEqual(['a', undefined]);
    load.mockRejectedValueOnce(new Error('timeout')).mockResolvedValueOnce({ version: 'b' });
    await vi.advanceTimersByTimeAsync(24 * 3_600_000);
    expect([source.file?.version, source.error]).toEqual(['a', 'timeout']);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(source.file?.version).toBe('b');
    source.close();
    await vi.advanceTimersByTimeAsync(48 * 3_600_000);
    expect(load).toHaveBeenCalledTimes(4);
    expect(onChange).toHaveBeenCalledTimes(3);
    vi.useRealTimers();
  });
});
