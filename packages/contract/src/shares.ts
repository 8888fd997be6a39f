import { z } from 'zod';
import { timeZoneField } from './analytics-query.ts';
import {
  countField,
  flagField,
  nextCursorField,
  pageQueryFields,
  sessionIdField,
  sessionIdParameter,
  timestampField,
} from './fields.ts';
import { messageSchema } from './messages.ts';
import { sessionSchema } from './sessions.ts';

export const DOCUMENT_FORMATS = ['html', 'markdown', 'json'] as const;
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number];

const lineParameter = z.coerce.number().int().min(1);

const rangeFields = {
  from_line: lineParameter.optional().describe('First line of the transcript that is shown'),
  to_line: lineParameter.optional().describe('Last line that is shown'),
};

const RANGE_ISSUE = { path: ['to_line'], message: 'to_line comes before from_line' };

const isRange = ({
  from_line: from = 1,
  to_line: to = from,
}: {
  from_line?: number | undefined;
  to_line?: number | undefined;
}): boolean => to >= from;

export const documentQuerySchema = z
  .strictObject({
    format: z.enum(DOCUMENT_FORMATS).default('html').describe('The format of the document'),
    redact: flagField.default(true).describe('Whether secrets that rules find are replaced. Default true'),
    sanitize: flagField
      .default(false)
      .describe(
        'Whether only the structure is included (tools by name, sizes, models, figures), without texts, paths and names',
      ),
    subagents: flagField.default(true).describe('Whether sub-agents are shown; never with a range of lines'),
    time_zone: timeZoneField.describe('IANA time zone of the times that are shown'),
    download: flagField.default(true).describe('Whether a browser saves it as a file, or shows it. Default true'),
    ...rangeFields,
  })
  .refine(isRange, RANGE_ISSUE);

/** As a client writes it. */
export type DocumentQuery = z.input<typeof documentQuerySchema>;

export const sessionDocumentSchema = z
  .object({
    session: sessionSchema,
    messages: z.array(messageSchema),
    isCut: z.boolean().describe('Whether there are more messages than a document holds'),
    get subagents() {
      return z.array(sessionDocumentSchema);
    },
  })
  .meta({ id: 'SessionDocument', description: 'A session with its messages, and the messages of its sub-agents' });

const MAX_SHARE_DAYS = 365;
export const DEFAULT_SHARE_DAYS = 30;

export const shareRequestSchema = z
  .strictObject({
    expires_in_days: z
      .number()
      .positive()
      .max(MAX_SHARE_DAYS)
      .default(DEFAULT_SHARE_DAYS)
      .describe(`Days until the link ends, parts of a day included; ${MAX_SHARE_DAYS} at most`),
    from_line: z.int().min(1).optional().describe('First line of the transcript that is shown'),
    to_line: z.int().min(1).optional().describe('Last line that is shown'),
    sanitize: z.boolean().default(false).describe('Show only the structure, without texts, paths and names'),
    subagents: z.boolean().default(true).describe('Show sub-agents; never with a range of lines'),
    time_zone: timeZoneField.describe('IANA time zone of the times that are shown'),
  })
  .refine(isRange, RANGE_ISSUE);

/** As a client writes it. */
export type ShareRequest = z.input<typeof shareRequestSchema>;

export const shareSchema = z
  .object({
    id: z.string().describe('ULID'),
    session_id: sessionIdField,
    from_line: z.int().nullable(),
    to_line: z.int().nullable(),
    is_sanitized: z.boolean(),
    actor: z.string().describe('Who shared it, as in the audit log'),
    created_at: timestampField,
    expires_at: timestampField,
    revoked_at: timestampField.nullable(),
    opened_count: countField,
    last_opened_at: timestampField.nullable(),
  })
  .meta({ id: 'Share', description: 'A link that shows a session to anyone who has it' });

export type Share = z.infer<typeof shareSchema>;

export const newShareSchema = z
  .object({
    ...shareSchema.shape,
    path: z.string().describe('What the link ends with, after the address of this server; given this once'),
    redactions: z.record(z.string(), countField).describe('Removed secrets, by rule'),
  })
  .meta({ id: 'NewShare', description: 'A link that was just made' });

export type NewShare = z.infer<typeof newShareSchema>;

export const shareListQuerySchema = z.strictObject({
  session_id: sessionIdParameter.optional(),
  ...pageQueryFields,
});

export const shareListSchema = z
  .object({ shares: z.array(shareSchema), next_cursor: nextCursorField })
  .meta({ id: 'ShareList', description: 'Links, ended ones included, the latest first' });

export type ShareList = z.infer<typeof shareListSchema>;
