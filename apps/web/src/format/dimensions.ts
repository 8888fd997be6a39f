import { toVisible } from '@recount/contract/conversation';
import {
  REPORT_DIMENSIONS,
  REPORT_SUBJECTS,
  type ReportDimension,
  type ReportSubject,
} from '@recount/contract/reports/report-dimensions';
import { toShortModel, toShortPath } from './values.ts';

export type Dimension = ReportDimension;

/** The dimensions of the registry, in its order. */
export const DIMENSIONS = REPORT_DIMENSIONS;

/** The dimensions, and tools: each value of them has its own page. */
export const SUBJECTS = REPORT_SUBJECTS;

/** The path of a subject's page; its value is a parameter with the subject's name. */
export const toSubjectPath = ({ name }: Pick<ReportSubject, 'name'>): string => `/${name}`;

/** A value as it is shown. */
export function toValueLabel({ shortens }: Pick<Dimension, 'shortens'>, value: string): string {
  if (shortens === 'model') return toShortModel(value);
  return shortens === 'path' ? toShortPath(value) : toVisible(value);
}

type Search = Readonly<Record<string, string>>;

/**
 * Separates the values of a parameter that a URL repeats. No name contains it, because the API refuses it.
 */
export const SEPARATOR = '\0';

export const toValues = (text: string | undefined): string[] =>
  text === undefined ? [] : text.split(SEPARATOR).filter((value) => value !== '');

/** The filters of a URL, for a request. */
export const readFilters = (search: Search): Record<string, string[]> =>
  Object.fromEntries(
    DIMENSIONS.flatMap(({ name }) => {
      const values = toValues(search[name]);
      return values.length === 0 ? [] : [[name, values]];
    }),
  );

/** The same filters as parameters of another page's URL. */
export const toFilterSearch = (search: Search): Record<string, string> =>
  Object.fromEntries(DIMENSIONS.flatMap(({ name }) => (search[name] ? [[name, search[name]]] : [])));

/** The parameters of a URL that say its time. */
const TIME_NAMES = ['period', 'from', 'to'] as const;
const FILTER_NAMES = DIMENSIONS.map(({ name }) => name);

/** Parameters of a URL without a time and filters, where the current ones must not be kept. */
export const NO_VIEW: Readonly<Record<string, undefined>> = Object.fromEntries(
  [...TIME_NAMES, ...FILTER_NAMES].map((name) => [name, undefined]),
);

/**
 * Parameters of the next URL: with the time and the filters of the current one, unless they say a time or that filter
 * themselves, or NO_VIEW.
 */
export function keepView(
  current: Readonly<Record<string, unknown>>,
  next: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const isTimed = TIME_NAMES.some((name) => name in next);
  const kept = [...(isTimed ? [] : TIME_NAMES), ...FILTER_NAMES].flatMap((name) =>
    current[name] === undefined ? [] : [[name, current[name]]],
  );
  return { ...Object.fromEntries(kept), ...next };
}
