import type { LineFilter } from './line-splitter.ts';

const NONE = Number.POSITIVE_INFINITY;

/**
 * Accepts lines that contain one of the markers. Searches each chunk once for each marker, which is several times as
 * fast as testing each line.
 */
export function createMarkerFilter(markers: readonly string[]): LineFilter {
  const needles = markers.map((marker) => ({ bytes: Buffer.from(marker), nextAt: -1 }));
  let searched: Buffer | undefined;
  return (chunk, start, end) => {
    if (chunk !== searched) {
      searched = chunk;
      for (const needle of needles) needle.nextAt = -1;
    }
    let isFound = false;
    for (const needle of needles) {
      if (needle.nextAt < start) {
        const foundAt = chunk.indexOf(needle.bytes, start);
        needle.nextAt = foundAt === -1 ? NONE : foundAt;
      }
      isFound ||= needle.nextAt < end;
    }
    return isFound;
  };
}
