import { callFigures, durationFigures, resultFigures, usageFigures } from '@recount/contract/reports/page-figures';
import type { PageFigure } from '@recount/contract/reports/report-entry';
import { DIMENSIONS, type Dimension, type SUBJECTS, toSubjectPath } from '../../format/dimensions.ts';
import type { View } from '../../parts/use-view.ts';
import type { Row } from '../../ui/report-figure.tsx';

export type Subject = (typeof SUBJECTS)[number];

/** The figures of a subject's page. */
interface Measure {
  /** Its parts are ranked by it. */
  main: PageFigure;
  figures: readonly PageFigure[];
}

const toMeasure = (figures: readonly PageFigure[], path: string): Measure => {
  const main = figures.find((figure) => figure.path === path);
  if (main === undefined) throw new Error(`No figure ${path}`);
  return { main, figures };
};

const USAGE = toMeasure(usageFigures('own.'), 'own.cost_usd');
const CALLS = toMeasure([...callFigures, ...durationFigures, ...resultFigures], 'calls');

export const isOfCalls = ({ route }: Subject): boolean => route === '/v1/analytics/tools';
export const measureOf = (subject: Subject): Measure => (isOfCalls(subject) ? CALLS : USAGE);

/** Calls have no kind of work. */
const isOfTurns = (name: string): boolean => name === 'kind_of_work';

/** The other dimensions: the page divides its total by each. */
export const listOthers = (subject: Subject): Dimension[] =>
  DIMENSIONS.filter(({ name }) => name !== subject.name && !(isOfCalls(subject) && isOfTurns(name)));

/** Rows and columns of the page's matrix: people and models, or, on the page of one of these, repositories instead. */
export function chooseMatrix({ name }: Subject): readonly [rows: Dimension, columns: Dimension] {
  const [rows = 'person', columns = 'model'] = [
    ['person', 'repository'],
    ['model', 'repository'],
  ].map((names) => names.find((each) => each !== name));
  return [findDimension(rows), findDimension(columns)];
}

/** Rows and columns of a matrix of everything: people, and the subject or, on the page of people, models. */
export const chooseWholeMatrix = ({ name }: Subject): readonly [rows: Dimension, columns: Dimension] => [
  findDimension('person'),
  findDimension(name === 'person' ? 'model' : name),
];

function findDimension(wanted: string): Dimension {
  const found = DIMENSIONS.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`No dimension ${wanted}`);
  return found;
}

interface Breakdowns {
  breakdowns?: readonly { group_by: readonly string[]; rows: readonly object[]; truncated: boolean }[] | undefined;
}

/** The rows of an answer by these groups, with whether there are more. */
export function pickGroups(
  { breakdowns = [] }: Breakdowns,
  ...groupBy: readonly string[]
): { rows: readonly Row[]; truncated: boolean } {
  const found = breakdowns.find((each) => each.group_by.join() === groupBy.join());
  return { rows: (found?.rows ?? []) as readonly Row[], truncated: found?.truncated ?? false };
}

/** The data that links of a page need. */
export interface Place {
  subject: Subject;
  /** Values of the subject in the URL. */
  values: readonly string[];
  view: View;
}

/** Properties of a link. */
export interface Target {
  to: string;
  search: never;
}

const toTarget = (to: string, search: Readonly<Record<string, string>>): Target => ({ to, search: search as never });

/** The page of a part, one level down: both its own value and the subject's are in its address. */
export function toPart({ subject, values, view: { time } }: Place, parts: Readonly<Record<string, string>>): Target {
  if (isOfCalls(subject)) return toTarget(toSubjectPath(subject), { ...time, tool: values[0] ?? '', ...parts });
  const [name = ''] = Object.keys(parts);
  return toTarget(toSubjectPath({ name }), { ...time, ...parts });
}

/** The page of a tool, with the filters of this one. */
export const toTool = ({ view: { time } }: Place, tool: string): Target => toTarget('/tool', { ...time, tool });

/** The sessions that a figure counts. */
export function toSessions({ subject, values, view: { time } }: Place): Target {
  const tool = isOfCalls(subject) && { tool: values[0] ?? '' };
  return toTarget('/sessions', { ...time, ...tool, subagents: 'include' });
}
