import { ATTACHMENT_KINDS } from '@recount/core';
import { z } from 'zod';
import {
  countField,
  flagField,
  machineField,
  machineParameter,
  momentField,
  nextCursorField,
  pageQueryFields,
  personField,
  personParameter,
  sessionIdField,
  sessionIdParameter,
  sha256Field,
  text,
  timestampField,
  uploaderField,
} from './fields.ts';

const MAX_ATTACHMENT_PATH_LENGTH = 1024;

const attachmentIdField = z.string().max(100).describe('ULID of the attachment');

const attachmentSchema = z
  .object({
    id: attachmentIdField,
    session_id: sessionIdField,
    agent: z.string(),
    path: z.string().describe('In the folder that the agent keeps for the session, with `/` between its parts'),
    kind: z
      .enum(ATTACHMENT_KINDS)
      .describe(
        '`tool_result` is the whole of a result whose beginning is in the transcript. `subagent` has facts about a sub-agent. `workflow` is script, state or journal of a workflow.',
      ),
    size_bytes: countField,
    sha256: sha256Field.describe('SHA-256 of what was uploaded, hex'),
    stored_sha256: sha256Field
      .nullable()
      .describe('SHA-256 of the stored bytes, if secrets were removed from them; else null'),
    modified_at: timestampField.describe(
      'When the file was written, by its machine’s clock; never later than it was received',
    ),
    uploader_key_id: uploaderField,
    machine: machineField,
    person: personField,
    created_at: timestampField.describe('When it was received'),
  })
  .meta({ id: 'Attachment', description: 'A file that an agent keeps with a session’s transcript' });

export const attachmentReferenceSchema = attachmentSchema
  .pick({ id: true, session_id: true, path: true, size_bytes: true })
  .meta({ id: 'AttachmentReference', description: 'An attachment by what is needed to fetch it' });

export type Attachment = z.infer<typeof attachmentSchema>;

export const attachmentListSchema = z
  .object({ attachments: z.array(attachmentSchema), next_cursor: nextCursorField })
  .meta({
    id: 'AttachmentList',
    description: 'Attachments of a session by path; several of one path if several uploaders differ',
  });

export type AttachmentList = z.infer<typeof attachmentListSchema>;

export const attachmentListQuerySchema = z.strictObject(pageQueryFields);

export const attachmentUploadParamsSchema = z.object({ session_id: sessionIdParameter });

export const attachmentParamsSchema = z.object({ session_id: sessionIdParameter, attachment_id: attachmentIdField });

export const attachmentUploadQuerySchema = z.strictObject({
  path: text(MAX_ATTACHMENT_PATH_LENGTH).describe('Path in the session’s folder, e.g. `tool-results/toolu_01.txt`'),
  agent: z.string().max(100).describe('Id of the agent that keeps it'),
  modified_at: momentField.optional().describe('When the file was written. By default, and at most, now'),
  machine: machineParameter.optional().describe('Name of the machine that the session ran on'),
  person: personParameter.optional().describe('Whose session it is; a key made for a person takes precedence'),
});

export const attachmentReceiptSchema = z
  .object({
    attachment: attachmentSchema,
    outcome: z
      .enum(['stored', 'duplicate', 'older', 'healed'])
      .describe(
        [
          '`stored` means it is new, or replaces an earlier state of the file.',
          '`duplicate` means the session has these bytes at this path.',
          '`older` means the uploader has sent a later state, which stays.',
          '`healed` means the stored bytes were lost or damaged, and were replaced by these.',
        ].join(' '),
      ),
  })
  .meta({ id: 'AttachmentReceipt', description: 'The outcome of an upload, and the attachment stored now' });

export type AttachmentReceipt = z.infer<typeof attachmentReceiptSchema>;

export const attachmentContentQuerySchema = z.strictObject({
  redact: flagField
    .default(false)
    .describe(
      'Whether secrets are replaced if the workspace does so in shared documents. Default false, with the bytes as they are stored',
    ),
  max_bytes: z.coerce.number().int().min(1).optional().describe('The first bytes only. Default: all'),
});
