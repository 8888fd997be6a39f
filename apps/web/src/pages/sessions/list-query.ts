import type { SessionListQuery } from '@recount/contract';
import type { ViewQuery } from '../../parts/use-view.ts';
import type { Query } from '../../server-data/client.ts';
import { stringifySearch, type UrlState } from '../../ui/use-url-state.ts';

const PAGE_ROWS = 200;

/** Sort orders of the list. */
const SORTS = [
  'last_timestamp',
  'first_timestamp',
  'duration_ms',
  'total_messages',
  'tokens_out',
  'cost_estimate_usd',
] as const satisfies readonly NonNullable<SessionListQuery['sort']>[];
export type ListSort = (typeof SORTS)[number];

/** Filters set by links from other pages. They are shown only if set, and can be removed. */
export const LINKED_FILTERS = [
  ['tool', 'Tool'],
  ['program', 'Program'],
  ['mcp_server', 'MCP server'],
  ['skill', 'Skill'],
  ['subagent_type', 'Sub-agent'],
  ['file', 'File'],
  ['pull_request', 'Pull request'],
] as const;

/** Parameters of the list's URL, beside the time and filters that all pages keep. */
const LIST_NAMES = [
  ...['branch', 'prompt', 'subagents', 'is_starred', 'tag', 'min_cost_usd', 'max_cost_usd', 'sort', 'order'],
  ...LINKED_FILTERS.map(([name]) => name),
];

/** The part of a URL that says its list and the order of it. */
export const toListSearch = (state: UrlState): Record<string, string> =>
  Object.fromEntries(LIST_NAMES.flatMap((name) => (state[name] ? [[name, state[name]]] : [])));

/** True if filters of the list alone are set. */
export const hasListFilters = (state: UrlState): boolean =>
  Object.keys(toListSearch(state)).some((name) => !['sort', 'order'].includes(name));

/** The address of a session that was opened from the list. */
export const toSessionHref = (sessionId: string, state: UrlState): string =>
  `/sessions/${encodeURIComponent(sessionId)}${stringifySearch(toListSearch(state))}`;

/** The request for the list of a URL. */
export function toSessionQuery(state: UrlState, view: ViewQuery): Query<'/v1/sessions'> {
  const { branch, prompt, subagents = 'exclude', is_starred: starred, tag } = state;
  const { min_cost_usd: minCost, max_cost_usd: maxCost } = state;
  return {
    ...view,
    ...(branch && { branch }),
    ...(prompt && { prompt }),
    ...(starred && { is_starred: 'true' as const }),
    ...(tag && { tag }),
    ...(minCost && { min_cost_usd: Number(minCost) }),
    ...(maxCost && { max_cost_usd: Number(maxCost) }),
    ...Object.fromEntries(LINKED_FILTERS.flatMap(([name]) => (state[name] ? [[name, state[name]]] : []))),
    ...(subagents !== 'include' && { is_subagent: subagents === 'only' ? 'true' : 'false' }),
    sort: SORTS.find((sort) => sort === state.sort) ?? 'last_timestamp',
    order: state.order === 'asc' ? 'asc' : 'desc',
    totals: 'true',
    limit: PAGE_ROWS,
  };
}
