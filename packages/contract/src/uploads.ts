import { z } from 'zod';
import { countField, MAX_PATH_LENGTH, sessionIdField, sha256Field, transcriptIdField } from './fields.ts';
import { problemFields, problemSchema } from './problem.ts';
import { transcriptStatusSchema } from './transcripts.ts';

export const UPLOAD_ENCODINGS = ['gzip', 'br', 'zstd'] as const;
export type UploadEncoding = (typeof UPLOAD_ENCODINGS)[number];

/** Files in one multipart upload at most. */
export const MAX_UPLOAD_FILES = 1000;

export const uploadQuerySchema = z.strictObject({
  session_id: z
    .string()
    .optional()
    .describe('Overrules what path and content say, 1 to 512 characters; in a multipart upload only with one file'),
  path: z
    .string()
    .max(MAX_PATH_LENGTH)
    .optional()
    .describe(
      'Original path of the file: decides main session or sub-agent and parent session. In a multipart upload each part names its own',
    ),
  agent: z
    .string()
    .max(100)
    .optional()
    .describe('Says that the transcript is of `claude-code`, whatever it looks like'),
});

/** As a client writes it. */
export type UploadQuery = z.input<typeof uploadQuerySchema>;

const receiptFields = {
  transcript_id: transcriptIdField,
  session_id: sessionIdField,
  status: transcriptStatusSchema,
  sha256: sha256Field,
  size_bytes: countField.describe('Decoded'),
  duplicate: z.boolean().describe('The session has the same bytes already; nothing was added'),
};

export const uploadReceiptSchema = z
  .object(receiptFields)
  .meta({ id: 'UploadReceipt', description: 'A transcript that is stored for good, and will be ingested' });

export type UploadReceipt = z.infer<typeof uploadReceiptSchema>;

const pathOfPart = z.string().nullable().describe('File name of the part; null where it has none');

export const fileResultSchema = z
  .union([
    z.object({ path: pathOfPart, ...receiptFields }),
    z.object({ path: pathOfPart, error: problemSchema.describe('Why this file was not taken') }),
  ])
  .meta({ id: 'FileResult', description: 'What became of one file of a multipart upload' });

export type FileResult = z.infer<typeof fileResultSchema>;

const fileResults = z.array(fileResultSchema).describe('One for each file, in their order');

export const multipartReceiptSchema = z
  .object({ results: fileResults })
  .meta({ id: 'MultipartReceipt', description: 'What became of the files of a multipart upload' });

export type MultipartReceipt = z.infer<typeof multipartReceiptSchema>;

export const uploadProblemSchema = z
  .object({
    ...problemFields,
    results: fileResults
      .optional()
      .describe('Multipart: what became of the files before the one at which the upload ended'),
  })
  .meta({ id: 'UploadProblem', description: 'An upload that was not taken, or not to its end' });

export type UploadProblem = z.infer<typeof uploadProblemSchema>;
