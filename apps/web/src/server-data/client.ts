import type { BROWSER_REQUEST_HEADER, Problem, SIGNED_IN_PATH } from '@recount/contract';
import type { paths } from './openapi.d.ts';

type Path = keyof paths;
type Json<Body> = Body extends { content: { 'application/json': infer Content } } ? Content : never;
type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type Operation<P extends Path, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;
type Responses<P extends Path, M extends Method> = Operation<P, M> extends { responses: infer R } ? R : never;
type Answers<M extends Method> = {
  [P in Path]: { [Status in 200 | 201 | 202]: Json<Responses<P, M>[Status & keyof Responses<P, M>]> }[200 | 201 | 202];
};

type PathOf<M extends Method> = { [P in Path]: [Operation<P, M>] extends [never] ? never : P }[Path];

/** Routes that answer a GET with JSON. */
export type Route = { [P in Path]: [Answers<'get'>[P]] extends [never] ? never : P }[Path];
export type Answer<R extends Route> = Answers<'get'>[R];
/** Parameters without a value are left out. */
export type Query<R extends Path> =
  Operation<R, 'get'> extends { parameters: { query?: infer Fields } }
    ? { [Name in keyof NonNullable<Fields>]: NonNullable<Fields>[Name] | undefined }
    : never;
/** Values of `{…}` in a route. */
export type Parameters = Readonly<Record<string, string>>;
/** The body of a change. */
export type Body<R extends Path, M extends Method> =
  Operation<R, M> extends { requestBody?: infer Content } ? Json<NonNullable<Content>> : never;

/** The fault that the API names, or that it cannot be reached (status 0). */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly problem: Partial<Problem>;
  /** After how long the API asks to repeat the request. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, problem: Partial<Problem>, retryAfterSeconds?: string | null) {
    super(problem.detail ?? problem.title ?? 'The server cannot be reached');
    this.status = status;
    this.problem = problem;
    this.retryAfterMs = /^\d{1,6}$/.test(retryAfterSeconds ?? '') ? Number(retryAfterSeconds) * 1000 : undefined;
  }
}

const CSRF_HEADER: typeof BROWSER_REQUEST_HEADER = 'recount-request';
const SIGNED_IN: typeof SIGNED_IN_PATH = '/signed-in/';
const PAGE_KEY = 'recount-page';
/** Holds the secret of the page before the demo was opened in this browser. */
const OWN_PAGE_KEY = 'recount-own-page';

/**
 * Keeps the page's secret, which is part of the path of every request, in this origin's storage. Pages of other ports
 * cannot read it, so that their servers never get the cookie. Undefined forgets it.
 */
export function keepPageSecret(page: string | undefined): void {
  if (page === undefined) localStorage.removeItem(PAGE_KEY);
  else localStorage.setItem(PAGE_KEY, page);
}

/** Signs in to the demo; `leaveDemo` goes back to the sign-in before it. */
export function enterDemo(page: string): void {
  keepOwnPage();
  keepPageSecret(page);
}

/** Keeps the present sign-in for `leaveDemo`, so that signing in to the demo does not end it. */
export function keepOwnPage(): void {
  const own = localStorage.getItem(PAGE_KEY);
  if (own !== null) localStorage.setItem(OWN_PAGE_KEY, own);
  localStorage.removeItem(PAGE_KEY);
}

/** Goes back to the sign-in before the demo; without one, the user is signed out. */
export function leaveDemo(): void {
  keepPageSecret(localStorage.getItem(OWN_PAGE_KEY) ?? undefined);
  localStorage.removeItem(OWN_PAGE_KEY);
}

/** The path and query of a route for this signed-in browser. Parameters without a value are left out; lists are repeated. */
export function toUrl(route: Path, parameters: Parameters = {}, query: object = {}): string {
  const path = route.replace(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(parameters[name] ?? ''));
  const page = localStorage.getItem(PAGE_KEY) ?? '';
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) if (each !== undefined) search.append(name, String(each));
  }
  const text = search.toString();
  return `${/^[\w-]{43}$/.test(page) ? SIGNED_IN + page : ''}${path}${text && `?${text}`}`;
}

/** Requests a URL of `toUrl`. Throws ApiError. */
export async function request(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = { [CSRF_HEADER]: 'dashboard', ...init.headers };
  const response = await fetch(url, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, { detail: 'The server cannot be reached. Is recount still running?' });
  });
  if (response.ok) return response;
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
  throw new ApiError(response.status, problem, response.headers.get('retry-after'));
}

/** Sends a change. Throws ApiError. */
export async function send<M extends Exclude<Method, 'get'>, P extends PathOf<M>>(
  method: M,
  route: P,
  { parameters, body, headers }: { parameters?: Parameters; body?: Body<P, M>; headers?: Record<string, string> } = {},
): Promise<Answers<M>[P]> {
  const json = body !== undefined && { body: JSON.stringify(body) };
  const type = body !== undefined && { 'content-type': 'application/json' };
  // Browsers send the name of PATCH as it is written.
  const response = await request(toUrl(route, parameters), {
    method: method.toUpperCase(),
    ...json,
    headers: { ...type, ...headers },
  });
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as Answers<M>[P];
}

/** Requests a route. Throws ApiError. */
export async function get<R extends Route>(
  route: R,
  { parameters, query, signal }: { parameters?: Parameters; query?: Query<R>; signal?: AbortSignal } = {},
): Promise<Answer<R>> {
  const response = await request(toUrl(route, parameters, query), signal === undefined ? {} : { signal });
  return (await response.json()) as Answer<R>;
}
