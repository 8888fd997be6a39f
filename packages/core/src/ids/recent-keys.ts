interface OldestKey {
  /** The key inserted first, to be deleted by the caller before anything else happens; undefined if there is none. */
  take(): string | undefined;
  /** To be called after an insertion for which nothing was taken. */
  pass(): void;
}

/**
 * Finds the keys of a map or set in the order of their insertion. One iterator for all calls: a new one would step over
 * every deleted entry again, which makes deleting n entries one by one cost n squared. Yet an iterator that rests holds
 * every table that the map has had since, and a map from which entries come and go has a new one every few insertions:
 * so it is given up after as many insertions as there are entries.
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
      // An iterator that has come to its end stays there, whatever is added later.
      keys = entries.keys();
      return keys.next().value;
    },
    pass() {
      if (keys !== undefined && ++passCount > entries.size) keys = undefined;
    },
  };
}

interface RecentKeys {
  /** Remembers the key; false if it is remembered already. */
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
