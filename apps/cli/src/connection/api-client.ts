import { BackfillTargetError } from '@recount/collect/delivery-target';
import type { Problem } from '@recount/contract';
import { PROBLEM_MEDIA_TYPE, toProblemType } from '@recount/contract/problem-types';
import { UsageError } from '../terminal/cli-error.ts';
import { type HttpAnswer, sendRequest } from './send-request.ts';

export interface ApiPlace {
  /** Without a trailing slash. */
  url: string;
  key: string;
}

export interface ApiRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Parameters without a value are left out; a list sends the parameter several times. */
  query?: Record<string, string | number | readonly string[] | undefined>;
  headers?: Record<string, string>;
  body?: AsyncIterable<Uint8Array>;
  /** Sent after the body. */
  trailers?: (() => Record<string, string>) | undefined;
  /** Sent as JSON, instead of a body. */
  json?: unknown;
  signal?: AbortSignal | undefined;
}

export interface ApiClient {
  place: ApiPlace;
  /**
   * The answer's JSON, or its text; undefined for 404. Rejects with a BackfillTargetError for any other unsuccessful
   * status.
   */
  request<Answer>(path: string, request?: ApiRequest): Promise<Answer | undefined>;
}

const DENIED_STATUSES = new Set([401, 403]);
const PASSING_STATUSES = new Set([408, 425, 429]);
/** The connection broke or changed the bytes; the request itself was right. */
const PASSING_PROBLEMS: ReadonlySet<string | undefined> = new Set(
  (['upload-aborted', 'digest-mismatch'] as const).map(toProblemType),
);

export function createApiClient(place: ApiPlace): ApiClient {
  return {
    place,
    async request<Answer>(
      path: string,
      { method = 'GET', query = {}, headers, body, trailers, json, signal }: ApiRequest = {},
    ) {
      let answer: HttpAnswer;
      try {
        answer = await sendRequest(toUrl(place.url, path, query), {
          method,
          headers: {
            accept: 'application/json',
            authorization: `Bearer ${place.key}`,
            ...(json !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          body: json === undefined ? body : toJsonBody(json),
          trailers,
          signal,
        });
      } catch (cause) {
        signal?.throwIfAborted();
        throw new BackfillTargetError('unavailable', `Cannot reach ${place.url} (${toReason(cause)})`, { cause });
      }
      return readAnswer(answer, place.url) as Answer | undefined;
    },
  };
}

async function* toJsonBody(json: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(json));
}

/** Parameters without a value are left out. */
export function toUrl(base: string, path: string, query: NonNullable<ApiRequest['query']>): URL {
  const url = new URL(`${base}${path}`);
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(each));
  }
  return url;
}

/** If a name has several addresses, the error holds one for each. */
function toReason(error: unknown): string {
  const { code, message } = (error instanceof AggregateError ? error.errors[0] : error) as NodeJS.ErrnoException;
  return code ?? message;
}

/**
 * The JSON or text of an answer; undefined for 404. Throws UsageError for a wrong parameter or name, else
 * BackfillTargetError.
 */
export function readAnswer({ status, headers, text }: HttpAnswer, url: string): unknown {
  const type = headers['content-type']?.split(';')[0]?.trim();
  if (status === 204) return null;
  const isSuccess = status >= 200 && status < 300;
  if (isSuccess && type === 'application/json') return JSON.parse(text);
  // A document comes as a download; any other page is from a proxy.
  if (isSuccess && headers['content-disposition']?.startsWith('attachment')) return text;
  const problem = type === PROBLEM_MEDIA_TYPE ? (JSON.parse(text) as Problem) : undefined;
  // A wrong name comes with suggestions.
  if (status === 404 && problem?.candidates !== undefined) throw new UsageError(problem.detail);
  if (status === 404 && problem !== undefined) return undefined;
  if (problem !== undefined && isWrongCall(problem)) throw new UsageError(toProblemMessage(problem));
  const message = problem === undefined ? `${url} answers ${status}` : toProblemMessage(problem);
  if (PASSING_STATUSES.has(status) || status >= 500 || PASSING_PROBLEMS.has(problem?.type)) {
    const retryAfterMs = toMilliseconds(headers['retry-after']);
    throw new BackfillTargetError('unavailable', message, { retryAfterMs, isBusy: status === 429 });
  }
  if (problem === undefined) throw new BackfillTargetError('denied', `${message}, not as a recount API does`);
  throw new BackfillTargetError(DENIED_STATUSES.has(status) ? 'denied' : 'rejected', message);
}

/** Whether the user's own parameters are wrong. */
const isWrongCall = ({ type, errors = [] }: Problem): boolean =>
  type === toProblemType('unknown-name') ||
  (type === toProblemType('invalid-request') && errors.some(({ location }) => location === 'query'));

/** If parameters are invalid, says what is wrong with each. */
function toProblemMessage({ type, title, detail, errors = [] }: Problem): string {
  if (type === toProblemType('unknown-name')) return detail;
  const advice = type === toProblemType('missing-scope') ? toScopeAdvice(detail) : [];
  return [`${title}: ${detail}`, ...errors.map(({ field, message }) => `  ${field}: ${message}`), ...advice].join('\n');
}

/** How to get a key with the scope at the end of the problem's detail. */
function toScopeAdvice(detail: string): string[] {
  const scope = detail.split(' ').at(-1);
  return [
    `Set RECOUNT_API_KEY to a key that has it: \`recount keys create --name NAME --scopes ${scope}\` on the server makes one.`,
    ...(scope === 'read'
      ? ['A machine gets it when it connects, by `recount keys approve CODE --scopes ingest,read`.']
      : []),
  ];
}

/** Parses seconds or a date. */
function toMilliseconds(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
