export interface OldestKey {
  /** The oldest key, which the caller must delete before anything else; undefined if there is none. */
  take(): string | undefined;
  /** Call it after an insertion without a `take`. */
  pass(): void;
}

/**
 * Finds the keys of a map or set in insertion order. All calls share one iterator, because a new one would step over
 * every deleted entry again, so deleting n entries one by one would take O(n²). But an iterator keeps alive every hash
 * table that the map has had since, and a map with many insertions and deletions gets a new table every few insertions.
 * So it is replaced after as many insertions as there are entries.
 */
export function createOldestKey(entries: { readonly size: number; keys(): Iterator<string, undefined> }): OldestKey {
  let keys: Iterator<string, undefined> | undefined;
  let passCount = 0;
  return {
    take() {
      passCount = 0;
      keys ??= entries.keys();
      const next = keys.next();
      if (!next.done) return next.value;
      // An exhausted iterator stays exhausted, whatever is added later.
      keys = entries.keys();
      return keys.next().value;
    },
    pass() {
      if (keys !== undefined && ++passCount > entries.size) keys = undefined;
    },
  };
}

export interface RecentKeys {
  /** Remembers the key; returns false if it already is remembered. */
  add(key: string): boolean;
  has(key: string): boolean;
}

/** Remembers the last `maxKeys` added keys in `keys`. */
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
