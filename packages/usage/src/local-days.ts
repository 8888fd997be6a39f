const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Clock times of a zone. The offset to UTC is computed once for most days: formatting each time would take longer than
 * everything else.
 */
export interface LocalClock {
  timeZone: string;
  /** The moment's local clock time, expressed as if it were UTC. */
  toLocalMs(timeMs: number): number;
  /** When the local day (`2026-03-01`) begins. */
  toDayStartMs(day: string): number;
}

/** Throws RangeError for an unknown time zone. */
export function createLocalClock(timeZone: string): LocalClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const readOffsetMs = (timeMs: number): number => {
    const fields = Object.fromEntries(format.formatToParts(timeMs).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = fields;
    const localMs = Date.UTC(year, month - 1, day, hour, minute, second);
    return localMs - Math.floor(timeMs / 1000) * 1000;
  };
  /** By UTC day number; undefined for a day on which the offset changes. */
  const offsets = new Map<number, number | undefined>();
  const offsetAt = (timeMs: number): number => {
    const dayNumber = Math.floor(timeMs / DAY_MS);
    if (!offsets.has(dayNumber)) {
      const [first, last] = [readOffsetMs(dayNumber * DAY_MS), readOffsetMs((dayNumber + 1) * DAY_MS - 1000)];
      offsets.set(dayNumber, first === last ? first : undefined);
    }
    return offsets.get(dayNumber) ?? readOffsetMs(timeMs);
  };
  return {
    timeZone,
    toLocalMs: (timeMs) => timeMs + offsetAt(timeMs),
    toDayStartMs(day) {
      const localMs = Date.parse(`${day}T00:00:00Z`);
      const guessMs = localMs - offsetAt(localMs);
      return localMs - offsetAt(guessMs);
    },
  };
}

export type TimeKey = 'hour' | 'day' | 'week' | 'month';

/**
 * Names the period of a moment, in the form that reports of a server have: weeks by their Monday, hours with their offset to
 * UTC (`2026-10-25T02:00:00+02:00`), because an hour that clocks repeat is two. Each name is computed once, because
 * formatting is slow.
 */
export function createPeriodNames(key: TimeKey, clock: LocalClock): (timeMs: number) => string {
  const lengthMs = key === 'hour' ? HOUR_MS : DAY_MS;
  const namesByOffset = new Map<number, Map<number, string>>();
  return (timeMs) => {
    const localMs = clock.toLocalMs(timeMs);
    const offsetMs = key === 'hour' ? localMs - timeMs : 0;
    let names = namesByOffset.get(offsetMs);
    if (names === undefined) {
      names = new Map();
      namesByOffset.set(offsetMs, names);
    }
    const number = Math.floor(localMs / lengthMs);
    let name = names.get(number);
    if (name === undefined) {
      name = toPeriodName(key, number * lengthMs, offsetMs);
      names.set(number, name);
    }
    return name;
  };
}

function toPeriodName(key: TimeKey, localMs: number, offsetMs: number): string {
  const start = new Date(localMs);
  if (key === 'week') start.setUTCDate(start.getUTCDate() - ((start.getUTCDay() + 6) % 7));
  // East of UTC, the last hours of 9999 are of the year 10000, which toISOString writes as +010000.
  const [date = '', time = ''] = start.toISOString().replace(/^\+0*/, '').split('T');
  if (key === 'hour') return `${date}T${time.slice(0, 8)}${toOffsetName(offsetMs)}`;
  return key === 'month' ? date.slice(0, -3) : date;
}

function toOffsetName(offsetMs: number): string {
  const minutes = Math.floor(Math.abs(offsetMs) / MINUTE_MS);
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'));
  return `${offsetMs < 0 ? '-' : '+'}${hour}:${minute}`;
}
