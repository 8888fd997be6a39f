export interface RecentKeys {
  /** Remembers the key; false where it is remembered already. */
  add(key: string): boolean;
  has(key: string): boolean;
}

/** A set of the `maxKeys` keys added last. */
export function createRecentKeys(maxKeys: number): RecentKeys {
  const keys = new Set<string>();
  const forgetOldest = (): void => {
    const [oldest = ''] = keys;
    keys.delete(oldest);
  };
  return {
    add(key) {
      if (keys.has(key)) return false;
      keys.add(key);
      if (keys.size > maxKeys) forgetOldest();
      return true;
    },
    has: (key) => keys.has(key),
  };
}
