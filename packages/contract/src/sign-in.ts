import { z } from 'zod';
import { API_KEY_SCOPES, ROLE_NAMES } from './access.ts';
import { text, timestampField } from './fields.ts';

/**
 * Requests that change something and use the cookie need this header, with any value. Another origin cannot send it.
 */
export const BROWSER_REQUEST_HEADER = 'recount-request';

/**
 * Requests of a signed-in page have `/signed-in/<page>` before their path. The cookie is sent nowhere else. Other
 * programs on the same host do not know it.
 */
export const SIGNED_IN_PATH = '/signed-in/';

const pageField = z
  .string()
  .describe('Secret of the page. Its requests go to `/signed-in/<page>/v1/…`, the only path with the cookie');

export const signedInSchema = z
  .object({ page: pageField })
  .meta({ id: 'SignedIn', description: 'A browser that is signed in' });

export type SignedIn = z.infer<typeof signedInSchema>;

const MAX_ID_LENGTH = 512;
const MAX_PATH_LENGTH = 4000;
/** An encrypted flow has some 600 characters besides its path. */
const MAX_FLOW_LENGTH = 12_000;
const MAX_RESPONSE_LENGTH = 8000;

export const signInProvidersSchema = z
  .object({
    providers: z.array(z.object({ id: z.string(), name: z.string().describe('For the button') })),
  })
  .meta({ id: 'SignInProviders', description: 'OpenID providers to sign in with, in the order of the settings' });

export const signInProviderParamsSchema = z.object({ provider_id: text(MAX_ID_LENGTH).describe('Id of a provider') });

export const signInFlowRequestSchema = z
  .object({ next: text(MAX_PATH_LENGTH).optional().describe('Path of the dashboard to return to') })
  .meta({ id: 'SignInFlowRequest', description: 'The start of a sign-in with a provider' });

export const signInFlowSchema = z
  .object({
    url: z.string().describe('Page of the provider, for the browser to open'),
    flow: z.string().describe('For the page that started the sign-in to keep until it returns; ten minutes'),
  })
  .meta({ id: 'SignInFlow', description: 'A sign-in with a provider that has begun' });

export const signInResponseSchema = z
  .object({
    flow: text(MAX_FLOW_LENGTH).describe('Of the start of the sign-in'),
    response: text(MAX_RESPONSE_LENGTH).describe('Path and query of the page that the provider opened'),
  })
  .meta({ id: 'SignInResponse', description: 'The answer of a provider' });

export const providerSignedInSchema = z
  .object({ page: pageField, next: z.string().describe('Path of the dashboard to return to') })
  .meta({ id: 'ProviderSignedIn', description: 'A browser that is signed in with a provider' });

export const signedOutSchema = z
  .object({ url: z.string().describe('Page of the provider that ends the session there, for the browser to open') })
  .meta({ id: 'SignedOut', description: 'A browser that is signed out here, but not yet at its provider' });

export const signInParamsSchema = z.object({ sign_in_id: text(MAX_ID_LENGTH).describe('Id of the sign-in, a ULID') });

const signInSchema = z
  .object({
    id: z.string().describe('ULID'),
    key_id: z.string().describe('Id of the API key'),
    key_name: z.string(),
    browser: z.string().nullable().describe('What the browser calls itself, shortened; null if nothing'),
    created_at: timestampField,
    last_used_at: timestampField.describe('Exact to a minute'),
    expires_at: timestampField.describe('When it ends unless it is used, and at the latest with its key'),
    is_current: z.boolean().describe('It is the sign-in of this request'),
  })
  .meta({ id: 'SignIn', description: 'A browser that is signed in to the dashboard' });

export const signInListSchema = z
  .object({ sign_ins: z.array(signInSchema) })
  .meta({ id: 'SignInList', description: 'Signed-in browsers, in the order of their sign-ins' });

export type SignInList = z.infer<typeof signInListSchema>;

export const whoamiSchema = z
  .object({
    workspace_id: z.string(),
    workspace: z.string().describe('Name of the workspace'),
    is_demo: z.boolean().describe('It holds the invented data of `POST /v1/demo`'),
    key_id: z.string().describe('Id of the API key'),
    scopes: z
      .array(z.enum(API_KEY_SCOPES))
      .describe('What the key may do; `admin` includes `ingest` and `read`, `operator` none'),
    role: z.enum(ROLE_NAMES).nullable().describe('Role with exactly these scopes; null if there is none'),
    person: z.string().nullable().describe('Owner of the key, whose sessions are their own; null if it has none'),
    sees_texts: z
      .enum(['all', 'own', 'none'])
      .describe('Whose texts it may read, by its scopes and what the workspace lets readers see'),
    expires_at: timestampField.nullable().describe('When the key ends; null if never'),
    currency_label: z.string().describe('What the workspace calls its currency; nothing is converted'),
    version: z.string().describe('Version of the server'),
  })
  .meta({ id: 'Whoami', description: 'Whose key it is' });

export type ProviderSignedIn = z.infer<typeof providerSignedInSchema>;
export type SignInFlow = z.infer<typeof signInFlowSchema>;

export type Whoami = z.infer<typeof whoamiSchema>;
