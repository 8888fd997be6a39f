import { createOldestKey } from './oldest-key.ts';

export interface RecentKeys {
  /** Remembers the key; false where it is remembered already. */
  add(key: string): boolean;
  has(key: string): boolean;
}

/** Remembers in `keys` the `maxKeys` keys added last. */
export function createRecentKeys(maxKeys: number, keys = new Set<string>()): RecentKeys {
  const oldest = createOldestKey(keys);
  return {
    add(key) {
      const knownCount = keys.size;
      if (keys.add(key).size === knownCount) return false;
      if (keys.size > maxKeys) keys.delete(oldest.take() ?? key);
      else oldest.pass();
      return true;
    },
    has: (key) => keys.has(key),
  };
}
