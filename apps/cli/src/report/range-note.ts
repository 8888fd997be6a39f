import { formatTimestamp } from '../terminal/format-values.ts';

/** For a range without data, says where there are data; times in ISO 8601, null if unknown. */
export function toRangeNote(data: { first: string | null; last: string | null }, timeZone: string): string {
  if (data.last === null) return 'Nothing in this time range, nor in any other.';
  const toDay = (time: string): string => formatTimestamp(time, timeZone).slice(0, 10);
  const first = data.first === null ? '' : `, the first of ${toDay(data.first)}`;
  return `Nothing in this time range. The latest session is of ${toDay(data.last)}${first}.`;
}
