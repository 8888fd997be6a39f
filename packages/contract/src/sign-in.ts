import { z } from 'zod';
import { timestampField } from './fields.ts';

/**
 * Requests that change something and use the cookie need this header, with any value: another origin cannot send it.
 */
export const BROWSER_REQUEST_HEADER = 'recount-request';

export const whoamiSchema = z
  .object({
    workspace_id: z.string(),
    workspace: z.string().describe('Name of the workspace'),
    key_id: z.string().describe('Id of the API key'),
    scopes: z
      .array(z.enum(['ingest', 'read', 'admin', 'operator']))
      .describe('What the key may do; `admin` includes `ingest` and `read`, `operator` none'),
    expires_at: timestampField.nullable().describe('When the key ends; null: never'),
    currency_label: z.string().describe('What the workspace calls its currency; nothing is converted'),
    version: z.string().describe('Version of the server'),
  })
  .meta({ id: 'Whoami', description: 'Whose key it is' });

export type Whoami = z.infer<typeof whoamiSchema>;
