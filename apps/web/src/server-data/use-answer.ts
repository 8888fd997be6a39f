import { keepPreviousData, QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { type Answer, ApiError, get, type Parameters, type Query, type Route } from './client.ts';

const MAX_RETRIES = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      retry: (count, error) => count < MAX_RETRIES && (!(error instanceof ApiError) || error.status >= 500),
    },
  },
});

interface AnswerOptions<R extends Route> {
  parameters?: Parameters;
  /** Default true. */
  isEnabled?: boolean;
  /** Requests again at this interval while the page is visible; a function gets the last answer. */
  refetchIntervalMs?: number | ((answer: Answer<R> | undefined) => number);
}

/** The answer of a route; the previous one stays while one with other parameters is loading. */
export function useAnswer<R extends Route>(
  route: R,
  query: Query<R>,
  { parameters = {}, isEnabled = true, refetchIntervalMs }: AnswerOptions<R> = {},
): UseQueryResult<Answer<R>> {
  return useQuery<Answer<R>>({
    queryKey: [route, parameters, query],
    queryFn: ({ signal }) => get(route, { parameters, query, signal }),
    enabled: isEnabled,
    placeholderData: keepPreviousData as never,
    ...(typeof refetchIntervalMs === 'number' && { refetchInterval: refetchIntervalMs }),
    ...(typeof refetchIntervalMs === 'function' && {
      refetchInterval: ({ state }) => refetchIntervalMs(state.data),
    }),
  });
}
