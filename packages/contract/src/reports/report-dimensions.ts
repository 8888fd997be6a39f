import { REPORT_PAGES } from './report-pages.ts';

/** Something that all reports can be filtered by. */
export interface ReportDimension {
  /** Filter of the API, key of its groups, and parameter of the dashboard's URLs. */
  name: string;
  /** With a capital. */
  label: string;
  /** The way to shorten a long name. */
  shortens?: 'path' | 'model' | undefined;
}

/** Something whose values have their own pages. */
export interface ReportSubject extends ReportDimension {
  /** The word for several. */
  plural: string;
  /** The report that its page is made of. */
  route: '/v1/analytics/usage' | '/v1/analytics/tools';
  /** The page and the view with a row for each. */
  page: string;
  view: string;
}

/** Reports whose rows are values that other reports can be filtered by. */
const ROUTES: readonly string[] = ['/v1/analytics/usage', '/v1/analytics/models'];

const TOOLS = '/v1/analytics/tools';

/** Subjects of the dashboard's pages, in its order. Building it replaces this module by its values. */
export const REPORT_SUBJECTS: readonly ReportSubject[] = REPORT_PAGES.filter(
  ({ route, name, filters }) => (ROUTES.includes(route) || route === TOOLS) && filters[name] === name,
).map(({ name, noun, shortens, label, route, page, id }) => ({
  ...{ name, label: noun, shortens, plural: label, page, view: id },
  route: route === TOOLS ? TOOLS : '/v1/analytics/usage',
}));

/** Those that every report can be filtered by. */
export const REPORT_DIMENSIONS: readonly ReportDimension[] = REPORT_SUBJECTS.filter(({ route }) => route !== TOOLS).map(
  ({ name, label, shortens }) => ({ name, label, shortens }),
);
