import type {
  ApiKeyList,
  AuditList,
  AuditQuery,
  BROWSER_REQUEST_HEADER,
  Ingestion,
  IssueList,
  IssueListQuery,
  LiveList,
  LiveListQuery,
  MaintenanceCheckList,
  MessageList,
  MessageListQuery,
  Outline,
  OutlineQuery,
  Problem,
  ReportAnswer,
  ReportName,
  ReportQueryInput,
  SearchQuery,
  SearchResultList,
  SessionChanges,
  SessionDetail,
  SessionList,
  SessionListQuery,
  ShareList,
  SIGNED_IN_PATH,
  SignInList,
  sessionTranscriptQuerySchema,
  shareListQuerySchema,
  Transcript,
  TranscriptList,
  TranscriptListQuery,
  Whoami,
  WorkspaceList,
  WorkspacePrices,
  WorkspaceSettings,
} from '@recount/contract';
import type { z } from 'zod';

type ReportRoutes = {
  [Name in ReportName as `/v1/analytics/${Name}`]: [ReportQueryInput<Name>, ReportAnswer<Name>];
};

/** The routes that the dashboard reads, with their queries and answers by the contract's schemas. */
interface Routes extends ReportRoutes {
  '/v1/whoami': [Record<never, never>, Whoami];
  '/v1/workspaces': [Record<never, never>, WorkspaceList];
  '/v1/checks': [Record<never, never>, MaintenanceCheckList];
  '/v1/keys': [Record<never, never>, ApiKeyList];
  '/v1/sign-ins': [Record<never, never>, SignInList];
  '/v1/audit': [AuditQuery, AuditList];
  '/v1/prices': [Record<never, never>, WorkspacePrices];
  '/v1/settings': [Record<never, never>, WorkspaceSettings];
  '/v1/sessions': [SessionListQuery, SessionList];
  '/v1/sessions/{session_id}': [Record<never, never>, SessionDetail];
  '/v1/sessions/{session_id}/messages': [MessageListQuery, MessageList];
  '/v1/sessions/{session_id}/outline': [OutlineQuery, Outline];
  '/v1/sessions/{session_id}/changes': [z.input<typeof sessionTranscriptQuerySchema>, SessionChanges];
  '/v1/sessions/{session_id}/subagents': [Pick<SessionListQuery, 'limit' | 'cursor' | 'sort' | 'order'>, SessionList];
  '/v1/transcripts': [TranscriptListQuery, TranscriptList];
  '/v1/transcripts/{transcript_id}': [Record<never, never>, Transcript];
  '/v1/transcripts/{transcript_id}/issues': [IssueListQuery, IssueList];
  '/v1/ingestion': [Record<never, never>, Ingestion];
  '/v1/shares': [z.input<typeof shareListQuerySchema>, ShareList];
  '/v1/search': [SearchQuery, SearchResultList];
  '/v1/live': [LiveListQuery, LiveList];
}

export type Route = keyof Routes;
export type Query<R extends Route> = Routes[R][0];
export type Answer<R extends Route> = Routes[R][1];
/** Values of `{…}` in a route. */
export type Parameters = Readonly<Record<string, string>>;

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

/**
 * Keeps the page's secret, which is part of the path of every request, in this origin's storage. Pages of other ports
 * cannot read it, so that their servers never get the cookie. Undefined forgets it.
 */
export function keepPageSecret(page: string | undefined): void {
  if (page === undefined) localStorage.removeItem(PAGE_KEY);
  else localStorage.setItem(PAGE_KEY, page);
}

/** The request path of a route, below the path of the signed-in page. */
function toSignedIn(path: string): string {
  const page = localStorage.getItem(PAGE_KEY) ?? '';
  return path.startsWith('/v1/') && /^[\w-]{43}$/.test(page) ? `${SIGNED_IN}${page}${path}` : path;
}

/** The path and query of a route for this signed-in browser. Parameters without a value are left out; lists are repeated. */
export function toUrl(route: string, parameters: Parameters = {}, query: object = {}): string {
  const filled = route.replace(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(parameters[name] ?? ''));
  const path = toSignedIn(filled);
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) if (each !== undefined) search.append(name, String(each));
  }
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Throws ApiError. */
export async function request(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = { [CSRF_HEADER]: 'dashboard', ...init.headers };
  const response = await fetch(toSignedIn(url), { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, { detail: 'The server cannot be reached. Is recount still running?' });
  });
  if (response.ok) return response;
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
  throw new ApiError(response.status, problem, response.headers.get('retry-after'));
}

/** Sends a change as JSON. Throws ApiError. */
export const send = (method: 'POST' | 'PUT' | 'DELETE', url: string, body?: object): Promise<Response> =>
  request(url, {
    method,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });

/** Requests a route. Throws ApiError. */
export async function get<R extends Route>(
  route: R,
  { parameters, query, signal }: { parameters?: Parameters; query?: Query<R>; signal?: AbortSignal } = {},
): Promise<Answer<R>> {
  const response = await request(toUrl(route, parameters, query), signal === undefined ? {} : { signal });
  return (await response.json()) as Answer<R>;
}
