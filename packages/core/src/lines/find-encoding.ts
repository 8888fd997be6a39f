/** Encodings that recount does not read. Agents write UTF-8, but a shell may have written their output otherwise. */
export type UnreadEncoding = 'utf-16' | 'utf-32' | 'binary';

const SAMPLE_BYTES = 512;
/** So many zeros in the same places belong to ASCII in wider characters. */
const MIN_SHARE = 0.7;

const BYTE_ORDER_MARKS: readonly (readonly [encoding: UnreadEncoding, bytes: readonly number[]])[] = [
  ['utf-32', [0xff, 0xfe, 0x00, 0x00]],
  ['utf-32', [0x00, 0x00, 0xfe, 0xff]],
  ['utf-16', [0xff, 0xfe]],
  ['utf-16', [0xfe, 0xff]],
];

/**
 * The encoding of a file's beginning if it cannot be lines of JSON in UTF-8: UTF-16 and UTF-32 in either byte order, with or
 * without a byte order mark, or `binary`, which is anything else that begins with bytes that no text has, such as encrypted
 * or overwritten files.
 */
export function findUnreadEncoding(head: Uint8Array): UnreadEncoding | undefined {
  const marked = BYTE_ORDER_MARKS.find(([, bytes]) => bytes.every((byte, index) => head[index] === byte));
  if (marked !== undefined) return marked[0];
  const sample = head.subarray(0, SAMPLE_BYTES);
  if (!sample.some(isNoText)) return undefined;
  if (hasZeros(sample, 4, [1, 2, 3]) || hasZeros(sample, 4, [0, 1, 2])) return 'utf-32';
  if (hasZeros(sample, 2, [1]) || hasZeros(sample, 2, [0])) return 'utf-16';
  return startsAsJson(sample) ? undefined : 'binary';
}

/** Control characters other than white space, and bytes that are in no UTF-8. */
const isNoText = (byte: number): boolean => (byte < 0x20 && (byte < 0x09 || byte > 0x0d)) || byte >= 0xf8;

/** True if zeros fill these places of each group of bytes, and no other place. */
function hasZeros(sample: Uint8Array, size: number, places: readonly number[]): boolean {
  const groups = Math.floor(sample.length / size);
  if (groups < 2) return false;
  const shareAt = (place: number): number => {
    let zeros = 0;
    for (let group = 0; group < groups; group++) if (sample[group * size + place] === 0) zeros += 1;
    return zeros / groups;
  };
  return Array.from({ length: size }, (_, place) => place).every((place) =>
    places.includes(place) ? shareAt(place) >= MIN_SHARE : shareAt(place) < 1 - MIN_SHARE,
  );
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

function startsAsJson(sample: Uint8Array): boolean {
  const first = sample.find((byte) => byte > 0x20 && !BYTE_ORDER_MARK.includes(byte));
  return first === 0x7b || first === 0x5b;
}
