/** The overview's choices, by their names in the URL. */

export const DIMENSIONS = [
  ['model', 'model'],
  ['repository', 'repository'],
  ['project', 'folder'],
  ['agent', 'agent'],
  ['person', 'person'],
  ['team', 'team'],
  ['cost_centre', 'cost centre'],
  ['kind_of_work', 'kind of work'],
] as const;
export type Dimension = (typeof DIMENSIONS)[number][0];

export const METRICS = [
  ['cost', 'Cost'],
  ['tokens', 'Tokens'],
] as const;
export type Metric = (typeof METRICS)[number][0];
