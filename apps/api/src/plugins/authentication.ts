import { BROWSER_REQUEST_HEADER } from '@recount/contract';
import {
  type Actor,
  API_KEY_PATTERN,
  type ApiKeyScope,
  findKeyHolder,
  hashApiKey,
  type KeyHolder,
  toKeyActor,
  touchApiKey,
} from '@recount/db';
import type { FastifyRequest } from 'fastify';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { ApiConfig } from '../config.ts';
import { ProblemError, toLogReason } from '../problems/problem-error.ts';

/** Who makes a request, and how long the key is valid. */
interface RequestHolder extends Pick<KeyHolder, 'workspaceId' | 'keyId' | 'scopes' | 'person' | 'expiresAt'> {
  /** Default: the key. */
  actor?: Actor;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes without a scope. */
    keyHolder: RequestHolder | null;
  }
  interface FastifyContextConfig {
    /** The scope that a key needs for the route; `any`: any valid key; undefined: no key. */
    scope?: ApiKeyScope | 'any';
    /** False if something else limits the use of the route. Default true. */
    isRateLimited?: boolean;
  }
}

/** Cookie with the API key of a user signed in to the dashboard. */
export const KEY_COOKIE = 'recount_key';

const RATE_WINDOW_MS = 60_000;
const TOUCH_INTERVAL_MS = 60_000;
/** Maximum number of valid keys remembered by this process; beyond it, all are forgotten. */
const MAX_KNOWN_KEYS = 10_000;
/** Everything accessible without a key. */
const PUBLIC_PATHS =
  /^\/(healthz|readyz|openapi\.json|docs(\/.*)?|v1\/sign-in\/link|v1\/sign-out|v1\/device\/(code|token)|shared\/:token)$/;
const CHALLENGE = 'Bearer realm="recount"';

/** The workspace that a request may access: its key's. */
export function workspaceOf(request: FastifyRequest): string {
  if (request.keyHolder === null) throw new Error('The route has no scope');
  return request.keyHolder.workspaceId;
}

/** Id of the key that uploads something. */
export function uploaderOf(request: FastifyRequest): string {
  if (request.keyHolder === null) throw new Error('The route has no scope');
  return request.keyHolder.keyId;
}

/** Whose work a request brings: the key's person if it has one, else the person named in the request. */
export function personOf({ keyHolder }: FastifyRequest, named: string | undefined): string | undefined {
  return keyHolder?.person ?? named;
}

/** Who is recorded if the request changes something. */
export function actorOf({ keyHolder }: FastifyRequest): Actor {
  if (keyHolder === null) throw new Error('The route has no scope');
  return keyHolder.actor ?? toKeyActor(keyHolder.keyId);
}

/** `admin` includes everything within its workspace; what concerns all workspaces needs `operator`. */
function hasScope({ scopes }: Pick<KeyHolder, 'scopes'>, scope: ApiKeyScope): boolean {
  return scopes.includes(scope) || (scope !== 'operator' && scopes.includes('admin'));
}

