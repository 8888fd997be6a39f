import { z } from 'zod';
import { DISMISSAL_SUBJECTS, FINDING_KINDS, WASTE_KINDS } from './choices.ts';
import { text, timestampField } from './fields.ts';

export const MAX_DISMISSALS = 1000;
const MAX_REASON_LENGTH = 300;
/** Also of a session's id. */
const MAX_SUBJECT_LENGTH = 500;

const kindField = z.enum(FINDING_KINDS).describe('Kind of finding');
const subjectTypeField = z
  .enum(DISMISSAL_SUBJECTS)
  .describe(
    '`session` dismisses the findings of one session; the others, all findings of a repository, a person or a tool',
  );
const actorField = z.string().describe('Who, as in the audit log');
const actorNameField = z.string().nullable().describe('Person or name of the API key; null if it has none');

export const dismissalRequestSchema = z
  .strictObject({
    kind: kindField,
    subject_type: subjectTypeField,
    subject: text(MAX_SUBJECT_LENGTH).describe(
      'Id of the session, or the full name of the repository, person or tool. A tool needs a kind that is about calls',
    ),
    reason: text(MAX_REASON_LENGTH).optional().describe(`At most ${MAX_REASON_LENGTH} characters`),
  })
  .meta({ id: 'FindingDismissalRequest', description: 'Findings that need nothing done' });

export type DismissalRequest = z.infer<typeof dismissalRequestSchema>;

export const dismissalSchema = z
  .object({
    id: z.string(),
    kind: kindField,
    subject_type: subjectTypeField,
    subject: z.string(),
    title: z.string().nullable().describe('Title of the session; null for other subjects'),
    reason: z.string().nullable(),
    dismissed_by: actorField,
    dismissed_by_name: actorNameField,
    dismissed_at: timestampField,
  })
  .meta({ id: 'FindingDismissal', description: 'Findings that are left out of lists and of potential waste' });

export type Dismissal = z.infer<typeof dismissalSchema>;

export const dismissalListSchema = z
  .object({ dismissals: z.array(dismissalSchema) })
  .meta({ id: 'FindingDismissalList', description: `The latest first; a workspace has at most ${MAX_DISMISSALS}` });

export type DismissalList = z.infer<typeof dismissalListSchema>;

export const dismissalParamsSchema = z.object({ dismissal_id: z.string().max(100).describe('Id of the dismissal') });

export const addressedParamsSchema = z.object({
  kind: z.enum(WASTE_KINDS).describe('Kind of finding that has a share of the cost'),
});

export const addressedRequestSchema = z
  .strictObject({
    since: z.iso
      .date()
      .refine((date) => date >= '1970-01-01', 'Before 1970')
      .describe('The first day when it was different, in the time zone of each report; not in the future'),
    note: text(MAX_REASON_LENGTH).optional().describe(`What was done, at most ${MAX_REASON_LENGTH} characters`),
  })
  .meta({ id: 'AddressedFindingRequest', description: 'Replaces what was marked before' });

export const addressedFields = {
  kind: z.enum(WASTE_KINDS).describe('Kind of finding'),
  since: z.iso.date().describe('The first day when it was different'),
  note: z.string().nullable().describe('What was done'),
  marked_by: actorField,
  marked_by_name: actorNameField,
  marked_at: timestampField,
};

export const addressedSchema = z
  .object(addressedFields)
  .meta({ id: 'AddressedFinding', description: 'A kind of finding that something was done about' });

export type AddressedFinding = z.infer<typeof addressedSchema>;
