/**
 * Checkpoints in order of time, each once. They come from the transcripts, `stored`, and from streams that have
 * shown. The latter have no times. One that is not stored yet comes before the next one of its list that is, or else
 * last.
 */
export function mergeCheckpoints(stored: readonly string[], shown: readonly string[]): string[] {
  const places = new Map(stored.map((uuid, index) => [uuid, index]));
  const before = new Map<number, string[]>();
  let waiting: string[] = [];
  for (const uuid of new Set(shown)) {
    const place = places.get(uuid);
    if (place === undefined) waiting.push(uuid);
    else {
      before.set(place, waiting);
      waiting = [];
    }
  }
  return [...stored.flatMap((uuid, index) => [...(before.get(index) ?? []), uuid]), ...waiting];
}
