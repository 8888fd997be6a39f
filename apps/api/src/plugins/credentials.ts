import { BROWSER_REQUEST_HEADER } from '@recount/contract';
import type { SignInSecrets } from '@recount/db';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readPageSecret, toCookiePath } from '../http/signed-in-path.ts';
import { ProblemError } from '../problems/problem-error.ts';

const SIGN_IN_COOKIE = 'recount_sign_in';
/** Held the API key itself in earlier versions. */
const FORMER_COOKIE = { name: 'recount_key', path: '/v1' };

/** The proof of a request's rights. */
export type Credential = { key: string } | SignInSecrets;

/**
 * The key of a request's Authorization header, or else the secrets of a signed-in browser. Browsers add cookies to
 * requests of any page, even one on another port of this host. With a cookie, the request must come from this origin,
 * and name the page's secret, which no other origin has. Throws ProblemError.
 */
export function readCredential(request: FastifyRequest): Credential | undefined {
  const { authorization, 'sec-fetch-site': fetchSite, [BROWSER_REQUEST_HEADER]: mark } = request.headers;
  if (authorization !== undefined) {
    const key = readBearerToken(authorization);
    return key === undefined ? undefined : { key };
  }
  const secrets = readSignIn(request);
  if (secrets === undefined) return undefined;
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  const isSameOrigin = fetchSite === undefined || fetchSite === 'same-origin' || (isReading && fetchSite === 'none');
  if (!isSameOrigin || !(isReading || mark !== undefined)) {
    const detail = `The cookie is for the dashboard only; programs send an API key: Authorization: Bearer rk_…`;
    throw new ProblemError('cross-origin-request', detail);
  }
  return secrets;
}

/**
 * The origin of the dashboard's page that makes a request. Throws ProblemError if another origin's page does, which cannot
 * send the header.
 */
export function requireOwnOrigin(request: FastifyRequest): string {
  const { origin = `${request.protocol}://${request.host}`, 'sec-fetch-site': site } = request.headers;
  const isOwn = site === undefined || site === 'same-origin';
  const url = URL.parse(origin);
  if (isOwn && request.headers[BROWSER_REQUEST_HEADER] !== undefined && /^https?:$/.test(url?.protocol ?? ''))
    return url?.origin ?? '';
  throw new ProblemError('cross-origin-request', 'Only a page of the dashboard can do this. Open /sign-in');
}

/** The secrets of a signed-in browser; the origin of the request is not checked. */
export function readSignIn(request: FastifyRequest): SignInSecrets | undefined {
  const page = readPageSecret(request.originalUrl);
  const cookie = request.cookies[SIGN_IN_COOKIE];
  return page === undefined || cookie === undefined ? undefined : { page, cookie };
}

/** Some exporters of OpenTelemetry send the space as it is written in their variable, `%20`. */
export function readBearerToken(header: string | undefined): string | undefined {
  return /^Bearer(?: +|%20)(\S+) *$/i.exec(header ?? '')?.[1];
}

export function setSignInCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { cookie, page }: SignInSecrets,
  maxAge: number,
): void {
  const options = { httpOnly: true, sameSite: 'strict' as const, secure: request.protocol === 'https', maxAge };
  reply.setCookie(SIGN_IN_COOKIE, cookie, { ...options, path: toCookiePath(page) });
}

export function clearSignInCookie(reply: FastifyReply, { page }: Pick<SignInSecrets, 'page'>): void {
  reply.clearCookie(SIGN_IN_COOKIE, { path: toCookiePath(page) });
}

/** Takes the cookie of an earlier version away, which every server on this host could read. */
export function clearFormerCookie(request: FastifyRequest, reply: FastifyReply): void {
  const { name, path } = FORMER_COOKIE;
  if (request.cookies[name] !== undefined) reply.clearCookie(name, { path });
}
