import type { LineFilter } from './line-splitter.ts';

/** Index of a byte of the first marker at or after `start`, where a line begins; -1 if there is none. */
export type MarkerFinder = (bytes: Buffer, start: number) => number;

/**
 * Accepts lines that contain one of the markers. Searches each chunk once for each marker, which is several times as
 * fast as testing each line.
 */
export function createMarkerFilter(markers: readonly string[]): LineFilter {
  const find = createMarkerFinder(markers);
  return (chunk, start, end) => {
    const foundAt = find(chunk, start);
    return foundAt !== -1 && foundAt < end;
  };
}

/** Finds markers without line feeds in one chunk after another. `start` must not decrease within a chunk. */
export function createMarkerFinder(markers: readonly string[]): MarkerFinder {
  const finders = markers.map(createFinder);
  return (bytes, start) => {
    let first = -1;
    for (const find of finders) {
      const foundAt = find(bytes, start);
      if (foundAt !== -1 && (first === -1 || foundAt < first)) first = foundAt;
    }
    return first;
  };
}

/** Searches from the first rare character on, because one that is frequent stops the search at each of its places. */
function createFinder(marker: string): MarkerFinder {
  const rareAt = Math.max(0, marker.search(/[A-Z_]/));
  const beginning = Buffer.from(marker.slice(0, rareAt));
  const needle = Buffer.from(marker.slice(rareAt));
  let searched: Buffer | undefined;
  let nextAt = -1;
  let isEnded = false;
  return (bytes, start) => {
    if (bytes !== searched) {
      searched = bytes;
      nextAt = -1;
      isEnded = false;
    }
    if (isEnded || nextAt >= start) return nextAt;
    nextAt = bytes.indexOf(needle, start);
    while (nextAt !== -1 && !isBefore(bytes, nextAt, beginning)) nextAt = bytes.indexOf(needle, nextAt + 1);
    isEnded = nextAt === -1;
    return nextAt;
  };
}

function isBefore(bytes: Buffer, at: number, beginning: Buffer): boolean {
  const from = at - beginning.length;
  for (let index = beginning.length - 1; index >= 0; index--) {
    if (bytes[from + index] !== beginning[index]) return false;
  }
  return true;
}
