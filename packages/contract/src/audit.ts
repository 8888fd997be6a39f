import { z } from 'zod';
import { momentField, text, timestampField } from './fields.ts';
import { nextCursorField, pageQueryFields } from './paging.ts';

const MAX_TEXT_LENGTH = 512;

const actorText =
  '`key:<key id>`, `operator:<name on the operating system>` of who has the database itself, or `system`';

export const auditEntrySchema = z
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
  .meta({ id: 'AuditEntry', description: 'A change that somebody made' });

export type AuditEntry = z.infer<typeof auditEntrySchema>;

export const auditQuerySchema = z.strictObject({
  actor: text(MAX_TEXT_LENGTH).optional().describe(`Only what this one did: ${actorText}`),
  action: text(MAX_TEXT_LENGTH).optional().describe('Only changes of this kind, such as `key.create`'),
  subject: text(MAX_TEXT_LENGTH)
    .optional()
    .describe('Only changes of what has this id: a key, a session, a transcript'),
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
