import { z } from 'zod';
import { momentField, nextCursorField, pageQueryFields, personParameter, text, timestampField } from './fields.ts';

const MAX_TEXT_LENGTH = 512;

const actorText =
  '`key:<key id>`, `operator:<name on the operating system>` of who has the database itself, or `system`';

const auditEntrySchema = z
  .object({
    id: z.string().describe('ULID'),
    at: timestampField,
    actor: z.string().describe(actorText),
    action: z
      .string()
      .describe('`<noun>.<verb>`, such as `key.create` or `session.delete`; there may be ones that are not known yet'),
    subjects: z.array(z.string()).describe('Ids of what was changed, 1,000 at most'),
    details: z
      .record(z.string(), z.unknown())
      .describe('Counts, names, values of settings; what there is depends on the action'),
  })
  .meta({ id: 'AuditEntry', description: 'A recorded change' });

export type AuditEntry = z.infer<typeof auditEntrySchema>;

export const auditQuerySchema = z.strictObject({
  actor: text(MAX_TEXT_LENGTH).optional().describe(`Only changes by: ${actorText}`),
  action: text(MAX_TEXT_LENGTH).optional().describe('Only changes of this kind, such as `key.create`'),
  subject: text(MAX_TEXT_LENGTH).optional().describe('Only changes of the key, session or transcript with this id'),
  from: momentField.optional().describe('From this moment on'),
  to: momentField.optional().describe('Before this moment'),
  ...pageQueryFields,
});

/** As a client writes it. */
export type AuditQuery = z.input<typeof auditQuerySchema>;

export const auditListSchema = z
  .object({ entries: z.array(auditEntrySchema), next_cursor: nextCursorField })
  .meta({ id: 'AuditList', description: 'Changes, the latest first' });

export type AuditList = z.infer<typeof auditListSchema>;

const apiKeySchema = z
  .object({
    id: z.string().describe('ULID'),
    name: z.string(),
    hint: z.string().describe('Last characters of the key'),
    scopes: z.array(z.string()),
    person: z
      .string()
      .nullable()
      .describe('Owner of the key. Its uploads are attributed to them; if null, the upload names the person'),
    created_at: timestampField,
    expires_at: timestampField.nullable().describe('When the key expires; null if never'),
    previous_expires_at: timestampField
      .nullable()
      .describe('Until when the secret before the last rotation is valid, or was; null if that had no grace'),
    last_used_at: timestampField.nullable().describe('Exact to a minute; null if it was never used'),
    revoked_at: timestampField.nullable(),
  })
  .meta({ id: 'ApiKey', description: 'A key, without its secret' });

export const keyHolderSchema = z
  .object({
    key_id: z.string(),
    scopes: z.array(z.string()),
    person: z
      .string()
      .nullable()
      .describe('Owner of the key. Its uploads are attributed to them; if null, the upload names the person'),
    expires_at: timestampField.nullable(),
    server_version: z.string().describe('Version of recount that answers'),
  })
  .meta({ id: 'KeyHolder', description: 'What the key of the request may do' });

export type KeyHolderAnswer = z.infer<typeof keyHolderSchema>;

export const apiKeyListSchema = z
  .object({ keys: z.array(apiKeySchema) })
  .meta({ id: 'ApiKeyList', description: 'Keys in the order of their creation, revoked and expired ones included' });

export type ApiKeyList = z.infer<typeof apiKeyListSchema>;

const MAX_GRACE_MS = 90 * 24 * 60 * 60_000;
const scopeField = z.enum(['ingest', 'read', 'admin']);
const expiryField = z.iso
  .datetime({ offset: true })
  .nullable()
  .describe('ISO 8601, when the key expires; null if never');

export const apiKeyParamsSchema = z.object({ key_id: text(MAX_TEXT_LENGTH).describe('Id of the key, a ULID') });

export const apiKeyRequestSchema = z
  .strictObject({
    name: text(MAX_TEXT_LENGTH).describe('What the key is for'),
    scopes: z
      .array(scopeField)
      .min(1)
      .refine((scopes) => new Set(scopes).size === scopes.length, 'Each once')
      .describe('`ingest` uploads, `read` reads, `admin` does everything, including deleting'),
    person: personParameter.optional(),
    expires_at: expiryField.optional(),
  })
  .meta({ id: 'ApiKeyRequest', description: 'A key to be made' });

export type ApiKeyRequest = z.input<typeof apiKeyRequestSchema>;

export const apiKeyRotationSchema = z
  .strictObject({
    grace_ms: z.int().min(0).max(MAX_GRACE_MS).default(0).describe('How long the old secret stays valid'),
    expires_at: expiryField.optional().describe('By default it stays as it is'),
  })
  .meta({ id: 'ApiKeyRotation', description: 'How a key is rotated' });

export type ApiKeyRotation = z.input<typeof apiKeyRotationSchema>;

