import { z } from 'zod';
import { timestampField } from './fields.ts';

export const apiKeySchema = z
  .object({
    id: z.string().describe('ULID'),
    name: z.string(),
    hint: z.string().describe('Last characters of the key'),
    scopes: z.array(z.string()),
    person: z.string().nullable().describe('Whose key it is: what it brings is theirs; null: the upload says it'),
    created_at: timestampField,
    expires_at: timestampField.nullable().describe('From then on the key is refused; null: never'),
    previous_expires_at: timestampField
      .nullable()
      .describe('Until when the secret before the last rotation is valid, or was; null where that had no grace'),
    last_used_at: timestampField.nullable().describe('Exact to a minute; null where it was never used'),
    revoked_at: timestampField.nullable(),
  })
  .meta({ id: 'ApiKey', description: 'A key, without its secret' });

export const keyHolderSchema = z
  .object({
    key_id: z.string(),
    scopes: z.array(z.string()),
    person: z.string().nullable().describe('Whose key it is: what it brings is theirs; null: the upload says it'),
    expires_at: timestampField.nullable(),
    server_version: z.string().describe('Version of recount that answers'),
  })
  .meta({ id: 'KeyHolder', description: 'What the key of the request may do' });

export type KeyHolderAnswer = z.infer<typeof keyHolderSchema>;

export const apiKeyListSchema = z
  .object({ keys: z.array(apiKeySchema) })
  .meta({ id: 'ApiKeyList', description: 'Keys in the order of their creation, revoked and expired ones included' });

export type ApiKeyList = z.infer<typeof apiKeyListSchema>;
