import { z } from 'zod';
import {
  countField,
  MAX_PATH_LENGTH,
  machineParameter,
  personParameter,
  sessionIdField,
  sha256Field,
  text,
  transcriptIdField,
} from './fields.ts';
import { problemFields, problemSchema } from './problem.ts';
import { transcriptStatusSchema } from './transcripts.ts';

export const UPLOAD_ENCODINGS = ['gzip', 'br', 'zstd'] as const;
export type UploadEncoding = (typeof UPLOAD_ENCODINGS)[number];

/** Maximum number of files in one multipart upload. */
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
      'Original path of the file, which decides main session or sub-agent and parent session. In a multipart upload each part names its own',
    ),
  agent: z
    .string()
    .max(100)
    .optional()
    .describe(
      'Id of the agent whose transcript it is, whatever its lines look like. By default detected from lines and path; a transcript that neither identifies is refused',
    ),
  machine: machineParameter.optional().describe('Name of the machine that the session ran on'),
  person: personParameter
    .optional()
    .describe('Whose session it is, such as an email address; a key made for a person takes precedence'),
  repository: text(MAX_PATH_LENGTH)
    .optional()
    .describe(
      'Address of the remote of the repository that the session ran in, or the absolute path of its main folder if it has none. Credentials in it are removed. In a multipart upload, of all files',
    ),
  worktree: text(MAX_PATH_LENGTH)
    .optional()
    .describe('Folder of the worktree of that repository. In a multipart upload, of all files'),
});

/** In lower case. For an upload that continues a stored transcript. */
export const continuationHeadersSchema = z.looseObject({
  'recount-offset': z.coerce
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .describe('Where the body begins, in bytes, which is the size of the stored transcript'),
  'recount-sha256': sha256Field.describe('SHA-256 of the resulting whole transcript, including the stored bytes'),
});

/** As a client writes it. */
export type UploadQuery = z.input<typeof uploadQuerySchema>;

const digestField = 'e.g. `sha-256=:…:`; also sha-512. If it is wrong, nothing is stored';

/** In lower case, as Node gives them. Checked while they arrive, not by this schema. */
export const uploadHeadersSchema = z.looseObject({
  'content-digest': z
    .string()
    .optional()
    .describe(`Digest of the body as sent, before Content-Encoding is decoded (RFC 9530), ${digestField}`),
  'repr-digest': z.string().optional().describe('As Content-Digest, and over the same bytes'),
  'unencoded-digest': z
    .string()
    .optional()
    .describe(`Digest of the transcript, after Content-Encoding was decoded, ${digestField}`),
  'x-amz-checksum-sha256': z.string().optional().describe('Checksum of the body as sent, in base64'),
});

/**
 * The outcome for an upload's bytes. `stored` bytes are new. For `duplicate`, the stored ones were read and are intact.
 * For `healed`, the stored ones were lost or damaged, and these replaced them. For `expired`, retention had deleted
 * them.
 */
const RAW_OBJECT_OUTCOMES = ['stored', 'duplicate', 'healed', 'expired'] as const;
export type RawObjectOutcome = (typeof RAW_OBJECT_OUTCOMES)[number];

const receiptFields = {
  transcript_id: transcriptIdField,
  session_id: sessionIdField,
  status: transcriptStatusSchema,
  sha256: sha256Field,
  size_bytes: countField.describe('Decoded'),
  duplicate: z.boolean().describe('The session has the same bytes already; nothing was added'),
  raw_object: z
    .enum(RAW_OBJECT_OUTCOMES)
    .describe(
      [
        '`stored` means the bytes are new.',
        '`duplicate` means the stored ones were read and compared, and are intact.',
        '`healed` means the stored ones were lost or damaged, and were replaced by these.',
        '`expired` means retention has deleted the stored ones, and nothing was stored.',
      ].join(' '),
    ),
};

export const uploadReceiptSchema = z
  .object(receiptFields)
  .meta({ id: 'UploadReceipt', description: 'A transcript that is stored permanently, and will be ingested' });

export type UploadReceipt = z.infer<typeof uploadReceiptSchema>;

const pathOfPart = z.string().nullable().describe('File name of the part; null if it has none');

const fileResultSchema = z
  .union([
    z.object({ path: pathOfPart, ...receiptFields }),
    z.object({ path: pathOfPart, error: problemSchema.describe('Why this file was refused') }),
  ])
  .meta({ id: 'FileResult', description: 'The outcome of one file of a multipart upload' });

export type FileResult = z.infer<typeof fileResultSchema>;

const fileResults = z.array(fileResultSchema).describe('One for each file, in their order');

export const multipartReceiptSchema = z
  .object({ results: fileResults })
  .meta({ id: 'MultipartReceipt', description: 'The outcomes of the files of a multipart upload' });

export const uploadProblemSchema = z
  .object({
    ...problemFields,
    results: fileResults
      .optional()
      .describe('The outcomes of the files of a multipart upload, before the file where the upload ended'),
  })
  .meta({ id: 'UploadProblem', description: 'An upload that was refused, or not completed' });

export type UploadProblem = z.infer<typeof uploadProblemSchema>;
