import type { FieldError, ProblemSlug } from '@recount/contract';
import {
  findLostNode,
  isDatabaseFull,
  isDatabaseUnavailable,
  NAME_PARAMETERS,
  PeopleError,
  type PeopleErrorCode,
  UnresolvedNameError,
} from '@recount/db';
import { ReceiveError, type ReceiveErrorCode } from '@recount/ingest';
import { RawStoreError } from '@recount/storage';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { ProblemError } from './problem-error.ts';

const RECEIVE_SLUGS: Record<ReceiveErrorCode, ProblemSlug> = {
  'too-large': 'transcript-too-large',
  empty: 'empty-transcript',
  unidentified: 'unidentified-transcript',
  'unsupported-format': 'unsupported-format',
  'invalid-session-id': 'invalid-session-id',
};

const FRAMEWORK_SLUGS: Readonly<Record<string, ProblemSlug>> = {
  FST_ERR_BAD_URL: 'invalid-request',
  FST_ERR_MAX_PARAM_LENGTH: 'uri-too-long',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
};

const FRAMEWORK_DETAILS: Partial<Record<ProblemSlug, string>> = {
  'uri-too-long': 'A part of the path is longer than any id',
  'unsupported-media-type': 'The Content-Type header cannot be read',
};

const RETRY_AFTER = { 'retry-after': '5' };
/** Someone has to free up space. */
const RETRY_AFTER_FULL = { 'retry-after': '30' };

const STORE_DENIED = 'The server may not use its raw store. Its operator must give it access to the folder or bucket';

/** 507: the raw store is full. */
export function createStoreFull(cause?: unknown): ProblemError {
  const detail = 'The server’s operator must free space in it';
  return new ProblemError('store-full', detail, { headers: RETRY_AFTER_FULL, cause });
}

/** 503: the database is full. */
export function createDatabaseFull(cause?: unknown): ProblemError {
  const detail = 'The server’s operator must free space on its disk';
  return new ProblemError('database-full', detail, { headers: RETRY_AFTER_FULL, cause });
}

/** The answer to the client for any error; unknown ones become `internal-error` without details. */
export function toProblemError(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof ReceiveError) return new ProblemError(RECEIVE_SLUGS[error.code], error.message);
  if (error instanceof UnresolvedNameError) return toUnknownName(error);
  if (error instanceof PeopleError) return toPeopleProblem(error);
  if (error instanceof RawStoreError) {
    if (error.code === 'not-found') {
      const detail = 'The raw store lacks the bytes. Uploading the same file again restores them';
      return new ProblemError('raw-object-lost', detail, { cause: error });
    }
    if (!error.retryable) return toInternalError(error);
    if (error.code === 'out-of-space') return createStoreFull(error);
    const detail = error.code === 'denied' ? STORE_DENIED : 'The API cannot reach the raw store';
    return new ProblemError('store-unavailable', detail, { headers: RETRY_AFTER, cause: error });
  }
  if (isDatabaseFull(error)) return createDatabaseFull(error);
  if (isDatabaseUnavailable(error)) {
    const node = findLostNode(error);
    const detail =
      node === undefined
        ? 'The API cannot reach the database'
        : `The node ${node} of the database’s cluster does not answer; try again when it has started`;
    return new ProblemError('database-unavailable', detail, { headers: RETRY_AFTER, cause: error });
  }
  return toFrameworkProblem(error) ?? toInternalError(error);
}

function toUnknownName({ field, message, candidates }: UnresolvedNameError): ProblemError {
  const errors = [{ location: 'query' as const, field: NAME_PARAMETERS[field], message }];
  return new ProblemError('unknown-name', message, { extensions: { errors, candidates: [...candidates] } });
}

const PEOPLE_SLUGS: Record<PeopleErrorCode, ProblemSlug> = {
  'name-taken': 'name-taken',
  'unknown-name': 'unknown-name',
  'team-in-use': 'team-in-use',
  merged: 'already-merged',
  invalid: 'invalid-request',
};

function toPeopleProblem({ code, field, message }: PeopleError): ProblemError {
  const errors = [{ location: 'body' as const, field, message }];
  return new ProblemError(PEOPLE_SLUGS[code], message, { extensions: { errors } });
}

function toInternalError(cause: unknown): ProblemError {
  return new ProblemError('internal-error', 'Something went wrong; see the server’s log', { cause });
}

function toFrameworkProblem(error: unknown): ProblemError | undefined {
  if (hasZodFastifySchemaValidationErrors(error)) {
    const errors = error.validation.map((issue) => toFieldError(error.validationContext, issue));
    const names = errors.map(({ field }) => field).join(', ');
    return new ProblemError('invalid-request', `Not valid: ${names}`, { extensions: { errors } });
  }
  if (!(error instanceof Error)) return undefined;
  const { code, statusCode } = error as Error & { code?: unknown; statusCode?: unknown };
  if (typeof code !== 'string' || typeof statusCode !== 'number' || statusCode >= 500) return undefined;
  const slug = FRAMEWORK_SLUGS[code] ?? 'invalid-request';
  return new ProblemError(slug, FRAMEWORK_DETAILS[slug] ?? 'The request cannot be read');
}

const LOCATIONS: Readonly<Record<string, FieldError['location']>> = {
  querystring: 'query',
  params: 'path',
  headers: 'headers',
};
const MAX_FIELD_NAME_LENGTH = 100;

interface ValidationIssue {
  keyword: string;
  instancePath: string;
  message?: string | undefined;
  params?: Record<string, unknown>;
}

/** The schemas' messages name what was expected, never what was received. */
function toFieldError(context: string | undefined, issue: ValidationIssue): FieldError {
  const location = LOCATIONS[context ?? ''] ?? 'body';
  const unknownKeys = issue.keyword === 'unrecognized_keys' ? issue.params?.keys : undefined;
  if (Array.isArray(unknownKeys)) {
    return { location, field: toFieldName(unknownKeys.join(', ')), message: 'There is no such parameter' };
  }
  const field = issue.instancePath.split('/')[1] ?? '';
  return { location, field: toFieldName(field), message: issue.message ?? 'Not valid' };
}

function toFieldName(name: string): string {
  return name.slice(0, MAX_FIELD_NAME_LENGTH);
}
