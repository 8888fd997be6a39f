import { showsAllTexts, showsFigures } from '@recount/contract/access';
import { useAnswer } from './use-answer.ts';

/** False if the key shows the sessions of its person only, so that reports would be refused. */
export function useShowsFigures(): boolean {
  const { data } = useAnswer('/v1/whoami', {});
  return data === undefined || showsFigures(data.scopes);
}

/** False if the key shows no texts of everyone, or is not known yet. */
export function useShowsAllTexts(): boolean {
  const { data } = useAnswer('/v1/whoami', {});
  return data !== undefined && showsAllTexts(data.scopes);
}

/** True if the key that is signed in may change settings of the workspace. */
export function useIsAdmin(): boolean {
  const { data } = useAnswer('/v1/whoami', {});
  return data?.scopes.includes('admin') ?? false;
}
