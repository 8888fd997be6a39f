import { showsFigures, showsTexts } from '@recount/contract/access';
import { SUBJECTS, toSubjectPath } from '../format/dimensions.ts';

/** A page, a folder here, and a line in PAGES. Its code and styles are loaded when it is first opened. */
export interface Page {
  path: string;
  /** Label in the menu; undefined means not in the menu. */
  label?: string;
  load: () => Promise<Record<string, unknown>>;
  /** Name of the component that `load` exports. */
  component: string;
  /** Rights of a key that it shows something to; `figures` of everyone by default. `uploads` are also a key's own. */
  shows?: 'figures' | 'texts' | 'either' | 'uploads';
}

/** True if a page shows a key of these scopes anything. */
export const mayShow = ({ shows = 'figures' }: Page, scopes: readonly string[]): boolean =>
  shows === 'either' ||
  (shows === 'uploads' && scopes.includes('ingest')) ||
  (shows === 'texts' ? showsTexts(scopes) : showsFigures(scopes));

/** The pages in the menu of a key, all until it is known. */
export const listMenuPages = (scopes: readonly string[] | undefined): Page[] =>
  PAGES.filter((page) => page.label !== undefined && (scopes === undefined || mayShow(page, scopes)));

/** Its icon in the menu. */
export const toPageIcon = (path: string): string => `page-${path.slice(1) || 'overview'}`;

export const PAGES: readonly Page[] = [
  { path: '/', label: 'Overview', load: () => import('./overview/overview-page.tsx'), component: 'OverviewPage' },
  {
    path: '/sessions',
    label: 'Sessions',
    load: () => import('./sessions/sessions-page.tsx'),
    component: 'SessionsPage',
    shows: 'either',
  },
  { path: '/sessions/$sessionId', load: () => import('./session/session-page.tsx'), component: 'SessionPage' },
  {
    path: '/search',
    label: 'Search',
    load: () => import('./search/search-page.tsx'),
    component: 'SearchPage',
    shows: 'texts',
  },
  {
    path: '/tools',
    label: 'Tools',
    load: () => import('./breakdowns/breakdown-page.tsx'),
    component: 'ToolsPage',
  },
  {
    path: '/files',
    label: 'Files',
    load: () => import('./breakdowns/breakdown-page.tsx'),
    component: 'FilesPage',
    shows: 'texts',
  },
  {
    path: '/projects',
    label: 'Projects',
    load: () => import('./breakdowns/breakdown-page.tsx'),
    component: 'ProjectsPage',
  },
  {
    path: '/models',
    label: 'Models',
    load: () => import('./breakdowns/breakdown-page.tsx'),
    component: 'ModelsPage',
  },
  {
    path: '/subagents',
    label: 'Sub-agents',
    load: () => import('./breakdowns/breakdown-page.tsx'),
    component: 'SubagentsPage',
  },
  {
    path: '/people',
    label: 'People and machines',
    load: () => import('./breakdowns/breakdown-page.tsx'),
    component: 'PeoplePage',
  },
  {
    path: '/insights',
    label: 'Insights',
    load: () => import('./insights/insights-page.tsx'),
    component: 'InsightsPage',
  },
  {
    path: '/reconciliation',
    label: 'Reconciliation',
    load: () => import('./breakdowns/breakdown-page.tsx'),
    component: 'ReconciliationPage',
  },
  {
    path: '/uploads',
    label: 'Uploads',
    load: () => import('./uploads/uploads-page.tsx'),
    component: 'UploadsPage',
    shows: 'uploads',
  },
  { path: '/admin', label: 'Admin', load: () => import('./admin/admin-page.tsx'), component: 'AdminPage' },
  ...SUBJECTS.map((subject) => ({
    path: toSubjectPath(subject),
    load: () => import('./subject/subject-page.tsx'),
    component: 'SubjectPage',
  })),
  // A provider returns to the path with its id.
  { path: '/sign-in/{-$provider}', load: () => import('./sign-in/sign-in-page.tsx'), component: 'SignInPage' },
];
