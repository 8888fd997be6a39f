import { addDays, countDays } from '@recount/contract/periods';
import type { Step } from './step.ts';

/** Steps of a scale that people read easily, in each power of ten. */
const ROUND_STEPS = [1, 2, 2.5, 5, 10];
const MAX_STEPS = 5;

/** Values of an axis from 0 at round steps; the last one is not below `max`. */
export function toValueTicks(max: number): number[] {
  if (max <= 0) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(max / MAX_STEPS));
  const step = (ROUND_STEPS.find((each) => each * power * MAX_STEPS >= max * (1 - 1e-9)) ?? 10) * power;
  const count = Math.max(1, Math.ceil(max / step - 1e-9));
  // Multiplied, because adding up would leave 0.30000000000000004.
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

const DAY_STEPS = [1, 2, 7, 14, 28, 91, 182, 364];
const HOUR_STEPS = [1, 2, 3, 6, 12, 24];
const MONTH_STEPS = [1, 2, 3, 6, 12];
/** A Monday. */
const FIRST_MONDAY = '1970-01-05';

/** The smallest step whose ticks are at least `minBars` bars apart. */
const choose = (steps: readonly number[], minBars: number): number =>
  steps.find((step) => step >= minBars) ?? Math.ceil(minBars / (steps.at(-1) ?? 1)) * (steps.at(-1) ?? 1);

/**
 * Indexes of the times to label: at most `count`, at regular dates (Mondays, full hours of the day, months of the
 * year). A bar's time is its name in reports.
 */
export function toTimeTicks(times: readonly string[], step: Step, count: number): number[] {
  const minBars = Math.max(1, Math.ceil(times.length / Math.max(1, count)));
  const every = EVERY[step](minBars);
  return times.flatMap((time, index) => (toNumber(time, step) % every === 0 ? [index] : []));
}

const EVERY: Readonly<Record<Step, (minBars: number) => number>> = {
  hour: (minBars) => choose(HOUR_STEPS, minBars),
  day: (minBars) => choose(DAY_STEPS, minBars),
  week: (minBars) => choose([1, 2, 4, 13, 26, 52], minBars),
  month: (minBars) => choose(MONTH_STEPS, minBars),
};

/** The number of a time, so that round numbers are the dates to label. */
function toNumber(time: string, step: Step): number {
  if (step === 'hour') return Number(time.slice(11, 13));
  if (step === 'month') return Number(time.slice(0, 4)) * 12 + Number(time.slice(5, 7)) - 1;
  const days = countDays({ from: FIRST_MONDAY, to: time });
  return step === 'week' ? days / 7 : days;
}

const format = (options: Intl.DateTimeFormatOptions): ((date: string) => string) => {
  const formatter = new Intl.DateTimeFormat(undefined, { ...options, timeZone: 'UTC' });
  return (date) => formatter.format(new Date(`${date}T00:00:00Z`));
};
const formatDay = format({ month: 'short', day: 'numeric' });
const formatMonth = format({ month: 'short', year: 'numeric' });
const formatFullDay = format({ weekday: 'short', month: 'short', day: 'numeric', year: 'numeric' });

/** The label of a bar on the axis: `Nov 3`, `14:00`, and `Nov 2026` where days of several years are shown. */
export function toTickLabel(time: string, step: Step, isOfYears: boolean): string {
  if (isOfYears && step !== 'hour') return formatMonth(`${time.slice(0, 7)}-01`);
  if (step === 'month') return formatMonth(`${time}-01`);
  return step === 'hour' ? time.slice(11, 16) : formatDay(time);
}

/** The name of a bar: `Tue, Nov 3, 2026`, `Week of …`, `Tue, Nov 3, 2026, 14:00`. */
export function toTimeLabel(time: string, step: Step): string {
  if (step === 'month') return formatMonth(`${time}-01`);
  if (step === 'hour') return `${formatFullDay(time.slice(0, 10))}, ${time.slice(11, 16)}`;
  return step === 'week' ? `${formatDay(time)} – ${formatFullDay(addDays(time, 6))}` : formatFullDay(time);
}
