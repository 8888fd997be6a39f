import { z } from 'zod';
import { namesField, reportFilterFields, timeZoneField } from './analytics-query.ts';
import { DOCUMENT_FORMATS } from './choices.ts';
import {
  countField,
  flagField,
  nextCursorField,
  pageQueryFields,
  sessionIdField,
  sessionIdParameter,
  text,
  timestampField,
} from './fields.ts';
import { messageSchema } from './messages.ts';
import { PERIOD_IDS } from './periods.ts';
import { REPORT_NAMES, REPORTS } from './reports/registry.ts';
import { REPORT_SUBJECTS } from './reports/report-dimensions.ts';
import { REPORT_PAGES } from './reports/report-pages.ts';
import { sessionSchema } from './sessions.ts';

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
    isCut: z.boolean().describe('Whether there are more messages or sub-agents than a document holds'),
    get subagents() {
      return z.array(sessionDocumentSchema);
    },
  })
  .meta({ id: 'SessionDocument', description: 'A session with its messages, and the messages of its sub-agents' });

const MAX_SHARE_DAYS = 365;
const DEFAULT_SHARE_DAYS = 30;

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

const isOfTexts = (route: string): boolean =>
  REPORT_NAMES.some((name) => route === `/v1/analytics/${name}` && 'isOfTexts' in REPORTS[name]);

const MAX_TITLE_LENGTH = 200;
const MAX_TOOL_LENGTH = 1000;
/** Reports whose rows are texts or sessions cannot be shared as figures. */
const TABLES = REPORT_PAGES.filter(({ route, id }) => !isOfTexts(route) && id !== 'session').map(
  ({ page, id }) => `${page}/${id}`,
);
const SUBJECTS = REPORT_SUBJECTS.map(({ name }) => name);

const { session_id: _sessionId, git_branch: _branch, subagents: _subagents, ...viewFilters } = reportFilterFields;

const sharedViewFields = {
  title: text(MAX_TITLE_LENGTH).describe('Heading of the page'),
  kind: z
    .enum(['overview', 'table', 'subject', 'insights'])
    .describe(
      '`overview` has totals, their course and their parts, `table` one table, `subject` one value’s page, `insights` potential waste',
    ),
  table: z.enum(TABLES).optional().describe('For `table`: the page of the dashboard and its table'),
  subject: z.enum(SUBJECTS).optional().describe('For `subject`: what the filter of this name chooses'),
  period: z
    .enum(PERIOD_IDS)
    .optional()
    .describe('A period that moves with the time, instead of `from` and `to`, which are fixed'),
  ...viewFilters,
  tool: namesField(text(MAX_TOOL_LENGTH), 'Tool').describe('For the subject `tool`: its name'),
};

/** As it is stored with its link. */
export const sharedViewSchema = z
  .strictObject(sharedViewFields)
  .meta({ id: 'SharedView', description: 'A view of reports: figures only, without texts and sessions' });

export type SharedView = z.infer<typeof sharedViewSchema>;

export const viewShareRequestSchema = z
  .strictObject({
    ...sharedViewFields,
    expires_in_days: z
      .number()
      .positive()
      .max(MAX_SHARE_DAYS)
      .default(DEFAULT_SHARE_DAYS)
      .describe(`Days until the link ends, parts of a day included; ${MAX_SHARE_DAYS} at most`),
  })
  .refine(({ kind, table }) => (kind === 'table') === (table !== undefined), {
    path: ['table'],
    message: 'A table, and only a table, has one',
  })
  .refine(({ kind, subject }) => (kind === 'subject') === (subject !== undefined), {
    path: ['subject'],
    message: 'A subject, and only a subject, has one',
  })
  .refine(({ subject, ...filters }) => subject === undefined || filters[subject as 'model'] !== undefined, {
    path: ['subject'],
    message: 'Needs the filter of its name',
  })
  .refine(({ tool, subject }) => tool === undefined || subject === 'tool', {
    path: ['tool'],
    message: 'Only for the subject tool',
  })
  .refine(({ period, from, to }) => period === undefined || (from === undefined && to === undefined), {
    path: ['period'],
    message: 'Either a period, or from and to',
  });

const shareSchema = z
  .object({
    id: z.string().describe('ULID'),
    session_id: sessionIdField.nullable().describe('Null for a view'),
    view: sharedViewSchema.nullable().describe('Null for a session'),
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
  .meta({ id: 'Share', description: 'A link that shows a session, or figures, to anyone who has it' });

export type Share = z.infer<typeof shareSchema>;

export const newShareSchema = z
  .object({
    ...shareSchema.shape,
    path: z.string().describe('What the link ends with, after the address of this server; given this once'),
    redactions: z.record(z.string(), countField).describe('Removed secrets, by rule'),
  })
  .meta({ id: 'NewShare', description: 'A link that was just made' });

export type NewShare = z.infer<typeof newShareSchema>;

export const newViewShareSchema = z
  .object({ ...shareSchema.shape, path: newShareSchema.shape.path })
  .meta({ id: 'NewViewShare', description: 'A link to a view that was just made' });

export type NewViewShare = z.infer<typeof newViewShareSchema>;

export const shareListQuerySchema = z.strictObject({
  session_id: sessionIdParameter.optional(),
  ...pageQueryFields,
});

export const shareListSchema = z
  .object({ shares: z.array(shareSchema), next_cursor: nextCursorField })
  .meta({ id: 'ShareList', description: 'Links, ended ones included, the latest first' });

export type ShareList = z.infer<typeof shareListSchema>;
