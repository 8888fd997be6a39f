/** Counts by name. */
export interface Tally {
  add(name: string): void;
  total(): number;
  toObject(): Record<string, number>;
  /** As `12 api, 3 worker`, the most frequent first. */
  toText(): string;
}

export function createTally(): Tally {
  const counts = new Map<string, number>();
  const sorted = () => [...counts].sort(([, a], [, b]) => b - a);
  return {
    add: (name) => void counts.set(name, (counts.get(name) ?? 0) + 1),
    total: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
    toObject: () => Object.fromEntries(sorted()),
    toText: () =>
      sorted()
        .map(([name, count]) => `${count} ${name}`)
        .join(', ') || 'none',
  };
}
