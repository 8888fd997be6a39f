import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { type Answer, get, type Query, type Route } from './client.ts';

/** Routes that answer in pages. */
type PagedRoute = { [R in Route]: Answer<R> extends { next_cursor: string | null } ? R : never }[Route];

export interface Pages<R extends PagedRoute> {
  /** Loaded pages, in order; undefined until the first one is loaded. */
  pages: readonly Answer<R>[] | undefined;
  error: Error | null;
  /** Loads the next page, unless one is loading; undefined after the last one. */
  loadMore: (() => void) | undefined;
  /** Reloads all loaded pages. */
  refetch: () => void;
}

/** The pages of a route's answer that have been requested. */
export function usePages<R extends PagedRoute>(route: R, query: Query<R>): Pages<R> {
  const list = useInfiniteQuery({
    queryKey: [route, 'pages', query],
    queryFn: ({ pageParam, signal }): Promise<Answer<R>> =>
      get(route, { query: { ...query, ...(pageParam !== '' && { cursor: pageParam }) }, signal }),
    initialPageParam: '',
    getNextPageParam: (page) => (page as { next_cursor: string | null }).next_cursor,
  });
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch: askAgain } = list;
  const loadMore = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  const refetch = useCallback(() => void askAgain(), [askAgain]);
  return { pages: data?.pages, error, loadMore: hasNextPage ? loadMore : undefined, refetch };
}
