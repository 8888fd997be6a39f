import { createOldestKey } from './oldest-key.ts';

export interface RecentKeys {
  /** Remembers the key; false where it is remembered already. */
  add(key: string): boolean;
  has(key: string): boolean;
}

/** Remembers in `keys` the `maxKeys` keys added last. */
export function createRecentKeys(maxKeys: number, keys = new Set<string>()): RecentKeys {
  const oldestKey = createOldestKey(keys);
  return {
    add(key) {
      const knownCount = keys.size;
      if (keys.add(key).size === knownCount) return false;
      const oldest = keys.size > maxKeys ? oldestKey() : undefined;
      if (oldest !== undefined) keys.delete(oldest);
      return true;
    },
    has: (key) => keys.has(key),
  };
}
