import type { TitleSources } from '@recount/core';
import { opaqueWorkspaceId } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';

/** A row with `selectTitleSources(…) AS title_sources`. */
export type TitledRow = { title_sources: TitleSources };

/** The argument of `toSessionTitle` for a session, as JSON. Its table has the name `alias` in the query. */
export function selectTitleSources(workspaceId: string, alias: 'f' | 's' = 'f'): SQL {
  const session = sql.raw(alias);
  return sql`jsonb_build_object(
  'givenTitle', (
    SELECT a.given_title FROM recount.session_annotations AS a
    WHERE a.workspace_id = ${opaqueWorkspaceId(workspaceId)} AND a.session_id = ${session}.session_id),
  'agentTitle', ${session}.title, 'initialPrompt', ${session}.initial_prompt, 'sessionId', ${session}.session_id)`;
}
