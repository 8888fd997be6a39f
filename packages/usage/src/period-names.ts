import type { LocalClock } from '@recount/core';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export type TimeKey = 'hour' | 'day' | 'week' | 'month';

/**
 * Names the period of a moment like reports of a server. Weeks are named by their Monday, hours with their offset to
 * UTC (`2026-10-25T02:00:00+02:00`), because an hour that clocks repeat is two. Each name is computed once, because
 * formatting is slow.
 */
export function createPeriodNames(key: TimeKey, clock: LocalClock): (timeMs: number) => string {
  const names = new Map<number, string>();
  return (timeMs) => {
    const localMs = clock.toLocalMs(timeMs);
    const startMs = key === 'hour' ? timeMs - toRemainder(localMs, HOUR_MS) : localMs - toRemainder(localMs, DAY_MS);
    let name = names.get(startMs);
    if (name === undefined) {
      name = key === 'hour' ? toHourName(startMs, clock) : toPeriodName(key, startMs);
      names.set(startMs, name);
    }
    return name;
  };
}

const toRemainder = (ms: number, lengthMs: number): number => ms - Math.floor(ms / lengthMs) * lengthMs;

function toHourName(startMs: number, clock: LocalClock): string {
  const localMs = clock.toLocalMs(startMs);
  return `${toIsoText(localMs).slice(0, -5)}${toOffsetName(localMs - startMs)}`;
}

function toPeriodName(key: 'day' | 'week' | 'month', localMs: number): string {
  const start = new Date(localMs);
  if (key === 'week') start.setUTCDate(start.getUTCDate() - ((start.getUTCDay() + 6) % 7));
  const [date = ''] = toIsoText(start.getTime()).split('T');
  return key === 'month' ? date.slice(0, -3) : date;
}

/** East of UTC, the last hours of 9999 are of the year 10000, which toISOString writes as +010000. */
const toIsoText = (ms: number): string => new Date(ms).toISOString().replace(/^\+0*/, '');

function toOffsetName(offsetMs: number): string {
  const minutes = Math.floor(Math.abs(offsetMs) / MINUTE_MS);
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'));
  return `${offsetMs < 0 ? '-' : '+'}${hour}:${minute}`;
}
