import { type ApiKeyScope, showsFigures } from '@recount/contract/access';
import type { KeyHolder, NameReader } from '@recount/db';

/** Contents of an answer: nothing of sessions, figures and names, or texts. `figures` may hold text, which is left out. */
export type Reveals = 'nothing' | 'figures' | 'texts';

type Extent = 'all' | 'own' | 'none';

/** The figures and texts that a holder may see; `own` are the sessions of `person`. */
export interface Access extends Pick<NameReader, 'names' | 'person'> {
  figures: Extent;
  texts: Extent;
}

/** The access of a key, by its scopes and the policy of its workspace. */
export function toAccess({ scopes, person, policy }: Pick<KeyHolder, 'scopes' | 'person' | 'policy'>): Access {
  const has = (scope: ApiKeyScope): boolean => scopes.includes(scope);
  const reads = has('read') || has('admin');
  const seesAllTexts = has('texts') || (reads && policy.textReaders === 'readers');
  const seesOwn = person !== null && (reads || has('own'));
  const own: Extent = seesOwn ? 'own' : 'none';
  return {
    figures: showsFigures(scopes) ? 'all' : own,
    texts: seesAllTexts ? 'all' : own,
    person,
    names: has('admin') || has('people') ? 'all' : has('team') ? 'led-teams' : 'policy',
  };
}

/** The subject of a request: sessions of the whole workspace, or one of them. */
export interface Subject {
  reveals: Reveals;
  /** True if a parameter is compared with texts. */
  comparesTexts: boolean;
  /** Null if it is about the whole workspace. */
  session: { isOwn: boolean } | null;
  /** True if the route can leave out all sessions except one person's. */
  isLimitable: boolean;
}

/** The answer to a request: as it is, only with sessions of one person, or refused for lack of a scope. */
export type Decision = { isLimited: boolean } | { missing: ApiKeyScope };

/** Decides what a request may show. There is no other place that does. */
export function decide(access: Access, { reveals, comparesTexts, session, isLimitable }: Subject): Decision {
  if (reveals === 'nothing') return { isLimited: false };
  const needsTexts = reveals === 'texts' || comparesTexts;
  const extent = needsTexts ? access.texts : access.figures;
  if (extent === 'all') return { isLimited: false };
  if (extent === 'own' && (session === null ? isLimitable : session.isOwn)) return { isLimited: true };
  return { missing: needsTexts ? 'texts' : 'figures' };
}
