import { z } from 'zod';
import { TRANSCRIPT_STATUSES } from './choices.ts';
import {
  countField,
  flagField,
  machineField,
  nextCursorField,
  pageQueryFields,
  personField,
  sentPersonField,
  sessionIdField,
  sessionIdParameter,
  sha256Field,
  text,
  timestampField,
  transcriptIdField,
  uploaderField,
} from './fields.ts';
import { figureFields } from './usage-figures.ts';

const MAX_UPLOADER_LENGTH = 100;

export const transcriptStatusSchema = z.enum(TRANSCRIPT_STATUSES).meta({
  id: 'TranscriptStatus',
  description: [
    '`queued` is stored and waits for a worker.',
    '`processing` is with a worker.',
    '`ingested` has its rows stored.',
    '`superseded` is the beginning of a longer transcript of the session, whose rows contain its own.',
    '`failed` was tried without success, see `failure_reason`.',
  ].join(' '),
});

export type TranscriptStatus = z.infer<typeof transcriptStatusSchema>;

export const transcriptParamsSchema = z.object({ transcript_id: transcriptIdField });

export const transcriptLineParamsSchema = z.object({
  transcript_id: transcriptIdField,
  byte_offset: z.coerce
    .number()
    .int()
    .min(0)
    .describe('`byte_offset` of a message, content block or issue, where its line starts in the raw transcript'),
});

export const transcriptSchema = z
  .object({
    id: transcriptIdField,
    session_id: sessionIdField,
    agent: z.string(),
    format: z.string().describe('Form of the transcript among its agent’s, e.g. a session file or the output of a run'),
    path: z.string().nullable().describe('The file’s path, as the uploader gave it'),
    is_subagent: z.boolean(),
    parent_session_id: z.string().nullable(),
    agent_id: z.string().nullable().describe('The agent’s own id of the sub-agent; null for other transcripts'),
    sha256: sha256Field,
    size_bytes: countField,
    uploader_key_id: uploaderField,
    machine: machineField,
    person: personField,
    sent_person: sentPersonField,
    status: transcriptStatusSchema,
    is_diverged: z
      .boolean()
      .describe('Diverged from the primary transcript of its session, so neither is the beginning of the other'),
    superseded_by: z.string().nullable().describe('Id of the longer transcript that contains this one'),
    attempt_count: countField.describe('How often a worker has begun to ingest it'),
    failure_reason: z.string().nullable(),
    parser_version: z.string().nullable(),
    price_version: z.string().nullable(),
    line_count: countField,
    content_block_count: countField,
    error_count: countField.describe('Issues that lost part of a line'),
    warning_count: countField.describe('Issues that were repaired or merely noted'),
    issue_counts: z.record(z.string(), countField).describe('Occurrences by issue code'),
    secret_counts: z
      .record(z.string(), countField)
      .describe('Secrets removed from the rows, by the rule that found them'),
    stored_sha256: sha256Field
      .nullable()
      .describe('SHA-256 of the raw transcript if it is a redacted copy of what was uploaded; else null'),
    rows_deleted_at: timestampField.nullable().describe('When retention deleted its messages; figures stay'),
    raw_deleted_at: timestampField.nullable().describe('When retention deleted its bytes'),
    raw_damaged_at: timestampField
      .nullable()
      .describe('When the doctor found its bytes lost or damaged. Uploading them again replaces them'),
    ...figureFields,
    created_at: timestampField,
    ingested_at: timestampField.nullable().describe('Null while it has no rows'),
  })
  .meta({
    id: 'Transcript',
    description: 'One uploaded file, with the state of its ingestion and the result of the parse',
  });

export type Transcript = z.infer<typeof transcriptSchema>;

const statusParameter = z.enum(TRANSCRIPT_STATUSES);

