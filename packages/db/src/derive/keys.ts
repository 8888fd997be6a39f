/** Names a group by its key. No two keys of as many fields have the same name. */
export function toGroupName(fields: readonly (string | number | boolean | null)[]): string {
  let name = '';
  // Texts of a transcript have no zero bytes, which Postgres refuses.
  for (const field of fields) name += field === null ? '\0-' : `\0+${field}`;
  return name;
}

/** Compares texts by their bytes of UTF-8, as COLLATE "C" does. */
export function compareBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const [code, otherCode] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (code !== otherCode) return toRank(code) - toRank(otherCode);
  }
  return one.length - other.length;
}

/** UTF-8 sorts by code point. Surrogates stand for those above all others. */
const toRank = (code: number): number => (code >= 0xd800 && code <= 0xdfff ? code + 0x10000 : code);

const BUCKET_MS = 15 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

/** Start of the 15-minute bucket of an ISO 8601 time, in milliseconds since 1970. */
export function toBucketMs(timestamp: string | null): number | null {
  return timestamp === null ? null : Math.floor(Date.parse(timestamp) / BUCKET_MS) * BUCKET_MS;
}

export const toDayMs = (bucketMs: number | null): number | null =>
  bucketMs === null ? null : Math.floor(bucketMs / DAY_MS) * DAY_MS;

export const toIso = (timeMs: number | null): string | null =>
  timeMs === null ? null : new Date(timeMs).toISOString();

/** The value of a key; if there is none, of a new entry. */
export function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}
