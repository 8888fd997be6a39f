import { gzipSync } from 'node:zlib';
import { newViewShareSchema, type SharedView, sharedViewSchema, viewShareRequestSchema } from '@recount/contract';
import { type OpenedShare, replaceSharedPage } from '@recount/db';
import { toFailureReason } from '@recount/ingest';
import type { ApiDependencies } from '../api-dependencies.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { type ReportDeps, readReports } from './analytics.ts';

export type ViewDeps = Pick<ApiDependencies, 'database' | 'log'> & ReportDeps;

/** Each one takes a connection and some seconds. */
const MAX_CONCURRENT_VIEWS = 2;

export const SHARE_VIEW = {
  config: { scope: 'admin', reveals: 'figures' },
  schema: {
    operationId: 'shareView',
    summary: 'Share a view of reports by a link',
    description: [
      'Anyone with the link can read these figures, and nothing else, without a key, until the link expires or is revoked.',
      'The page has no texts and no sessions. Its figures are the reports’ figures at the time that it states; they are made again when it is opened, at most every 5 minutes.',
    ].join(' '),
    tags: ['analytics'],
    body: viewShareRequestSchema,
    response: { 201: newViewShareSchema },
  },
} as const;

export type ViewRenderer = (workspaceId: string, view: SharedView) => Promise<Uint8Array>;

/** Makes the page of a view, as gzip. Throws ProblemError. */
export function createViewRenderer(deps: ViewDeps): ViewRenderer {
  let underWay = 0;
  return async (workspaceId, view) => {
    if (underWay >= MAX_CONCURRENT_VIEWS) {
      const detail = `At most ${MAX_CONCURRENT_VIEWS} views at a time; try again`;
      throw new ProblemError('too-many-exports', detail, { headers: { 'retry-after': '5' } });
    }
    underWay++;
    try {
      const [{ readSharedView }, { formatFiguresDocument }] = await Promise.all([
        import('./read-shared-view.ts'),
        import('../documents/index.ts'),
      ]);
      const document = await readReports(deps, (snapshot) => readSharedView(deps, snapshot, workspaceId, view));
      return gzipSync(formatFiguresDocument(document));
    } finally {
      underWay--;
    }
  };
}

/**
 * Makes a view's page again, once for all who open it at a time. If that fails, they get the page before, which states
 * its time. Throws ProblemError if that is empty, because the workspace has changed what everyone may see.
 */
export function createViewRefresher(
  deps: ViewDeps,
  render: ViewRenderer,
): (opened: OpenedShare) => Promise<Uint8Array> {
  const underWay = new Map<string, Promise<Uint8Array>>();
  const refresh = async (opened: OpenedShare): Promise<Uint8Array> => {
    const view = sharedViewSchema.safeParse(opened.view);
    const isEmpty = opened.page.byteLength === 0;
    if (!view.success && !isEmpty) return opened.page;
    try {
      const page = await render(opened.workspaceId, sharedViewSchema.parse(opened.view));
      await replaceSharedPage(deps.database.database, opened, page);
      return page;
    } catch (error) {
      deps.log.warn({ reason: toFailureReason(error) }, 'shared view not refreshed');
      if (isEmpty) throw error;
      return opened.page;
    }
  };
  return (opened) => {
    // A page that has been emptied since is another one: what is under way may have the names that are hidden now.
    const page = `${opened.id} ${opened.pageAt}`;
    const current = underWay.get(page) ?? refresh(opened).finally(() => underWay.delete(page));
    underWay.set(page, current);
    return current;
  };
}
