/**
 * Gives the keys of a map or set in the order of their insertion, each to be deleted by the caller before the next call;
 * undefined where there is none. One iterator for all calls: a new one would step over every deleted entry again, which
 * makes deleting n entries one by one cost n squared.
 */
export function createOldestKey(entries: { keys(): Iterator<string, undefined> }): () => string | undefined {
  let keys = entries.keys();
  return () => {
    const next = keys.next();
    if (!next.done) return next.value;
    // An iterator that has come to its end stays there, whatever is added later.
    keys = entries.keys();
    return keys.next().value;
  };
}
