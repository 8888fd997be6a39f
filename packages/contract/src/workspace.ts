import { z } from 'zod';
import {
  API_KEY_SCOPES,
  isEnrolment,
  needsPerson,
  ROLE_NAMES,
  ROLES,
  SCOPE_WORDS,
  SIGN_IN_LINK_MS,
  TEXT_READERS,
} from './access.ts';
import { REDACTION_MODES, REPRICE_STATES } from './choices.ts';
import {
  countField,
  momentField,
  nextCursorField,
  pageQueryFields,
  personParameter,
  text,
  timestampField,
} from './fields.ts';

const MAX_TEXT_LENGTH = 512;

const actorText =
  '`key:<key id>`, `link:<share id>` of anyone who has it, `operator:<name on the operating system>` of who has the database itself, or `system`';

const auditEntrySchema = z
  .object({
    id: z.string().describe('ULID'),
    at: timestampField,
    actor: z.string().describe(actorText),
    action: z
      .string()
      .describe('`<noun>.<verb>`, such as `key.create` or `session.delete`; there may be ones that are not known yet'),
    actor_name: z.string().nullable().describe('Name of the actor’s key; null for other actors'),
    actor_person: z.string().nullable().describe('Person of the actor’s key; null if it has none'),
    subjects: z.array(z.string()).describe('Ids of what was changed or read, 1,000 at most'),
    details: z
      .record(z.string(), z.unknown())
      .describe('Counts, names, values of settings; what there is depends on the action'),
  })
  .meta({ id: 'AuditEntry', description: 'A recorded change, or read of others’ texts' });

export const auditQuerySchema = z.strictObject({
  actor: text(MAX_TEXT_LENGTH).optional().describe(`Only changes by: ${actorText}`),
  action: text(MAX_TEXT_LENGTH).optional().describe('Only changes of this kind, such as `key.create`'),
  subject: text(MAX_TEXT_LENGTH).optional().describe('Only changes of the key, session or transcript with this id'),
  from: momentField.optional().describe('From this moment on'),
  to: momentField.optional().describe('Before this moment'),
  kind: z
    .enum(['changes', 'reads'])
    .optional()
    .describe('Only changes, or only reads of others’ texts and openings of shared links'),
  ...pageQueryFields,
});

export const auditListSchema = z
  .object({ entries: z.array(auditEntrySchema), next_cursor: nextCursorField })
  .meta({ id: 'AuditList', description: 'Changes and reads, the latest first' });

export type AuditList = z.infer<typeof auditListSchema>;

const roleField = z.enum(ROLE_NAMES).nullable().describe('Role with exactly these scopes; null if there is none');

const apiKeySchema = z
  .object({
    id: z.string().describe('ULID'),
    name: z.string(),
    hint: z.string().describe('Last characters of the key'),
    scopes: z.array(z.string()),
    role: roleField,
    person: z
      .string()
      .nullable()
      .describe('Owner of the key. Its uploads are attributed to them; if null, the upload names the person'),
    created_at: timestampField,
    expires_at: timestampField.nullable().describe('When the key expires; null if never'),
    previous_expires_at: timestampField
      .nullable()
      .describe('Until when the secret before the last rotation is valid, or was; null if that had no grace'),
    machine_limit: countField
      .nullable()
      .describe('Machines that a key with the scope enrol may have; null: any number'),
    issuer: z
      .string()
      .nullable()
      .describe(
        'OpenID provider of the account that signs in with this key, whose secret no one has; null for other keys',
      ),
    sign_in_link_expires_at: timestampField
      .nullable()
      .describe('When the link that signs in with this key expires; null if there is none, or it was used'),
    enrolled_by: z.string().nullable().describe('Key that the machine of this one enrolled with; null for other keys'),
    last_used_at: timestampField.nullable().describe('Exact to a minute; null if it was never used'),
    revoked_at: timestampField.nullable(),
  })
  .meta({ id: 'ApiKey', description: 'A key, without its secret' });

export const keyHolderSchema = z
  .object({
    key_id: z.string(),
    scopes: z.array(z.string()),
    role: roleField,
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

const MAX_MACHINES = 1_000_000;
const MAX_GRACE_MS = 90 * 24 * 60 * 60_000;
/** The scopes that keys can give to keys. */
const GIVEN_SCOPES = API_KEY_SCOPES.filter((scope) => scope !== 'operator');
const scopeField = z.enum(GIVEN_SCOPES);
const GIVEN_ROLES = ROLE_NAMES.filter((role) => role !== 'operator');
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
      .optional()
      .describe(GIVEN_SCOPES.map((scope) => `\`${scope}\`: ${SCOPE_WORDS[scope]}`).join('; ')),
    role: z.enum(GIVEN_ROLES).optional().describe('A named set of scopes, instead of `scopes`'),
    person: personParameter.optional().describe('Owner of the key; the scopes `own` and `team` need one'),
    expires_at: expiryField.optional(),
    machine_limit: z
      .int()
      .min(1)
      .max(MAX_MACHINES)
      .optional()
      .describe('Machines that a key with the scope enrol may have. Default: any number'),
  })
  .refine(({ scopes = [] }) => !isEnrolment(scopes) || scopes.length === 1, {
    path: ['scopes'],
    message: 'The scope enrol stands alone',
  })
  .refine(({ scopes, role, machine_limit }) => machine_limit === undefined || isEnrolment(scopes ?? [role ?? '']), {
    path: ['machine_limit'],
    message: 'Only a key with the scope enrol has machines',
  })
  .refine(({ scopes, role }) => (scopes === undefined) !== (role === undefined), {
    path: ['scopes'],
    message: 'Give either scopes or a role',
  })
  .refine(({ scopes, role, person }) => !needsPerson(scopes ?? ROLES[role ?? 'admin']) || person !== undefined, {
    path: ['person'],
    message: 'The scopes own and team need a person, whose sessions and teams they mean',
  })
  .meta({ id: 'ApiKeyRequest', description: 'A key to be made' });

