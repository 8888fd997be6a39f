import { searchQuerySchema, searchResultListSchema } from '@recount/contract';
import { parseSearchTarget, SEARCH_ISSUES, SearchTimeoutError, searchTranscripts } from '@recount/db';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import { invalidCursor, parseCursor, toCursor } from '../paging/list-pages.ts';
import { workspaceOf } from '../plugins/authentication.ts';
import { ProblemError } from '../problems/problem-error.ts';
import { toMeantNames } from './analytics.ts';

/** Each one holds a Postgres connection for up to five seconds; other requests need some too. */
const MAX_CONCURRENT_SEARCHES = 4;
const RETRY_AFTER = { 'retry-after': '1' };

const identifier = z.string().regex(/^[^\0]*$/);
/** The sort order is part of the cursor, because its position means nothing in another one. */
const cursorSchema = z.strictObject({
  sort: z.string(),
  rank: z.number(),
  // Postgres has no year 0.
  timestamp: z.iso
    .datetime()
    .regex(/^(?!0000)/)
    .nullable(),
  sessionId: identifier,
  messageId: identifier,
  blockOrder: z.int32(),
});

const SEARCH = {
  config: { scope: 'read', reveals: 'texts', isLimitable: true },
  schema: {
    operationId: 'search',
    summary: 'Search prompts, answers, thinking, tool inputs and results',
    description: `In the primary transcripts of all sessions, some seconds after their ingestion. Text mode ranks prompts before answers before tool output, and the newer of two equal matches first; it finds whole words, in upper or lower case. Names like \`snake_case\` and paths by their parts, \`camelCase\` by the whole or its parts. Copies of a text in forks are one result.`,
    tags: ['sessions'],
    querystring: searchQuerySchema,
    response: { 200: searchResultListSchema },
  },
} as const;

/** Search in the texts of all sessions. */
export function addSearchRoutes(app: ApiApp, deps: Pick<ApiDependencies, 'database'>): void {
  const { database } = deps;
  let underWay = 0;

  app.get('/v1/search', SEARCH, async (request) => {
    const { q, mode, sort, kind, limit, cursor, ...query } = request.query;
    const workspaceId = workspaceOf(request);
    const onlyNames = request.onlyNames ?? undefined;
    const target = parseSearchTarget(mode, q);
    if (typeof target === 'string') throw invalidQuery(SEARCH_ISSUES[target]);
    const order = `${mode} ${sort}`;
    const after = parseCursor(cursorSchema, cursor);
    if (after !== undefined && after.sort !== order) throw invalidCursor();
    if (underWay >= MAX_CONCURRENT_SEARCHES) {
      const detail = `At most ${MAX_CONCURRENT_SEARCHES} searches at a time; try again`;
      throw new ProblemError('too-many-requests', detail, { headers: RETRY_AFTER });
    }
    underWay++;
    try {
      const {
        time_zone: timeZone,
        git_branch: gitBranch,
        session_id: sessionId,
        kind_of_work: kindOfWork,
        ...rest
      } = query;
      const kinds = kind === undefined ? undefined : [kind].flat();
      const wanted = { ...rest, timeZone, gitBranch, kindOfWork, sessionId, kinds, onlyNames };
      const found = await searchTranscripts(database, workspaceId, target, wanted, { sort, limit, after });
      return {
        results: found.results,
        match_count: found.matchCount,
        is_match_count_capped: found.isMatchCountCapped,
        waiting_sessions: found.waitingSessions,
        filters: toMeantNames(found.names, found.unmatched),
        next_cursor: found.next === undefined ? null : toCursor({ sort: order, ...found.next }),
      };
    } catch (error) {
      if (!(error instanceof SearchTimeoutError)) throw error;
      const detail = 'Narrow it down with more or longer words, a session, a project, or a time';
      throw new ProblemError('search-timeout', detail, { headers: RETRY_AFTER, cause: error });
    } finally {
      underWay--;
    }
  });
}

function invalidQuery(message: string): ProblemError {
  const errors = [{ location: 'query' as const, field: 'q', message }];
  return new ProblemError('invalid-request', 'Not valid: q', { extensions: { errors } });
}
