import { createHash } from 'node:crypto';
import type { Configuration, CustomFetch, CustomFetchOptions } from 'openid-client';
import { isTrustedUrl, type ProviderSettings } from '../provider-settings.ts';
import { type Claims, readClaim } from './decide-admission.ts';

/** A request to a provider is given up after it. */
const TIMEOUT_S = 5;
/** The largest answer of a provider that is read. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** The description of a provider is read again after this time; its keys are, when one is missing. */
const DESCRIPTION_MAX_AGE_MS = 60 * 60_000;
const CLOCK_TOLERANCE_S = 30;

/** A provider could not be asked, or it refused. The message has codes only, and may be logged. */
export class ProviderError extends Error {
  override name = 'ProviderError';
  /** `unavailable`: asking later may help. */
  readonly kind: 'refused' | 'unavailable';

  constructor(kind: ProviderError['kind'], reason: string) {
    super(reason);
    this.kind = kind;
  }
}

/** The parts of an authorization request that only this sign-in has. */
interface AuthorizationSecrets {
  state: string;
  nonce: string;
  /** For PKCE. */
  verifier: string;
}

/** Tokens that a sign-in keeps. */
export interface ProviderTokens {
  subject: string;
  refreshToken?: string;
  /** Names the account when it is signed out. */
  idToken?: string;
}

/** An account as its provider describes it. */
export interface ConfirmedAccount {
  issuer: string;
  subject: string;
  claims: Claims;
  tokens: ProviderTokens;
}

/** The requests to an OpenID provider. All throw ProviderError. */
export interface ProviderClient {
  /** The page of the provider where a person signs in. */
  toAuthorizationUrl(redirectUri: string, secrets: AuthorizationSecrets): Promise<string>;
  /** Redeems the code of an authorization response: the query that the provider added to the redirect URI. */
  redeem(redirectUri: string, response: string, secrets: AuthorizationSecrets): Promise<ConfirmedAccount>;
  /** Asks whether the account is still valid, and what is said of it now. */
  refresh(tokens: ProviderTokens): Promise<ConfirmedAccount>;
  /** Revokes the refresh token. Returns the page that ends the session at the provider; undefined if it has none. */
  end(tokens: ProviderTokens, returnTo: string): Promise<string | undefined>;
}

/** Loaded with the first request, because most servers have no provider. */
const load = () => import('openid-client');
type Library = Awaited<ReturnType<typeof load>>;

/** @param fetch makes the requests; default Node's own */
export function createProviderClient(
  settings: ProviderSettings,
  { fetch = globalThis.fetch, now = Date.now }: { fetch?: typeof globalThis.fetch; now?: () => number } = {},
): ProviderClient {
  const openClient = createOpener(settings, fetch, now);
  const withClient = async <Result>(
    work: (library: Library, client: Configuration) => Promise<Result> | Result,
  ): Promise<Result> => {
    const library = await load();
    try {
      return await work(library, await openClient(library));
    } catch (error) {
      throw toProviderError(library, error);
    }
  };
  return {
    toAuthorizationUrl: (redirectUri, { state, nonce, verifier }) =>
      withClient((library, client) => {
        const challenge = createHash('sha256').update(verifier).digest('base64url');
        return library.buildAuthorizationUrl(client, {
          ...settings.parameters,
          ...{ redirect_uri: redirectUri, scope: settings.scopes.join(' '), state, nonce },
          ...{ code_challenge: challenge, code_challenge_method: 'S256' },
        }).href;
      }),
    redeem: (redirectUri, response, { state, nonce, verifier }) =>
      withClient(async (library, client) => {
        const url = new URL(redirectUri);
        url.search = response;
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
        const answer = await library.authorizationCodeGrant(client, url, { ...checks, idTokenExpected: true });
        return await toAccount(library, client, settings, answer);
      }),
    refresh: (tokens) =>
      withClient(async (library, client) => {
        const answer = await library.refreshTokenGrant(client, tokens.refreshToken ?? '');
        return await toAccount(library, client, settings, answer, tokens);
      }),
    end: (tokens, returnTo) =>
      withClient(async (library, client) => {
        const { revocation_endpoint: revocation, end_session_endpoint: endpoint } = client.serverMetadata();
        if (revocation !== undefined && tokens.refreshToken !== undefined)
          // The session at the provider ends all the same.
          await library.tokenRevocation(client, tokens.refreshToken).catch(() => undefined);
        if (endpoint === undefined || !isTrustedUrl(new URL(endpoint))) return undefined;
        return library.buildEndSessionUrl(client, {
          post_logout_redirect_uri: returnTo,
          ...(tokens.idToken !== undefined && { id_token_hint: tokens.idToken }),
        }).href;
      }),
  };
}

/** Reads the description of the provider when it is first needed, and again when it is old. */
function createOpener(
  settings: ProviderSettings,
  fetch: typeof globalThis.fetch,
  now: () => number,
): (library: Library) => Promise<Configuration> {
  let opened: { client: Promise<Configuration>; atMs: number } | undefined;
  return async (library) => {
    if (opened === undefined || Math.abs(now() - opened.atMs) > DESCRIPTION_MAX_AGE_MS)
      opened = { client: discover(library, settings, fetch), atMs: now() };
    const { client } = opened;
    try {
      return await client;
    } catch (error) {
      if (opened?.client === client) opened = undefined;
      throw error;
    }
  };
}