export const transcriptListQuerySchema = z.strictObject({
  status: z
    .union([statusParameter, z.array(statusParameter)])
    .optional()
    .describe('Only these statuses; may be given several times'),
  session_id: sessionIdParameter.optional(),
  sha256: sha256Field.optional(),
  uploader_key_id: text(MAX_UPLOADER_LENGTH)
    .optional()
    .describe('Only uploads of this id of an API key, `operator` or `several`'),
  has_errors: flagField
    .optional()
    .describe('Only transcripts with issues that lost something of a line (`error_count`), or only those without'),
  order: z
    .enum(['asc', 'desc'])
    .default('asc')
    .describe('`asc` has the first upload first; `desc` has the latest first'),
  ...pageQueryFields,
});

export const transcriptListSchema = z
  .object({ transcripts: z.array(transcriptSchema), next_cursor: nextCursorField })
  .meta({ id: 'TranscriptList', description: 'Transcripts in the order of their upload' });

export type TranscriptList = z.infer<typeof transcriptListSchema>;

export const ingestionSchema = z
  .object({
    transcripts: z.record(z.enum(TRANSCRIPT_STATUSES), countField).describe('By their status'),
    error_count: countField.describe('Issues that lost part of a line, of all transcripts'),
    transcripts_with_errors: countField,
    search: z
      .object({ waiting_sessions: countField, failing_sessions: countField })
      .describe(
        'Sessions that search does not have as they are now, and how many of these failed in their last attempt',
      ),
  })
  .meta({ id: 'Ingestion', description: 'How the ingestion of a workspace stands' });

export type Ingestion = z.infer<typeof ingestionSchema>;

const bytesOfInstallation = countField.nullable();

export const diskUseSchema = z
  .object({
    raw_bytes: countField.describe('Raw transcripts of the workspace, as they were uploaded'),
    database_bytes: bytesOfInstallation.describe(
      'Size of the whole installation; null for keys without the scope admin',
    ),
    search_bytes: bytesOfInstallation.describe('Part of database_bytes'),
    wal_bytes: bytesOfInstallation.describe(
      'Write-ahead log of PostgreSQL, beside database_bytes; null also if its account has no permission',
    ),
  })
  .meta({ id: 'DiskUse', description: 'Disk use of transcripts and their rows' });

export type DiskUse = z.infer<typeof diskUseSchema>;

const issueSchema = z
  .object({
    issue_number: countField,
    code: z.string(),
    severity: z
      .enum(['error', 'warning', 'notice'])
      .describe(
        '`error` means part of a line was lost. `warning` means repaired or noted. `notice` means recount does not read or know it',
      ),
    message: z.string(),
    line_number: z.int().min(1),
    byte_offset: countField.describe('Where the line starts in the raw transcript'),
    occurrence_count: z
      .int()
      .min(1)
      .describe('How often it occurs on this line, or in the transcript for notices and `total_mismatch`'),
  })
  .meta({ id: 'Issue', description: 'What recount noticed at a place of a transcript' });

export type Issue = z.infer<typeof issueSchema>;

export const issueListQuerySchema = z.strictObject(pageQueryFields);

export const issueListSchema = z.object({ issues: z.array(issueSchema), next_cursor: nextCursorField }).meta({
  id: 'IssueList',
  description: 'Issues in the order of the lines; the first 1,000 of a transcript are stored',
});

export type IssueList = z.infer<typeof issueListSchema>;

const noticeSchema = z
  .object({
    agent: z.string(),
    agent_version: z.string().nullable().describe('As the transcripts name it'),
    code: z.string().describe('`unknown_line_type`, `unread_content`, `unknown_block_type` or `unknown_usage`'),
    message: z.string().describe('Names the type'),
    transcript_count: countField,
    occurrence_count: countField.describe('In all the transcripts together'),
  })
  .meta({ id: 'Notice', description: 'A type of lines, content or usage that recount does not read or does not know' });

export type Notice = z.infer<typeof noticeSchema>;

export const noticeListSchema = z
  .object({ notices: z.array(noticeSchema) })
  .meta({ id: 'NoticeList', description: 'Each once for each version of an agent; the 1,000 most frequent' });

export type NoticeList = z.infer<typeof noticeListSchema>;

export const reparseReceiptSchema = z
  .object({ transcript_id: transcriptIdField, session_id: sessionIdField, status: transcriptStatusSchema })
  .meta({ id: 'ReparseReceipt', description: 'A transcript that will be ingested again' });
