import type { Session } from '@recount/contract';
import { useEffect, useMemo } from 'react';
import { useView } from '../../parts/use-view.ts';
import { usePages } from '../../server-data/use-pages.ts';
import { toSessionQuery } from '../sessions/list-query.ts';

interface SessionListAnswer {
  /** The loaded ones, in order; undefined until the first are loaded. */
  rows: readonly Session[] | undefined;
  /** Place of the current session in them; -1 if it is not among them. */
  index: number;
  /** All sessions that pass the filters. */
  total: number | undefined;
  error: Error | null;
  retry: () => void;
  loadMore: (() => void) | undefined;
}

/** The list that the page's URL says, which is the one that the session was opened from. */
export function useSessionList(sessionId: string): SessionListAnswer {
  const { state, query } = useView('all');
  const { pages, error, loadMore, refetch } = usePages('/v1/sessions', toSessionQuery(state, query));
  const rows = useMemo(() => pages?.flatMap(({ sessions }) => sessions), [pages]);
  const index = rows?.findIndex(({ session_id }) => session_id === sessionId) ?? -1;
  // The last of them has a next one too.
  const isLast = rows !== undefined && rows.length > 0 && index === rows.length - 1;
  useEffect(() => {
    if (isLast) loadMore?.();
  }, [isLast, loadMore]);
  return { rows, index, total: pages?.[0]?.totals?.sessions, error, retry: refetch, loadMore };
}
