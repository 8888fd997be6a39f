import { DEFAULT_PERIOD, readPeriod } from '../format/period.ts';
import { TIME_ZONE } from '../format/values.ts';
import { useAnswer } from '../server-data/use-answer.ts';
import type { UrlState } from './use-url-state.ts';

/**
 * The period of a page whose URL names none (the last month, or all time where nothing was used in it, which would
 * leave the page empty). `isKnown` is false until that is decided.
 */
export function useDefaultPeriod({ period, from, to }: UrlState): { fallback: string; isKnown: boolean } {
  const isChosen = period !== undefined || from !== undefined || to !== undefined;
  const recent = useAnswer(
    '/v1/analytics/usage',
    { ...readPeriod({}, DEFAULT_PERIOD), time_zone: TIME_ZONE, group_by: '' },
    { isEnabled: !isChosen },
  );
  const isEmpty = !isChosen && recent.data?.totals.own.responses === 0;
  return {
    fallback: isEmpty ? 'all' : DEFAULT_PERIOD,
    isKnown: isChosen || recent.data !== undefined || recent.error !== null,
  };
}
