import { READING_SCOPES } from '@recount/contract/access';
import {
  type Actor,
  API_KEY_PATTERN,
  type ApiKeyScope,
  type Database,
  findKeyHolder,
  findSignInHolder,
  hashApiKey,
  type KeyHolder,
  type PeopleScope,
  type SignInHolder,
  toKeyActor,
  touchApiKey,
  touchSignIn,
} from '@recount/db';
import type { FastifyRequest } from 'fastify';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { ApiConfig } from '../config.ts';
import type { ProviderSignIns } from '../identity/provider-sign-ins.ts';
import { ProblemError, toLogReason } from '../problems/problem-error.ts';
import { type Credential, clearFormerCookie, readCredential } from './credentials.ts';

/** Who makes a request, and how long the key is valid. */
interface RequestHolder
  extends Pick<KeyHolder, 'workspaceId' | 'keyId' | 'scopes' | 'person' | 'expiresAt' | 'isDemo' | 'policy'> {
  /** Defaults to the key. */
  actor?: Actor;
  /** The sign-in of a browser; undefined for a request with a key. */
  signInId?: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes without a scope. */
    keyHolder: RequestHolder | null;
  }
  interface FastifyContextConfig {
    /** The scope that a key needs for the route; `any` means any valid key; undefined means no key. */
    scope?: ApiKeyScope | 'any';
    /** False if something else limits the use of the route. Default true. */
    isRateLimited?: boolean;
  }
}

const RATE_WINDOW_MS = 60_000;
const TOUCH_INTERVAL_MS = 60_000;
/** Maximum number of valid credentials remembered by this process; beyond it, all are forgotten. */
const MAX_KNOWN_KEYS = 10_000;
/** Everything accessible without a key. */
const PUBLIC_PATHS =
  /^\/(healthz|readyz|openapi\.json|docs(\/.*)?|v1\/sign-in\/(link|response|providers(\/:provider_id)?)|v1\/sign-out|v1\/device\/(code|token)|shared\/:token)$/;
const CHALLENGE = 'Bearer realm="recount"';

/** The workspace that a request may access (its key's). */
export function workspaceOf(request: FastifyRequest): string {
  if (request.keyHolder === null) throw new Error('The route has no scope');
  return request.keyHolder.workspaceId;
}

/** Id of the key that uploads something. */
export function uploaderOf(request: FastifyRequest): string {
  if (request.keyHolder === null) throw new Error('The route has no scope');
  return request.keyHolder.keyId;
}

/** The person of a request's work (the key's person if it has one, else the person named in the request). */
export function personOf({ keyHolder }: FastifyRequest, named: string | undefined): string | undefined {
  return keyHolder?.person ?? named;
}

/** Who is recorded if the request changes something. */
export function actorOf({ keyHolder }: FastifyRequest): Actor {
  if (keyHolder === null) throw new Error('The route has no scope');
  return keyHolder.actor ?? toKeyActor(keyHolder.keyId);
}

/** The workspace whose people and teams a request changes, and its actor. */
export const peopleScopeOf = (request: FastifyRequest): PeopleScope => ({
  workspaceId: workspaceOf(request),
  actor: actorOf(request),
});

/**
 * `admin` includes everything within its workspace; what concerns all workspaces needs `operator`, and machines enrol
 * with `enrol` only, so that no admin's key is rolled out. `read` is what every
 * scope that reads anything includes; what such a key may see is decided by `toAccess`.
 */
function hasScope({ scopes }: Pick<KeyHolder, 'scopes'>, scope: ApiKeyScope): boolean {
  const isEnough = (each: ApiKeyScope): boolean => each === scope || (scope === 'read' && READING_SCOPES.has(each));
  return scopes.some(isEnough) || (scope !== 'operator' && scope !== 'enrol' && scopes.includes('admin'));
}

