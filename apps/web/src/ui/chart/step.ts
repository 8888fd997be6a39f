/** The time of one bar of a chart, by its name in the URL. */
export const STEPS = [
  ['hour', 'hours'],
  ['day', 'days'],
  ['week', 'weeks'],
  ['month', 'months'],
] as const;
export type Step = (typeof STEPS)[number][0];

/** The step for a chart of this many days. */
export const toDefaultStep = (days: number): Step => (days <= 2 ? 'hour' : days <= 120 ? 'day' : 'week');
