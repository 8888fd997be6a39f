import { z } from 'zod';
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

export const signedInSchema = z
  .object({
    page: z
      .string()
      .describe('Secret of the page. Its requests go to `/signed-in/<page>/v1/…`, the only path with the cookie'),
  })
  .meta({ id: 'SignedIn', description: 'A browser that is signed in' });

export type SignedIn = z.infer<typeof signedInSchema>;

const MAX_ID_LENGTH = 512;

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
    key_id: z.string().describe('Id of the API key'),
    scopes: z
      .array(z.enum(['ingest', 'read', 'admin', 'operator']))
      .describe('What the key may do; `admin` includes `ingest` and `read`, `operator` none'),
    expires_at: timestampField.nullable().describe('When the key ends; null if never'),
    currency_label: z.string().describe('What the workspace calls its currency; nothing is converted'),
    version: z.string().describe('Version of the server'),
  })
  .meta({ id: 'Whoami', description: 'Whose key it is' });

export type Whoami = z.infer<typeof whoamiSchema>;
