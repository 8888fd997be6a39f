import { addDays, toMonday } from '@recount/contract/periods';
import { type Period, toToday } from '../../format/period.ts';
import type { Step } from './step.ts';

/**
 * The times of all bars in order, including those without data: of the whole period until today, if it is given. Hours
 * are left unchanged, because their names include the zone's offset, so the repeated hour of a clock change stays two bars.
 */
export function fillTimes(
  found: readonly string[],
  step: Step,
  { from, to }: Period = {},
  today = toToday(),
): string[] {
  if (step === 'hour') return [...new Set(found)].sort((a, b) => Date.parse(a) - Date.parse(b));
  const lastDay = to === undefined || to > today ? today : addDays(to, -1);
  const edges = from === undefined || from > lastDay ? [] : [from, lastDay].map((day) => toName(day, step));
  const sorted = [...new Set([...found, ...edges])].sort();
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined) return [];
  const times: string[] = [];
  for (let time = first; time <= last; time = toNext(time, step)) times.push(time);
  return times;
}

/** The name of the bar that a day is in. */
const toName = (day: string, step: Step): string =>
  step === 'month' ? day.slice(0, 7) : step === 'week' ? toMonday(day) : day;

function toNext(time: string, step: Step): string {
  if (step !== 'month') return addDays(time, step === 'week' ? 7 : 1);
  const [year = 0, month = 0] = time.split('-').map(Number);
  return month === 12 ? `${year + 1}-01` : `${year}-${String(month + 1).padStart(2, '0')}`;
}

/** The last date that a bar covers. */
export function toLastDay(time: string, step: Step): string {
  if (step === 'month') return addDays(`${toNext(time, 'month')}-01`, -1);
  return step === 'week' ? addDays(time, 6) : time.slice(0, 10);
}
