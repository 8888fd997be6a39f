import type { MeantNames, Problem } from '@recount/contract';
import { API_KEY_SCOPES } from '@recount/contract/access';
import { toProblemType } from '@recount/contract/problem-types';
import { UsageError } from '../terminal/cli-error.ts';
import { type HttpAnswer, sendRequest } from './send-request.ts';
import { readProblem, toDeliveryError } from './to-delivery-error.ts';

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
   * The answer's JSON, or its text; undefined for 404. Rejects with a DeliveryError for any other unsuccessful
   * status.
   */
  request<Answer>(path: string, request?: ApiRequest): Promise<Answer | undefined>;
}

export function createApiClient(place: ApiPlace): ApiClient {
  return {
    place,
    async request<Answer>(
      path: string,
      { method = 'GET', query = {}, headers, body, trailers, json, signal }: ApiRequest = {},
    ) {
      const answer = await sendRequest(toUrl(place.url, path, query), {
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

/**
 * The JSON or text of an answer; undefined for 404. Throws UsageError for a wrong parameter or name, also for a filter
 * that matches nothing, which a command line mistyped; else DeliveryError.
 */
export function readAnswer(answer: HttpAnswer, url: string): unknown {
  const { status, headers, text } = answer;
  if (status === 204) return null;
  const isSuccess = status >= 200 && status < 300;
  if (isSuccess && headers['content-type']?.split(';')[0]?.trim() === 'application/json') {
    return requireMatches(JSON.parse(text) as { filters?: Partial<MeantNames> });
  }
  // A document comes as a download; any other page is from a proxy.
  if (isSuccess && headers['content-disposition']?.startsWith('attachment')) return text;
  const problem = readProblem(answer);
  // A wrong name comes with suggestions.
  if (status === 404 && problem?.candidates !== undefined) throw new UsageError(problem.detail);
  if (status === 404 && problem !== undefined) return undefined;
  if (problem !== undefined && isWrongCall(problem)) throw new UsageError(toProblemMessage(problem));
  throw toDeliveryError(answer, url, problem, problem && toProblemMessage(problem));
}

/** Older servers answer no `filters`, or refuse such a name. */
function requireMatches<Answer extends { filters?: Partial<MeantNames> }>(answer: Answer): Answer {
  const { unmatched = [] } = answer.filters ?? {};
  if (unmatched.length > 0) throw new UsageError(unmatched.map(({ message }) => message).join('\n'));
  return answer;
}

/** True if the user's own parameters are wrong. */
const isWrongCall = ({ type, errors = [] }: Problem): boolean =>
  type === toProblemType('unknown-name') ||
  (type === toProblemType('invalid-request') && errors.some(({ location }) => location === 'query'));

/** If parameters are invalid, says what is wrong with each. */
function toProblemMessage({ type, title, detail, errors = [] }: Problem): string {
  if (type === toProblemType('unknown-name')) return detail;
  const advice = type === toProblemType('missing-scope') ? toScopeAdvice(detail) : [];
  return [`${title}: ${detail}`, ...errors.map(({ field, message }) => `  ${field}: ${message}`), ...advice].join('\n');
}

/** Advice to get a key with the scope at the end of the problem's detail; none if it ends otherwise. */
function toScopeAdvice(detail: string): string[] {
  const scope = detail.split(' ').at(-1);
  if (!API_KEY_SCOPES.some((each) => each === scope)) return [];
  return [
    `Set RECOUNT_API_KEY to a key that has it: \`recount keys create --name NAME --scopes ${scope}\` on the server makes one.`,
    ...(scope === 'read'
      ? ['A machine gets it when it connects, by `recount keys approve CODE --scopes ingest,read`.']
      : []),
  ];
}