/** The problem of a key without the scope. */
export function missingScope(scope: ApiKeyScope, detail = `This needs a key with the scope ${scope}`): ProblemError {
  const headers = { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` };
  return new ProblemError('missing-scope', detail, { headers });
}

/** Throws ProblemError in the demo. What came to it would disappear with it. */
export function refuseDemo(holder: Pick<KeyHolder, 'isDemo'> | null): void {
  if (holder?.isDemo)
    throw missingScope('ingest', 'The demo accepts nothing, because it is deleted after a day. Use another workspace');
}

/** True if the request may access what concerns all workspaces. */
export const isOperator = ({ keyHolder }: FastifyRequest): boolean =>
  keyHolder !== null && hasScope(keyHolder, 'operator');

/** Throws ProblemError unless the request may access what concerns all workspaces. */
export function requireOperator(request: FastifyRequest): void {
  if (!isOperator(request)) throw missingScope('operator');
}

type AuthenticationDependencies = Pick<ApiDependencies, 'database' | 'log' | 'now'> & {
  providerSignIns: ProviderSignIns;
};

/** Checks the key on every route that has a scope. Throws if a route has none and is not in PUBLIC_PATHS. */
export function addAuthentication(
  app: ApiApp,
  deps: AuthenticationDependencies,
  config: Pick<ApiConfig, 'maxRequestsPerMinute' | 'maxFailedKeysPerMinute'>,
): void {
  const findHolder = createHolderLookup(app, deps, config);
  const countRequest = app.createRateLimit({
    max: config.maxRequestsPerMinute,
    timeWindow: RATE_WINDOW_MS,
    keyGenerator: ({ keyHolder }) => keyHolder?.keyId ?? '',
  });
  app.decorateRequest('keyHolder', null);
  app.addHook('onRoute', ({ url, config: routeConfig }) => {
    if (routeConfig?.scope === undefined && !PUBLIC_PATHS.test(url)) throw new Error(`${url} names no scope`);
  });
  app.addHook('onRequest', async (request, reply) => {
    clearFormerCookie(request, reply);
    const { scope, isRateLimited = true } = request.routeOptions.config;
    if (scope === undefined || request.is404) return;
    // Rows are private, whatever proxies are between here and the client.
    reply.header('cache-control', 'no-store');
    const holder = await findHolder(request);
    if (scope !== 'any' && !hasScope(holder, scope)) {
      throw missingScope(scope);
    }
    if (scope === 'ingest') refuseDemo(holder);
    request.keyHolder = holder;
    if (!isRateLimited) return;
    const limit = await countRequest(request);
    if (!limit.isAllowed && limit.isExceeded) {
      const headers = { 'retry-after': String(limit.ttlInSeconds) };
      throw new ProblemError('too-many-requests', `At most ${limit.max} requests a minute`, { headers });
    }
  });
}

function createHolderLookup(
  app: ApiApp,
  { database, log, providerSignIns, now = Date.now }: AuthenticationDependencies,
  config: Pick<ApiConfig, 'maxFailedKeysPerMinute'>,
): (request: FastifyRequest) => Promise<KeyHolder | SignInHolder> {
  const countFailure = app.createRateLimit({ max: config.maxFailedKeysPerMinute, timeWindow: RATE_WINDOW_MS });
  const lastTouchedMs = new Map<string, number>();

  const touch = (hash: string, holder: KeyHolder | SignInHolder): void => {
    // In either direction, because the clock may have been set back.
    if (Math.abs(now() - (lastTouchedMs.get(hash) ?? 0)) < TOUCH_INTERVAL_MS) return;
    if (lastTouchedMs.size >= MAX_KNOWN_KEYS) lastTouchedMs.clear();
    lastTouchedMs.set(hash, now());
    recordUse(database.database, holder).catch((error: unknown) =>
      log.warn({ reason: toLogReason(error) }, 'use of a key not recorded'),
    );
  };

  return async (request) => {
    const credential = readCredential(request);
    if (credential === undefined) {
      const detail = 'Send an API key: Authorization: Bearer rk_…';
      throw new ProblemError('missing-key', detail, { headers: { 'www-authenticate': CHALLENGE } });
    }
    const hash = hashApiKey('key' in credential ? credential.key : `${credential.cookie} ${credential.page}`);
    const failures = await countFailure(request, { increment: false });
    // Someone else's wrong keys from the same address must not lock out valid ones.
    if (!failures.isAllowed && failures.remaining === 0 && !lastTouchedMs.has(hash)) {
      const headers = { 'retry-after': String(failures.ttlInSeconds) };
      throw new ProblemError('too-many-failed-keys', 'Too many requests with a wrong key from this address', {
        headers,
      });
    }
    const holder = await checkProvider(providerSignIns, () => findHolder(database.database, credential, hash));
    if (holder === undefined) {
      lastTouchedMs.delete(hash);
      await countFailure(request);
      const headers = { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` };
      const detail =
        'key' in credential ? 'The key is unknown, or revoked' : 'You are signed out in this browser. Sign in again';
      throw new ProblemError('invalid-key', detail, { headers });
    }
    if (holder.isExpired) {
      lastTouchedMs.delete(hash);
      await countFailure(request);
      const headers = { 'www-authenticate': `${CHALLENGE}, error="invalid_token", error_description="expired"` };
      throw new ProblemError('expired-key', `The key ${holder.keyId} expired at ${holder.expiresAt}`, { headers });
    }
    touch(hash, holder);
    return holder;
  };
}

/** Finds the holder, after a check with the provider of its sign-in if that is due. */
async function checkProvider(
  providerSignIns: ProviderSignIns,
  find: () => Promise<KeyHolder | SignInHolder | undefined>,
): Promise<KeyHolder | SignInHolder | undefined> {
  const holder = await find();
  if (holder === undefined || !('signInId' in holder) || !providerSignIns.isDue(holder)) return holder;
  await providerSignIns.check(holder);
  const checked = await find();
  if (checked !== undefined && 'signInId' in checked) providerSignIns.requireChecked(checked);
  return checked;
}

async function findHolder(
  database: Database,
  credential: Credential,
  hash: string,
): Promise<KeyHolder | SignInHolder | undefined> {
  if (!('key' in credential)) return await findSignInHolder(database, credential);
  return API_KEY_PATTERN.test(credential.key) ? await findKeyHolder(database, hash) : undefined;
}

async function recordUse(database: Database, holder: KeyHolder | SignInHolder): Promise<void> {
  const { workspaceId, keyId } = holder;
  await touchApiKey(database, workspaceId, keyId);
  if ('signInId' in holder) await touchSignIn(database, workspaceId, holder.signInId);
}
