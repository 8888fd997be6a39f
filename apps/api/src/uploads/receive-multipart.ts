import type { Multipart, MultipartFile } from '@fastify/multipart';
import type { FileResult, ProblemSlug, UploadReceipt } from '@recount/contract';
import { ProblemError, renderProblem } from '../problems/problem-error.ts';
import { toProblemError } from '../problems/to-problem-error.ts';
import { type BodyLimits, readBody, toAborted, waitForClient } from './read-body.ts';

export interface MultipartUpload {
  parts: AsyncIterator<Multipart>;
  limits: BodyLimits;
  /** From the query; a field of that name before the file does the same. */
  sessionId: string | undefined;
  requestId: string;
  receive: (file: {
    body: AsyncIterable<Uint8Array>;
    path: string | undefined;
    sessionId: string | undefined;
  }) => Promise<UploadReceipt>;
}

/** Problems of a single file, which do not affect those after it; any other problem ends the request. */
const FILE_PROBLEMS: ReadonlySet<ProblemSlug> = new Set([
  'empty-transcript',
  'unidentified-transcript',
  'unsupported-format',
  'invalid-session-id',
]);

/**
 * Receives the files of a multipart body one after the other. A file that cannot be accepted is read to its end and
 * reported in its place. Throws ProblemError, with the results so far, if the whole request cannot continue.
 */
export async function receiveMultipart(upload: MultipartUpload): Promise<FileResult[]> {
  const results: FileResult[] = [];
  try {
    let { sessionId } = upload;
    for (;;) {
      const next = upload.parts.next().catch((cause: unknown) => Promise.reject(toPartProblem(cause)));
      const step = await waitForClient(next, upload.limits);
      if (step.done) break;
      if (step.value.type === 'file') {
        results.push(await receivePart(upload, step.value, { sessionId, isFirst: results.length === 0 }));
      } else if (step.value.fieldname === 'session_id') {
        if (results.length > 0) throw malformed('The field session_id must come before the file');
        sessionId = String(step.value.value);
      }
    }
    if (results.length === 0) throw malformed('There is no file in it');
    return results;
  } catch (error) {
    const problem = toProblemError(error);
    const { slug, message, headers, cause } = problem;
    throw new ProblemError(slug, message, { headers, cause, extensions: { ...problem.extensions, results } });
  }
}

async function receivePart(
  { limits, requestId, receive }: MultipartUpload,
  { filename, file }: MultipartFile,
  { sessionId, isFirst }: { sessionId: string | undefined; isFirst: boolean },
): Promise<FileResult> {
  // A browser sends an empty name for a file input that was left empty.
  const path = filename || undefined;
  try {
    if (sessionId !== undefined && !isFirst) {
      throw new ProblemError('invalid-session-id', 'session_id is for a single file, and this is another');
    }
    const receipt = await receive({ body: readBody(file, limits, toPartProblem), path, sessionId });
    return { path: path ?? null, ...receipt };
  } catch (error) {
    const problem = toProblemError(error);
    if (!FILE_PROBLEMS.has(problem.slug)) throw problem;
    for await (const _rest of readBody(file, limits, toPartProblem));
    return { path: path ?? null, error: renderProblem(problem, requestId) };
  }
}

const PARSER_DETAILS: Readonly<Record<string, string>> = {
  FST_PARTS_LIMIT: 'It has too many parts',
  FST_FILES_LIMIT: 'It has too many files',
  FST_FIELDS_LIMIT: 'It has too many fields',
};
const ABORT_CODES = new Set(['FST_MP_PREMATURE_CLOSE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE']);

/** The meaning of an error of the multipart parser, or of a file it was reading for the request. */
function toPartProblem(cause: unknown): ProblemError {
  const { code = '' } = cause as { code?: string };
  if (ABORT_CODES.has(code)) return toAborted(cause);
  return malformed(PARSER_DETAILS[code] ?? 'Its parts or its end are malformed', cause);
}

function malformed(detail: string, cause?: unknown): ProblemError {
  return new ProblemError('malformed-multipart', detail, { cause });
}
