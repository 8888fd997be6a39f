// biome-ignore lint/style/noRestrictedImports: test support, not part of the package.
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/** Like `toEqual`, and many times faster where large values are equal. */
export function expectSame<T>(actual: T, expected: T): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toStrictEqual(expected);
}
