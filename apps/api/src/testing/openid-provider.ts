import { createSign, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Configuration, type Grant, Provider } from 'oidc-provider';
import type { ProviderSettings } from '../provider-settings.ts';

interface TestAccount {
  email?: string;
  email_verified?: boolean;
  groups?: string[];
}

/** A real OpenID provider on this machine, whose accounts a test changes. */
export interface TestOpenidProvider {
  issuer: string;
  /** By subject. An account that is removed is revoked. */
  accounts: Map<string, TestAccount>;
  /** The subject that signs in next. */
  subject: string;
  /** True: every request is answered with 503. */
  isDown: boolean;
  /** Requests to the token endpoint. */
  tokenRequests: number;
  settings(changes?: Partial<ProviderSettings>): ProviderSettings;
  /** Accepts the client from now on, with a dashboard at this origin. */
  open(origin: string, changes?: Configuration): void;
  /** Signs `subject` in by following redirects, and returns path and query of the page of the dashboard. */
  visit(url: string): Promise<string>;
  /** Signs claims with the provider's key. */
  sign(claims: object): string;
  close(): Promise<void>;
}

/** Ids that settings may give this provider. */
const PROVIDER_IDS = ['acme', 'other', 'strict', 'changed', 'beta'];
const CLIENT = { id: 'recount', secret: 'secret-of-the-client' };
const KEY_ID = 'key';

export async function startOpenidProvider(): Promise<TestOpenidProvider> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid: KEY_ID, alg: 'RS256', use: 'sig' };
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = (_request, response) =>
    response.writeHead(503).end();
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/token')) test.tokenRequests += 1;
    return test.isDown ? response.writeHead(503).end() : handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const test: TestOpenidProvider = {
    ...{ issuer, accounts: new Map(), subject: '', isDown: false, tokenRequests: 0 },
    settings: (changes) => toSettings(issuer, changes),
    open(origin, changes = {}) {
      const provider = createProvider(test, {
        jwks: { keys: [jwk as never] },
        ...toConfiguration(test, origin),
        ...changes,
      });
      handle = provider.callback();
    },
    visit,
    sign(claims) {
      const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
      const text = `${encode({ alg: 'RS256', typ: 'JWT', kid: KEY_ID })}.${encode(claims)}`;
      return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return test;
}

const toSettings = (issuer: string, changes: Partial<ProviderSettings> = {}): ProviderSettings => ({
  ...{ id: 'acme', name: 'Acme', issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret },
  scopes: ['openid', 'email', 'groups', 'offline_access'],
  parameters: { prompt: 'consent' },
  workspace: 'home',
  emailDomains: [],
  emailVerifiedClaim: 'email_verified',
  groupsClaim: 'groups',
  roles: [
    { group: 'admins', role: 'admin' },
    { group: 'engineers', role: 'viewer' },
  ],
  teams: [],
  defaultRole: undefined,
  ...changes,
});

function toConfiguration(test: TestOpenidProvider, origin: string): Configuration {
  return {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: PROVIDER_IDS.map((id) => `${origin}/sign-in/${id}`),
        post_logout_redirect_uris: [`${origin}/sign-in`],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'offline_access', 'email', 'groups'],
    cookies: { keys: ['a key of the test'] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      rpInitiatedLogout: { enabled: true },
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, subject) => {
      const account = test.accounts.get(subject);
      return account && { accountId: subject, claims: () => ({ sub: subject, ...account }) };
    },
  };
}

function createProvider(test: TestOpenidProvider, configuration: Configuration): Provider {
  const provider = new Provider(test.issuer, configuration);
  provider.use(async (context, next) => {
    if (!context.path.startsWith('/interaction/')) return await next();
    const { prompt, params, session } = await provider.interactionDetails(context.req, context.res);
    const answer =
      prompt.name === 'login'
        ? { login: { accountId: test.subject } }
        : { consent: { grantId: await allow(new provider.Grant(), String(session?.accountId), params) } };
    context.respond = false;
    await provider.interactionFinished(context.req, context.res, answer, { mergeWithLastSubmission: true });
  });
  return provider;
}

async function allow(grant: Grant, accountId: string, { client_id, scope }: Record<string, unknown>): Promise<string> {
  grant.accountId = accountId;
  grant.clientId = String(client_id);
  grant.addOIDCScope(String(scope));
  return await grant.save();
}

/** Keeps the cookies of one visit. */
async function visit(start: string): Promise<string> {
  const cookies = new Map<string, string>();
  let url = new URL(start);
  const { origin } = url;
  while (url.origin === origin) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const each of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`The provider answers ${response.status}: ${await response.text()}`);
    url = new URL(location, url);
  }
  return url.pathname + url.search;
}
