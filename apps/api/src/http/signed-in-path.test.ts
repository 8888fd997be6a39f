import { describe, expect, it } from 'vitest';
import { readPageSecret, toRoutedUrl } from './signed-in-path.ts';

const PAGE = 'p'.repeat(43);

describe('the path of a signed-in page', () => {
  it('is split into the secret and the path of the API', () => {
    const url = `/signed-in/${PAGE}/v1/sessions?a=/signed-in/`;
    expect(toRoutedUrl({ url })).toBe('/v1/sessions?a=/signed-in/');
    expect(readPageSecret(url)).toBe(PAGE);
  });

  it.each([
    '/v1/sessions',
    `/signed-in/${PAGE}/healthz`,
    `/signed-in/${PAGE}p/v1/sessions`,
    `/x/signed-in/${PAGE}/v1/sessions`,
    `/signed-in/${PAGE}`,
  ])('leaves %s as it is', (url) => {
    expect(toRoutedUrl({ url })).toBe(url);
    expect(readPageSecret(url)).toBeUndefined();
  });
});
