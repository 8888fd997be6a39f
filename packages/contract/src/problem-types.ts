export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** Every kind of problem that the API answers with. The slug ends its `type`, and never changes between versions. */
export const PROBLEMS = {
  'invalid-request': { status: 400, title: 'The request is not valid' },
  'invalid-cursor': { status: 400, title: 'The cursor is not one of this list' },
  'broken-encoding': { status: 400, title: 'The body does not match its Content-Encoding' },
  'invalid-digest': { status: 400, title: 'The digest cannot be checked' },
  'digest-mismatch': { status: 400, title: 'The body does not match its digest' },
  'upload-aborted': { status: 400, title: 'The body ended before it was complete' },
  'malformed-multipart': { status: 400, title: 'The multipart body cannot be read' },
  'missing-key': { status: 401, title: 'No API key' },
  'invalid-key': { status: 401, title: 'The API key is not valid' },
  'expired-key': { status: 401, title: 'The API key has expired' },
  'sign-in-failed': { status: 401, title: 'The sign-in failed' },
  'missing-scope': { status: 403, title: 'The API key lacks a scope' },
  'machine-refused': { status: 403, title: 'The machine may not enrol' },
  'sign-in-refused': { status: 403, title: 'The account may not sign in' },
  'cross-origin-request': { status: 403, title: 'The request does not come from the dashboard' },
  'not-found': { status: 404, title: 'Not found' },
  expired: { status: 410, title: 'Deleted, as the workspace keeps it no longer' },
  'raw-object-lost': { status: 410, title: 'The raw bytes are missing' },
  'method-not-allowed': { status: 405, title: 'The method is not allowed here' },
  'request-timeout': { status: 408, title: 'The request took too long to arrive' },
  'upload-idle': { status: 408, title: 'The upload stalled for too long' },
  'not-continued': { status: 409, title: 'The stored transcript does not end there' },
  'offset-mismatch': { status: 409, title: 'The stream is stored up to another offset' },
  'stream-conflict': { status: 409, title: 'The stream has other bytes there' },
  'stream-closed': { status: 409, title: 'The stream is closed' },
  'stream-taken-over': { status: 409, title: 'Another request continues the stream' },
  'bill-regrouped': { status: 409, title: 'The lines are grouped otherwise than those that are stored' },
  'check-running': { status: 409, title: 'A check of this kind is running' },
  'default-workspace': { status: 409, title: 'The default workspace and the demo keep their names' },
  'name-taken': { status: 409, title: 'The name is taken' },
  'no-secret-key': { status: 409, title: 'The server has no key for secrets' },
  'too-many-machines': { status: 409, title: 'The key has enrolled as many machines as it may' },
  'too-many-digests': { status: 409, title: 'The workspace has as many digests as are allowed' },
  'too-many-destinations': { status: 409, title: 'The workspace has as many destinations as are allowed' },
  'too-many-budgets': { status: 409, title: 'The workspace has as many budgets as are allowed' },
  'destination-in-use': { status: 409, title: 'A budget or digest has no other destination' },
  'team-in-use': { status: 409, title: 'People are or were in the team' },
  'already-merged': { status: 409, title: 'The person is merged already' },
  'no-sign-in-link': { status: 409, title: 'A link cannot sign in with this key' },
  'no-rows': { status: 409, title: 'The transcript has no separate rows' },
  'rename-conflict': { status: 409, title: 'The repositories cannot be renamed' },
  'request-too-large': { status: 413, title: 'The request is too large' },
  'stream-too-large': { status: 413, title: 'The stream is too large' },
  'transcript-too-large': { status: 413, title: 'The transcript is too large' },
  'uri-too-long': { status: 414, title: 'The URI is too long' },
  'unsupported-encoding': { status: 415, title: 'The Content-Encoding is not supported' },
  'unsupported-media-type': { status: 415, title: 'The Content-Type is not supported' },
  'range-not-satisfiable': { status: 416, title: 'The range is outside the transcript' },
  'unidentified-transcript': { status: 422, title: 'The transcript’s session cannot be determined' },
  'empty-transcript': { status: 422, title: 'The transcript is empty' },
  'unsupported-format': { status: 422, title: 'Not recognised as a transcript that recount reads' },
  'unknown-name': { status: 422, title: 'The name is unknown, or matches several' },
  'invalid-session-id': { status: 422, title: 'The session id is not valid' },
  'too-many-failed-keys': { status: 429, title: 'Too many requests with a wrong API key' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'too-many-checks': { status: 429, title: 'Too many concurrent checks' },
  'too-many-exports': { status: 429, title: 'Too many concurrent exports' },
  'too-many-readers': { status: 429, title: 'Too many concurrent readers of events' },
  'too-many-streams': { status: 429, title: 'Too many concurrent streams' },
  'too-many-uploads': { status: 429, title: 'Too many concurrent uploads' },
  'headers-too-large': { status: 431, title: 'The request headers are too large' },
  'internal-error': { status: 500, title: 'Internal error' },
  'provider-unavailable': { status: 503, title: 'The sign-in provider cannot be reached' },
  'store-unavailable': { status: 503, title: 'The raw store is unavailable' },
  'database-unavailable': { status: 503, title: 'The database is unavailable' },
  'database-full': { status: 503, title: 'The database has no space left' },
  'report-timeout': { status: 503, title: 'The report takes too long' },
  'search-timeout': { status: 503, title: 'The search takes too long' },
  'not-ready': { status: 503, title: 'Not ready' },
  'store-full': { status: 507, title: 'The raw store has no space left' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemSlug = keyof typeof PROBLEMS;

const TYPE_PREFIX = 'urn:recount:problem:';

/** The `type` of a problem, e.g. `urn:recount:problem:not-found`. */
export const toProblemType = (slug: ProblemSlug): string => TYPE_PREFIX + slug;

/** The slug of a problem's `type`; undefined for one that this version does not know. */
export function toProblemSlug(type: string): ProblemSlug | undefined {
  const slug = type.startsWith(TYPE_PREFIX) ? type.slice(TYPE_PREFIX.length) : '';
  return Object.hasOwn(PROBLEMS, slug) ? (slug as ProblemSlug) : undefined;
}
