/** The overview's choices, by their names in the URL. */

export const DIMENSIONS = [
  ['model', 'model'],
  ['project', 'project'],
  ['agent', 'agent'],
  ['person', 'person'],
] as const;
export type Dimension = (typeof DIMENSIONS)[number][0];

export const METRICS = [
  ['cost', 'Cost'],
  ['tokens', 'Tokens'],
] as const;
export type Metric = (typeof METRICS)[number][0];

export const STEPS = [
  ['hour', 'hours'],
  ['day', 'days'],
  ['week', 'weeks'],
  ['month', 'months'],
] as const;
export type Step = (typeof STEPS)[number][0];