export type ApiKeyRequest = z.input<typeof apiKeyRequestSchema>;

export const apiKeyRotationSchema = z
  .strictObject({
    grace_ms: z.int().min(0).max(MAX_GRACE_MS).default(0).describe('How long the old secret stays valid'),
    expires_at: expiryField.optional().describe('By default it stays as it is'),
  })
  .meta({ id: 'ApiKeyRotation', description: 'How a key is rotated' });

export const apiKeySecretSchema = z
  .object({
    id: z.string().describe('ULID'),
    key: z.string().describe('The secret, which requests carry. It is shown only once'),
    expires_at: timestampField.nullable(),
    previous_expires_at: timestampField.nullable().describe('When the old secret ends; null if it has ended'),
  })
  .meta({ id: 'ApiKeySecret', description: 'A key with its secret' });

export type ApiKeySecret = z.infer<typeof apiKeySecretSchema>;

export const signInLinkRequestSchema = z
  .strictObject({
    valid_ms: z
      .int()
      .min(SIGN_IN_LINK_MS.min)
      .max(SIGN_IN_LINK_MS.max)
      .default(SIGN_IN_LINK_MS.default)
      .describe('How long it may be used: five minutes to seven days. It ends with the key, and not after yours'),
  })
  .meta({ id: 'SignInLinkRequest', description: 'A link to be made' });

export const signInLinkSchema = z
  .object({
    path: z.string().describe('What the link ends with, after the address of this server; given this once'),
    expires_at: timestampField,
  })
  .meta({ id: 'SignInLink', description: 'A link that signs a browser in to the dashboard with a key, once' });

export type SignInLinkAnswer = z.infer<typeof signInLinkSchema>;

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

/** For more, everything is priced again. */
export const MAX_REPRICED_MODELS = 200;
const MAX_MODEL_NAME_LENGTH = 256;

const repriceSumsSchema = z
  .object({
    responses: z.int().describe('API responses of the workspace, each counted once'),
    unpriced_responses: z.int(),
    cost_usd: z.number(),
  })
  .meta({ id: 'RepriceSums', description: 'Sums of a workspace before or after its usage was priced again' });

const repriceRunSchema = z
  .object({
    state: z.enum(REPRICE_STATES).describe('`queued` waits for a worker, also if the one before has died'),
    models: z.array(z.string()).describe('Names of models, which may end in `*`; empty means all'),
    actor: z.string().describe('Who started it, as the audit log has it'),
    started_at: timestampField,
    ended_at: timestampField.nullable(),
    done: z.int().describe('Transcripts priced again'),
    total: z.int().nullable().describe('Null until it begins'),
    failure_reason: z.string().nullable(),
    before: repriceSumsSchema.nullable(),
    after: repriceSumsSchema.nullable().describe('Also contains what was ingested while it ran; null until it is done'),
  })
  .meta({ id: 'RepriceRun', description: 'A run that prices stored usage again' });

export type RepriceRun = z.infer<typeof repriceRunSchema>;

export const repriceSchema = z
  .object({ run: repriceRunSchema.nullable().describe('The latest one; null if there was none') })
  .meta({ id: 'Reprice', description: 'The latest run that priced stored usage again' });

export type Reprice = z.infer<typeof repriceSchema>;

export const repriceRequestSchema = z
  .strictObject({
    models: z
      .array(text(MAX_MODEL_NAME_LENGTH))
      .max(MAX_REPRICED_MODELS)
      .default([])
      .describe('Only transcripts that use one of these models; names in any case, which may end in `*`; empty: all'),
  })
  .meta({ id: 'RepriceRequest', description: 'Which stored usage to price again' });

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
  .enum(REDACTION_MODES)
  .describe(
    [
      'What happens to detected secrets. `off` means nothing.',
      'With `rows`, rows have `[REDACTED:<rule>]` instead; raw transcripts stay unchanged.',
      'With `rows-and-raw`, a redacted copy, with every line in place, replaces the raw transcript.',
    ].join(' '),
  );

const daysField = (what: string) =>
  z.int().min(1).max(MAX_AGE_DAYS).nullable().describe(`Days after the last activity until ${what}; null if never`);

const MAX_PEOPLE = 100_000;

const settingFields = {
  text_readers: z
    .enum(TEXT_READERS)
    .describe(
      'Who may see the texts of others’ sessions. `readers` are all with the scope `read` or `admin`. `auditors` are keys with the scope `texts` alone; others see figures, and texts of sessions that are theirs',
    ),
  names_from_people: z
    .int()
    .min(1)
    .max(MAX_PEOPLE)
    .nullable()
    .describe(
      'Names are shown only of people who are today in a team of at least this many, of machines that only they use, and of teams and cost centres of at least this many; otherwise pseudonyms, except to `admin` and `people`, and to `team` in its own teams. A workspace without teams counts as one team; if no people are entered, the names of its sessions count. Null means always names',
    ),
  redaction: redactionField,
  rows_max_age_days: daysField('messages and texts of a session are deleted; its figures stay'),
  raw_max_age_days: daysField('a raw transcript is deleted'),
};

export const workspaceSettingsSchema = z
  .object(settingFields)
  .meta({ id: 'WorkspaceSettings', description: 'A workspace’s settings for secrets, retention, and who sees what' });

export type WorkspaceSettings = z.infer<typeof workspaceSettingsSchema>;

export const workspaceSettingsChangeSchema = z
  .strictObject(settingFields)
  .partial()
  .meta({ id: 'WorkspaceSettingsChange', description: 'Omitted fields stay unchanged' });
