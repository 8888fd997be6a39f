import { randomBytes } from 'node:crypto';
import type { SignInFlow } from '@recount/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectProblem } from '../testing/expect-problem.ts';
import { startOpenidProvider, type TestOpenidProvider } from '../testing/openid-provider.ts';
import { createTestApi, type TestApi } from '../testing/test-api.ts';

const ORIGIN = 'https://recount.example';
const HEADERS = { origin: ORIGIN, 'recount-request': 'dashboard', 'content-type': 'application/json' };
/** A provider of another workspace, whose owner attacks. */
const EVIL = 'https://evil.example';

let honest: TestOpenidProvider;
let api: TestApi;
/** Codes that were sent to the attacker. */
const stolen: string[] = [];

beforeAll(async () => {
  honest = await startOpenidProvider();
  honest.open(ORIGIN);
  const evil = honest.settings({ id: 'evil', name: 'Evil', issuer: EVIL, workspace: 'other' });
  const oidc = { providers: [honest.settings(), evil], checkIntervalMs: 300_000, maxUncheckedMs: 3_600_000 };
  const alerts = { secretKey: randomBytes(32), mailServer: undefined, privateNetworks: [] };
  api = await createTestApi({ oidc, alerts }, () => ({ requestProvider }));
});
afterAll(async () => {
  await api?.close();
  await honest?.close();
});

/** As many providers do, the honest one does not name itself in the address (RFC 9207). */
const requestProvider: typeof fetch = async (input, init) => {
  const url = String(input);
  if (url === `${EVIL}/token`) {
    stolen.push(new URLSearchParams(String(init?.body)).get('code') ?? '');
    return Response.json({ error: 'invalid_grant' }, { status: 400 });
  }
  if (url.startsWith(EVIL))
    return Response.json({
      ...{ issuer: EVIL, authorization_endpoint: `${EVIL}/auth`, token_endpoint: `${EVIL}/token` },
      ...{ jwks_uri: `${EVIL}/jwks`, response_types_supported: ['code'] },
    });
  const response = await fetch(input, init);
  if (!url.includes('/.well-known/')) return response;
  const { authorization_response_iss_parameter_supported: _names, ...description } = (await response.json()) as Record<
    string,
    unknown
  >;
  return Response.json(description);
};

const post = (path: string, body: object): Promise<Response> =>
  fetch(api.url + path, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) });
const begin = async (provider: string) =>
  (await (await post(`/v1/sign-in/providers/${provider}`, {})).json()) as SignInFlow;

it('steals no code of another provider that does not name itself in the address', async () => {
  honest.accounts.set('victim', { email: 'victim@acme.test', email_verified: true, groups: ['admins'] });
  honest.subject = 'victim';
  const [attackers, victims] = [await begin('acme'), await begin('evil')];
  const asked = new URL(attackers.url);
  // The evil provider sends the victim, who wanted to sign in there, to the honest one, which has a session of the victim.
  const { searchParams: wanted } = new URL(victims.url);
  asked.searchParams.set('state', wanted.get('state') ?? '');
  const answer = new URL(await honest.visit(asked.href), ORIGIN);
  answer.searchParams.delete('iss');
  const response = answer.pathname + answer.search;
  const ended = await post('/v1/sign-in/response', { flow: victims.flow, response });
  await expectProblem(ended, 401, 'sign-in-failed');
  expect(stolen).toEqual([]);
});
