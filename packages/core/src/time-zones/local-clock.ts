const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * Offsets are compared at moments this far apart, because no zone has changed its clocks twice within a week since
 * 1970.
 */
const STEP_DAYS = 6;
/**
 * From this year on, rules repeat every year, and changes are months apart, because tzdata lists Ramadan until 2087.
 */
const FIRST_REGULAR_YEAR = 2100;
const REGULAR_STEP_DAYS = 28;
/** The period until dates fall on the same days of the week again. */
const CYCLE_YEARS = 400;
const CYCLE_MS = 146_097 * DAY_MS;

/** From a moment on, clocks are ahead of UTC by `offsetMs`. */
export interface ClockOffset {
  fromMs: number;
  offsetMs: number;
}

/**
 * Clock times of a zone by the rules of JavaScript's time zone database, which all figures by local days use. Clocks
 * change at 15-minute boundaries, because sums are stored in 15-minute buckets. Since 2012 all zones do so but
 * Antarctica/Casey, by a minute.
 */
export interface LocalClock {
  timeZone: string;
  /** The moment's local clock time, expressed as if it were UTC. */
  toLocalMs(timeMs: number): number;
  /**
   * The beginning of the local day (`2026-03-01`); of a day that was left out, when the next one begins. NaN if it is
   * no date.
   */
  toDayStartMs(day: string): number;
  /** Offsets from one moment to another, in order; the first one is that at `fromMs`. */
  listOffsets(fromMs: number, toMs: number): ClockOffset[];
}

/**
 * Moments of the years 1900 to 10000, so at most 8,101 years of offsets stay. Throws RangeError for an unknown zone.
 */
export function createLocalClock(timeZone: string): LocalClock {
  return toLocalClock(timeZone, createOffsetReader(timeZone));
}

/** A clock of a zone with the given rules: `readOffsetMs` returns how far clocks are ahead of UTC at a moment. */
export function toLocalClock(timeZone: string, readOffsetMs: (timeMs: number) => number): LocalClock {
  const years = new Map<number, readonly ClockOffset[]>();
  const listYear = (year: number): readonly ClockOffset[] => {
    let offsets = years.get(year);
    if (offsets === undefined) {
      offsets =
        year < FIRST_REGULAR_YEAR + CYCLE_YEARS
          ? findOffsets(year, readOffsetMs)
          : listYear(year - CYCLE_YEARS).map(({ fromMs, offsetMs }) => ({ fromMs: fromMs + CYCLE_MS, offsetMs }));
      years.set(year, offsets);
    }
    return offsets;
  };
  const findOffsetMs = (timeMs: number): number => {
    const offsets = listYear(new Date(timeMs).getUTCFullYear());
    return offsets.findLast(({ fromMs }) => fromMs <= timeMs)?.offsetMs ?? Number.NaN;
  };
  return {
    timeZone,
    toLocalMs: (timeMs) => timeMs + findOffsetMs(timeMs),
    toDayStartMs(day) {
      const midnightMs = Date.parse(`${day}T00:00:00Z`);
      if (Number.isNaN(midnightMs)) return Number.NaN;
      // Clocks that change at midnight show it twice or not at all.
      let startMs = midnightMs - findOffsetMs(midnightMs) - DAY_MS;
      while (startMs + findOffsetMs(startMs) < midnightMs) startMs += QUARTER_MS;
      return startMs;
    },
    listOffsets(fromMs, toMs) {
      const found: ClockOffset[] = [{ fromMs, offsetMs: findOffsetMs(fromMs) }];
      for (let year = new Date(fromMs).getUTCFullYear(); year <= new Date(toMs).getUTCFullYear(); year++) {
        for (const offset of listYear(year)) {
          const isChange = offset.offsetMs !== found.at(-1)?.offsetMs;
          if (isChange && offset.fromMs > fromMs && offset.fromMs <= toMs) found.push(offset);
        }
      }
      return found;
    },
  };
}

/** Offsets within a UTC year; the first one is that at its beginning. */
function findOffsets(year: number, readOffsetMs: (timeMs: number) => number): ClockOffset[] {
  const [startMs, endMs] = [Date.UTC(year, 0), Date.UTC(year + 1, 0)];
  const stepMs = (year < FIRST_REGULAR_YEAR ? STEP_DAYS : REGULAR_STEP_DAYS) * DAY_MS;
  let offsetMs = readOffsetMs(startMs);
  const offsets = [{ fromMs: startMs, offsetMs }];
  for (let fromMs = startMs; fromMs < endMs; fromMs += stepMs) {
    const toMs = Math.min(fromMs + stepMs, endMs);
    const next = readOffsetMs(toMs);
    if (next === offsetMs) continue;
    const changeMs = findChange(fromMs, toMs, next, readOffsetMs);
    if (changeMs < endMs) offsets.push({ fromMs: changeMs, offsetMs: next });
    offsetMs = next;
  }
  return offsets;
}

/** The first 15-minute boundary with the offset of the span's end, by bisection. */
function findChange(fromMs: number, toMs: number, offsetMs: number, readOffsetMs: (timeMs: number) => number): number {
  let [beforeMs, afterMs] = [fromMs, toMs];
  while (afterMs - beforeMs > QUARTER_MS) {
    const middleMs = beforeMs + Math.floor((afterMs - beforeMs) / QUARTER_MS / 2) * QUARTER_MS;
    if (readOffsetMs(middleMs) === offsetMs) afterMs = middleMs;
    else beforeMs = middleMs;
  }
  return afterMs;
}

const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

function createOffsetReader(timeZone: string): (timeMs: number) => number {
  // With an hour alone, formatting takes half the time of a whole date.
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset', hour: 'numeric' });
  return (timeMs) => {
    const [, sign, hours = 0, minutes = 0, seconds = 0] = OFFSET.exec(format.format(timeMs)) ?? [];
    const offsetMs = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS + Number(seconds) * 1000;
    return sign === '-' ? -offsetMs : offsetMs;
  };
}
