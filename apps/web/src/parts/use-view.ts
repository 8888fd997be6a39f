import { readFilters } from '../format/dimensions.ts';
import { DEFAULT_PERIOD, readPeriod, toTimeSearch } from '../format/period.ts';
import { TIME_ZONE } from '../format/values.ts';
import type { Query } from '../server-data/client.ts';
import { useAnswer } from '../server-data/use-answer.ts';
import { useShowsFigures } from '../server-data/use-shows.ts';
import { type UrlChange, type UrlState, useUrlState } from '../ui/use-url-state.ts';

/** The time and the filters of a request. */
export type ViewQuery = Pick<
  Query<'/v1/analytics/usage'>,
  | 'from'
  | 'to'
  | 'time_zone'
  | 'agent'
  | 'repository'
  | 'project'
  | 'machine'
  | 'person'
  | 'team'
  | 'cost_centre'
  | 'kind_of_work'
  | 'model'
>;

export interface View {
  state: UrlState;
  change: (change: UrlChange, options?: { replace?: boolean }) => void;
  /** The period if the URL names none. */
  fallback: string;
  /** False until `fallback` is decided. */
  isKnown: boolean;
  query: ViewQuery;
  /** The time as parameters of the sessions page; links keep the filters by themselves. */
  time: Record<string, string>;
}

/** The time and the filters of a page, from its URL. `fallback` is decided by what was used lately if absent. */
export function useView(fixedFallback?: string): View {
  const [state, change] = useUrlState();
  const decided = useDefaultPeriod(state, fixedFallback === undefined);
  const fallback = fixedFallback ?? decided.fallback;
  return {
    ...{ state, change, fallback },
    isKnown: fixedFallback !== undefined || decided.isKnown,
    query: { ...readPeriod(state, fallback), time_zone: TIME_ZONE, ...readFilters(state) },
    time: toTimeSearch(state, fallback),
  };
}

/**
 * The period of a page whose URL names none (the last month, or all time where nothing was used in it, which would
 * leave the page empty). `isKnown` is false until that is decided.
 */
function useDefaultPeriod({ period, from, to }: UrlState, isWanted: boolean): { fallback: string; isKnown: boolean } {
  const isChosen = period !== undefined || from !== undefined || to !== undefined;
  const isAsked = useShowsFigures() && isWanted && !isChosen;
  const recent = useAnswer(
    '/v1/analytics/usage',
    { ...readPeriod({}, DEFAULT_PERIOD), time_zone: TIME_ZONE, group_by: '' },
    { isEnabled: isAsked },
  );
  const isEmpty = isAsked && recent.data?.totals.own.responses === 0;
  return {
    fallback: isEmpty ? 'all' : DEFAULT_PERIOD,
    isKnown: !isAsked || recent.data !== undefined || recent.error !== null,
  };
}