function missingScope(scope: ApiKeyScope): ProblemError {
  const headers = { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` };
  return new ProblemError('missing-scope', `This needs a key with the scope ${scope}`, { headers });
}

/** Whether the request may access what concerns all workspaces. */
export const isOperator = ({ keyHolder }: FastifyRequest): boolean =>
  keyHolder !== null && hasScope(keyHolder, 'operator');

/** Throws ProblemError unless the request may access what concerns all workspaces. */
export function requireOperator(request: FastifyRequest): void {
  if (!isOperator(request)) throw missingScope('operator');
}

/** Checks the key on every route that has a scope. Throws if a route has none and is not in PUBLIC_PATHS. */
export function addAuthentication(
  app: ApiApp,
  deps: Pick<ApiDependencies, 'database' | 'log' | 'now'>,
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
    const { scope, isRateLimited = true } = request.routeOptions.config;
    if (scope === undefined || request.is404) return;
    // Rows are private, whatever proxies are between here and the client.
    reply.header('cache-control', 'no-store');
    const holder = await findHolder(request);
    if (scope !== 'any' && !hasScope(holder, scope)) {
      throw missingScope(scope);
    }
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
  { database, log, now = Date.now }: Pick<ApiDependencies, 'database' | 'log' | 'now'>,
  config: Pick<ApiConfig, 'maxFailedKeysPerMinute'>,
): (request: FastifyRequest) => Promise<KeyHolder> {
  const countFailure = app.createRateLimit({ max: config.maxFailedKeysPerMinute, timeWindow: RATE_WINDOW_MS });
  const lastTouchedMs = new Map<string, number>();

  const touch = (keyHash: string, { workspaceId, keyId }: KeyHolder): void => {
    // In either direction: the clock may have been set back.
    if (Math.abs(now() - (lastTouchedMs.get(keyHash) ?? 0)) < TOUCH_INTERVAL_MS) return;
    if (lastTouchedMs.size >= MAX_KNOWN_KEYS) lastTouchedMs.clear();
    lastTouchedMs.set(keyHash, now());
    touchApiKey(database.database, workspaceId, keyId).catch((error: unknown) =>
      log.warn({ reason: toLogReason(error) }, 'use of a key not recorded'),
    );
  };

  return async (request) => {
    const key = readApiKey(request);
    if (key === undefined) {
      const detail = 'Send an API key: Authorization: Bearer rk_…';
      throw new ProblemError('missing-key', detail, { headers: { 'www-authenticate': CHALLENGE } });
    }
    const keyHash = hashApiKey(key);
    const failures = await countFailure(request, { increment: false });
    // Someone else's wrong keys from the same address must not lock out valid ones.
    if (!failures.isAllowed && failures.remaining === 0 && !lastTouchedMs.has(keyHash)) {
      const headers = { 'retry-after': String(failures.ttlInSeconds) };
      throw new ProblemError('too-many-failed-keys', 'Too many requests with a wrong key from this address', {
        headers,
      });
    }
    const holder = API_KEY_PATTERN.test(key) ? await findKeyHolder(database.database, keyHash) : undefined;
    if (holder === undefined) {
      lastTouchedMs.delete(keyHash);
      await countFailure(request);
      const headers = { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` };
      throw new ProblemError('invalid-key', 'The key is unknown, or revoked', { headers });
    }
    if (holder.isExpired) {
      lastTouchedMs.delete(keyHash);
      await countFailure(request);
      const headers = { 'www-authenticate': `${CHALLENGE}, error="invalid_token", error_description="expired"` };
      throw new ProblemError('expired-key', `The key ${holder.keyId} expired at ${holder.expiresAt}`, { headers });
    }
    touch(keyHash, holder);
    return holder;
  };
}

/**
 * The key of a request: from its Authorization header, or else the dashboard's cookie. Browsers add the cookie to
 * requests of any page, even one on another port of this host: with a cookie, the request must come from this origin.
 * Throws ProblemError.
 */
export function readApiKey(request: FastifyRequest): string | undefined {
  const { authorization, 'sec-fetch-site': fetchSite, [BROWSER_REQUEST_HEADER]: mark } = request.headers;
  if (authorization !== undefined) return readBearerToken(authorization);
  const cookie = request.cookies[KEY_COOKIE];
  if (cookie === undefined) return undefined;
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  const isSameOrigin = fetchSite === undefined || fetchSite === 'same-origin' || (isReading && fetchSite === 'none');
  if (!isSameOrigin || !(isReading || mark !== undefined)) {
    const detail = `The cookie is for the dashboard only; programs send an API key: Authorization: Bearer rk_…`;
    throw new ProblemError('cross-origin-request', detail);
  }
  return cookie;
}

export function readBearerToken(header: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1];
}
