import type { LineFilter } from './line-splitter.ts';

/** Index of a byte of the first marker at or after `start`, where a line begins; -1 if there is none. */
export type MarkerFinder = (bytes: Buffer, start: number) => number;

/** Shorter ends occur too often to be worth a search. */
const MIN_COMMON_END = 4;

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
  const end = toCommonEnd(markers);
  if (end.length >= MIN_COMMON_END) return createEndFinder(markers, end);
  const finders = markers.map((marker) => createEndFinder([marker], marker));
  return (bytes, start) => {
    let first = -1;
    for (const find of finders) {
      const foundAt = find(bytes, start);
      if (foundAt !== -1 && (first === -1 || foundAt < first)) first = foundAt;
    }
    return first;
  };
}

/** Searches for the end that all markers have, which costs half as much as a quotation mark at the beginning. */
function createEndFinder(markers: readonly string[], end: string): MarkerFinder {
  const needle = Buffer.from(end);
  const beginnings = markers.map((marker) => Buffer.from(marker.slice(0, marker.length - end.length)));
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
    for (nextAt = bytes.indexOf(needle, start); nextAt !== -1; nextAt = bytes.indexOf(needle, nextAt + 1)) {
      if (beginnings.some((beginning) => isBefore(bytes, nextAt, beginning))) return nextAt;
    }
    isEnded = true;
    return -1;
  };
}

function isBefore(bytes: Buffer, at: number, beginning: Buffer): boolean {
  const from = at - beginning.length;
  for (let index = beginning.length - 1; index >= 0; index--) {
    if (bytes[from + index] !== beginning[index]) return false;
  }
  return true;
}

function toCommonEnd([first = '', ...others]: readonly string[]): string {
  let length = first.length;
  for (const other of others) while (!other.endsWith(first.slice(first.length - length))) length--;
  return first.slice(first.length - length);
}