async function discover(
  library: Library,
  { issuer, clientId, clientSecret }: ProviderSettings,
  fetch: typeof globalThis.fetch,
): Promise<Configuration> {
  const execute = [library.enableNonRepudiationChecks];
  // The requests themselves are limited to this machine.
  if (issuer.startsWith('http:')) execute.push(library.allowInsecureRequests);
  const authentication: Parameters<Library['discovery']>[3] = (server, client, body, headers) => {
    if (clientSecret === undefined) return library.None()(server, client, body, headers);
    const { token_endpoint_auth_methods_supported: methods } = server;
    const isPost = methods !== undefined && !methods.includes('client_secret_basic');
    const authenticate = isPost ? library.ClientSecretPost : library.ClientSecretBasic;
    authenticate(clientSecret)(server, client, body, headers);
  };
  return await library.discovery(
    new URL(issuer),
    clientId,
    { [library.clockTolerance]: CLOCK_TOLERANCE_S },
    authentication,
    { execute, timeout: TIMEOUT_S, [library.customFetch]: limitFetch(fetch) },
  );
}

/** Requests of bounded time and size, only by https, or to this machine. */
export function limitFetch(fetch: typeof globalThis.fetch): CustomFetch {
  return async (url: string, options: CustomFetchOptions) => {
    const address = URL.parse(url);
    if (address === null || !isTrustedUrl(address)) throw new ProviderError('unavailable', 'A URL is not https');
    const response = await fetch(url, options as RequestInit);
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      if (size > MAX_ANSWER_BYTES) throw new ProviderError('unavailable', 'An answer is too large');
      chunks.push(chunk);
    }
    const body = size === 0 ? null : Buffer.concat(chunks);
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

type TokenAnswer = Awaited<ReturnType<Library['authorizationCodeGrant' | 'refreshTokenGrant']>>;

/** Reads the claims of a token answer; those that the ID token lacks come from UserInfo. */
async function toAccount(
  library: Library,
  client: Configuration,
  { clientId, emailVerifiedClaim, groupsClaim, roles, teams }: ProviderSettings,
  answer: TokenAnswer,
  former?: ProviderTokens,
): Promise<ConfirmedAccount> {
  const { issuer, userinfo_endpoint: userInfo } = client.serverMetadata();
  const idClaims = answer.claims();
  // The library compares it only in tokens for several clients (OpenID Connect Core 3.1.3.7, step 5).
  if (idClaims?.azp !== undefined && idClaims.azp !== clientId)
    throw new ProviderError('refused', 'The token was issued to another client');
  const subject = idClaims?.sub ?? former?.subject;
  if (subject === undefined || !/^[\x20-\x7e]{1,255}$/.test(subject))
    throw new ProviderError('refused', 'The subject is not valid');
  if (former !== undefined && former.subject !== subject) throw new ProviderError('refused', 'Another subject');
  const needsGroups = roles.length > 0 || teams.length > 0;
  const isComplete = idClaims?.email !== undefined && (!needsGroups || readClaim(idClaims, groupsClaim) !== undefined);
  let claims: Claims = idClaims ?? {};
  if (!isComplete && userInfo !== undefined)
    claims = joinClaims(claims, await library.fetchUserInfo(client, answer.access_token, subject), emailVerifiedClaim);
  else if (idClaims === undefined) throw new ProviderError('refused', 'Neither an ID token nor UserInfo');
  const refreshToken = answer.refresh_token ?? former?.refreshToken;
  const idToken = answer.id_token ?? former?.idToken;
  const tokens = {
    subject,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(idToken !== undefined && { idToken }),
  };
  return { issuer, subject, claims, tokens };
}

/** The claims of both. If they have different addresses, the ID token's counts, and only it says whether that is verified. */
function joinClaims(idClaims: Claims, userInfo: Claims, emailVerifiedClaim: string): Claims {
  const joined = { ...userInfo, ...idClaims };
  if (toAddress(idClaims) === toAddress(userInfo)) return joined;
  const { email, [emailVerifiedClaim]: isVerified } = idClaims.email === undefined ? userInfo : idClaims;
  return { ...joined, email, [emailVerifiedClaim]: isVerified };
}

const toAddress = ({ email }: Claims): unknown => (typeof email === 'string' ? email.toLowerCase() : email);

/** Codes that say that the provider, or its settings here, have a fault: no answer about the account. */
const OUTAGES = new Set([
  ...['server_error', 'temporarily_unavailable', 'slow_down'],
  ...['invalid_client', 'unauthorized_client'],
]);

function toProviderError(library: Library, error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  if (error instanceof library.ResponseBodyError || error instanceof library.AuthorizationResponseError) {
    const isOutage = OUTAGES.has(error.error) || ('status' in error && error.status >= 500);
    return new ProviderError(isOutage ? 'unavailable' : 'refused', toCode(error.error));
  }
  // A provider that does not know recount's secret asks for another, and says nothing about the account.
  const isOfSecret = error instanceof library.WWWAuthenticateChallengeError && !error.cause.some(isOfToken);
  if (isOfSecret) return new ProviderError('unavailable', 'invalid_client');
  const { code, cause } = error instanceof Error ? (error as Error & { code?: unknown }) : {};
  // Faults of the answer: a wrong state, signature, issuer, audience, nonce or time.
  if (typeof code === 'string' && REFUSALS.test(code)) return new ProviderError('refused', toCode(code));
  if (cause instanceof ProviderError) return cause;
  return new ProviderError('unavailable', toCode(typeof code === 'string' ? code : 'no answer'));
}

/** True for a challenge about the access token, which reads the claims. */
const isOfToken = ({ scheme }: { scheme: string }): boolean => scheme === 'bearer';

const REFUSALS = /^OAUTH_(JWT_|JSON_ATTRIBUTE|INVALID_RESPONSE|KEY_SELECTION|UNSUPPORTED_OPERATION|WWW_AUTHENTICATE)/;

/** Not text of the provider's, which may be anything. */
const toCode = (code: string): string => (/^[\w ]{1,60}$/.test(code) ? code : 'another error');
