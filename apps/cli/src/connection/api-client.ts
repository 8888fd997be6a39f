import { PROBLEM_MEDIA_TYPE, type Problem } from '@recount/contract';
import { BackfillTargetError } from '@recount/ingest';

export interface ApiPlace {
  /** Without a slash at the end. */
  url: string;
  key: string;
}

export interface ApiRequest {
  method?: 'GET' | 'POST';
  /** Parameters without a value are left out; several values of one name are all sent. */
  query?: Record<string, string | number | readonly string[] | undefined>;
  headers?: Record<string, string>;
  body?: AsyncIterable<Uint8Array>;
  signal?: AbortSignal | undefined;
}

export interface ApiClient {
  place: ApiPlace;
  /** The answer's JSON; undefined for 404. Rejects with a BackfillTargetError for any other answer that is no success. */
  request<Answer>(path: string, request?: ApiRequest): Promise<Answer | undefined>;
}

const DENIED_STATUSES = new Set([401, 403]);
const PASSING_STATUSES = new Set([408, 425, 429]);
/** The connection broke off, rather than anything being wrong with what was sent. */
const PASSING_PROBLEM = 'urn:recount:problem:upload-aborted';

export function createApiClient(place: ApiPlace): ApiClient {
  return {
    place,
    async request<Answer>(path: string, { method = 'GET', query = {}, headers, body, signal }: ApiRequest = {}) {
      let response: Response;
      try {
        response = await fetch(toUrl(place.url, path, query), {
          method,
          headers: { accept: 'application/json', authorization: `Bearer ${place.key}`, ...headers },
          ...(body && { body, duplex: 'half' as const }),
          ...(signal && { signal }),
        });
      } catch (cause) {
        signal?.throwIfAborted();
        throw new BackfillTargetError('unavailable', `Cannot reach ${place.url}${toReason(cause)}`, { cause });
      }
      return (await readAnswer(response, place.url)) as Answer | undefined;
    },
  };
}

function toUrl(base: string, path: string, query: NonNullable<ApiRequest['query']>): URL {
  const url = new URL(`${base}${path}`);
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(each));
  }
  return url;
}

/** `fetch failed` says nothing; the system's code is in its cause. */
function toReason(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? ` (${cause.code})` : '';
}

async function readAnswer(response: Response, url: string): Promise<unknown> {
  const type = response.headers.get('content-type')?.split(';')[0];
  try {
    if (response.ok && type === 'application/json') return await response.json();
    const problem = type === PROBLEM_MEDIA_TYPE ? ((await response.json()) as Problem) : undefined;
    if (problem === undefined) await response.body?.cancel();
    if (response.status === 404 && problem !== undefined) return undefined;
    throw toTargetError(response, problem, url);
  } catch (cause) {
    if (cause instanceof BackfillTargetError) throw cause;
    throw new BackfillTargetError('unavailable', `The answer of ${url} broke off${toReason(cause)}`, { cause });
  }
}

function toTargetError(response: Response, problem: Problem | undefined, url: string): BackfillTargetError {
  const { status } = response;
  const message = problem === undefined ? `${url} answers ${status}` : `${problem.title}: ${problem.detail}`;
  if (PASSING_STATUSES.has(status) || status >= 500 || problem?.type === PASSING_PROBLEM) {
    const retryAfterMs = toMilliseconds(response.headers.get('retry-after'));
    return new BackfillTargetError('unavailable', message, { retryAfterMs });
  }
  if (problem === undefined) return new BackfillTargetError('denied', `${message}, and not as a recount API does`);
  return new BackfillTargetError(DENIED_STATUSES.has(status) ? 'denied' : 'rejected', message);
}

/** Seconds, or a date. */
function toMilliseconds(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
