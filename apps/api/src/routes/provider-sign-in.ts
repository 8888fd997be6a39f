import {
  providerSignedInSchema,
  signInFlowRequestSchema,
  signInFlowSchema,
  signInProviderParamsSchema,
  signInProvidersSchema,
  signInResponseSchema,
} from '@recount/contract';
import { signOut } from '@recount/db';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { toBrowserName } from '../http/browser-name.ts';
import type { ProviderSignIns } from '../identity/provider-sign-ins.ts';
import { clearSignInCookie, readSignIn, requireOwnOrigin, setSignInCookie } from '../plugins/credentials.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';
import { createMinuteLimit } from '../plugins/minute-limit.ts';
import { problemResponse } from '../plugins/openapi.ts';

/** Sign-ins that begin, and as many that end, from one address, which may be a whole company's. */
const MAX_SIGN_INS_PER_MINUTE = 120;

const LIST_PROVIDERS = {
  config: { reveals: 'nothing' },
  schema: {
    operationId: 'listSignInProviders',
    summary: 'List the OpenID providers to sign in with',
    tags: ['operations'],
    response: { 200: signInProvidersSchema },
  },
} as const;

const BEGIN = {
  config: { reveals: 'nothing' },
  schema: {
    operationId: 'beginSignIn',
    summary: 'Begin a sign-in with an OpenID provider',
    description:
      'For the sign-in page: an authorisation code with PKCE, which only the page that has `flow` can redeem.',
    tags: ['operations'],
    params: signInProviderParamsSchema,
    body: signInFlowRequestSchema,
    response: {
      200: signInFlowSchema,
      404: problemResponse('There is no such provider'),
      503: problemResponse('The provider cannot be reached'),
    },
  },
} as const;

const FINISH = {
  config: { reveals: 'nothing' },
  schema: {
    operationId: 'finishSignIn',
    summary: 'Finish a sign-in with an OpenID provider',
    description: 'Sets the same cookie as `POST /v1/sign-in`.',
    tags: ['operations'],
    body: signInResponseSchema,
    response: {
      200: providerSignedInSchema,
      401: problemResponse('The provider did not confirm it, it took too long, or it was begun elsewhere'),
      403: problemResponse('The account may not sign in'),
      503: problemResponse('The provider cannot be reached'),
    },
  },
} as const;

/** Signs a browser in with an account at an OpenID provider. */
export async function addProviderSignInRoutes(
  parent: ApiApp,
  { database: pool, providerSignIns }: Pick<ApiDependencies, 'database'> & { providerSignIns: ProviderSignIns },
): Promise<void> {
  await addJsonRoutes(parent, {}, (app) => {
    app.get('/v1/sign-in/providers', LIST_PROVIDERS, async () => ({ providers: [...providerSignIns.providers] }));

    const onRequest = createMinuteLimit(app, MAX_SIGN_INS_PER_MINUTE);
    app.post('/v1/sign-in/providers/:provider_id', { ...BEGIN, onRequest }, async (request) => {
      const origin = requireOwnOrigin(request);
      return await providerSignIns.begin(request.params.provider_id, origin, request.body.next);
    });

    app.post(
      '/v1/sign-in/response',
      { ...FINISH, onRequest: createMinuteLimit(app, MAX_SIGN_INS_PER_MINUTE) },
      async (request, reply) => {
        requireOwnOrigin(request);
        const browser = toBrowserName(request.headers['user-agent']);
        const { secrets, next, maxAgeS } = await providerSignIns.finish({ ...request.body, browser });
        const former = readSignIn(request);
        if (former !== undefined) {
          // The same page signs in again.
          await pool.withTransaction((transaction) => signOut(transaction, former));
          clearSignInCookie(reply, former);
        }
        setSignInCookie(request, reply, secrets, maxAgeS);
        return reply.send({ page: secrets.page, next });
      },
    );
  });
}