export const apiKeySecretSchema = z
  .object({
    id: z.string().describe('ULID'),
    key: z.string().describe('The secret, which requests carry. It is shown only once'),
    expires_at: timestampField.nullable(),
    previous_expires_at: timestampField.nullable().describe('When the old secret ends; null if it has ended'),
  })
  .meta({ id: 'ApiKeySecret', description: 'A key with its secret' });

export type ApiKeySecret = z.infer<typeof apiKeySecretSchema>;

const MAX_CURRENCY_LABEL_LENGTH = 16;

const currencyLabelField = z
  .string()
  .trim()
  .min(1)
  .max(MAX_CURRENCY_LABEL_LENGTH)
  .regex(/^[^\p{C}]+$/u, 'Control characters are not allowed')
  .describe('Shown beside costs; nothing is converted');

const usd = z.number().min(0);
const ratesShape = {
  inputUsdPerMillion: usd,
  outputUsdPerMillion: usd,
  cacheReadUsdPerMillion: usd.optional().describe('By default a tenth of the input'),
  cacheWrite5mUsdPerMillion: usd.optional().describe('Default: 1.25 times the input'),
  cacheWrite1hUsdPerMillion: usd.optional().describe('By default twice the input'),
};

/** For documentation and types only, because packages/prices decides what is valid. */
const priceOverrideSchema = z
  .object({
    model: z.string().describe('As in transcripts; with `*` at its end, all with this prefix'),
    startsAt: z.string().optional().describe('ISO 8601; by default always'),
    ...ratesShape,
    webSearchUsdPerThousand: usd.optional().describe('Default: 10'),
    longContext: z
      .object({ thresholdTokens: z.int(), ...ratesShape })
      .optional()
      .describe('Rates of the whole request if its input and cached tokens together exceed the threshold'),
  })
  .meta({ id: 'PriceOverride', description: 'A custom price of a model; field names are as in the file' });

export const workspacePricesSchema = z
  .object({
    currency_label: z.string(),
    price_version: z.string().describe('Stored with every cost that is calculated from now on'),
    price_date: z.iso.date().describe('Date of the newest list (the price file, or the built-in list)'),
    price_file: z
      .object({
        location: z.string().describe('Path or URL, as it is set'),
        format: z.enum(['genai-prices', 'litellm']).nullable(),
        date: z.iso.date().nullable(),
        model_count: z.int().describe('Models with a price for tokens'),
        invalid_count: z.int().describe('Entries that are left out because they are not valid'),
        invalid: z.array(z.object({ path: z.string(), message: z.string() })).describe('At most 100'),
        error: z.string().nullable().describe('Why it could not be read the last time'),
      })
      .nullable()
      .describe('What the server has in RECOUNT_PRICE_FILE: it precedes the built-in list; null if nothing is set'),
    overrides: z.array(priceOverrideSchema),
  })
  .meta({ id: 'WorkspacePrices', description: 'A workspace’s additions to the list prices' });

export type WorkspacePrices = z.infer<typeof workspacePricesSchema>;

export const workspacePricesChangeSchema = z
  .strictObject({
    currency_label: currencyLabelField.optional(),
    // packages/prices validates them, with better messages.
    overrides: z
      .unknown()
      .optional()
      .meta({
        type: 'array',
        items: { $ref: '#/components/schemas/PriceOverride' },
        description: 'Replace all existing ones',
      }),
  })
  .meta({ id: 'WorkspacePricesChange', description: 'Omitted fields stay unchanged' });

export type WorkspacePricesChange = z.infer<typeof workspacePricesChangeSchema>;

const MAX_AGE_DAYS = 36_500;

const redactionField = z
  .enum(['off', 'rows', 'rows-and-raw'])
  .describe(
    [
      'What happens to detected secrets. `off` means nothing.',
      'With `rows`, rows have `[REDACTED:<rule>]` instead; raw transcripts stay unchanged.',
      'With `rows-and-raw`, a redacted copy, with every line in place, replaces the raw transcript.',
    ].join(' '),
  );

const daysField = (what: string) =>
  z.int().min(1).max(MAX_AGE_DAYS).nullable().describe(`Days after the last activity until ${what}; null if never`);

const settingFields = {
  redaction: redactionField,
  rows_max_age_days: daysField('messages and texts of a session are deleted; its figures stay'),
  raw_max_age_days: daysField('a raw transcript is deleted'),
};

export const workspaceSettingsSchema = z
  .object(settingFields)
  .meta({ id: 'WorkspaceSettings', description: 'A workspace’s settings for secrets and retention' });

export type WorkspaceSettings = z.infer<typeof workspaceSettingsSchema>;

export const workspaceSettingsChangeSchema = z
  .strictObject(settingFields)
  .partial()
  .meta({ id: 'WorkspaceSettingsChange', description: 'Omitted fields stay unchanged' });

export type WorkspaceSettingsChange = z.infer<typeof workspaceSettingsChangeSchema>;
