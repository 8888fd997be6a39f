import { type SQL, sql } from '../drizzle.cjs';
import { isInWorkspace } from '../planner.ts';

/** Which sessions' findings: some, or all of a workspace. */
export interface FindingScope {
  workspaceId: string;
  /** Undefined: all sessions of the workspace. */
  sessionIds?: readonly string[] | undefined;
  /** What is touched of the one session, which grew. Undefined: all. */
  touched?: TouchedFindings | undefined;
}

/** Outside of this, the repeats and cold caches of a session that grew stay what they are. */
export interface TouchedFindings {
  /** The session's only row set. */
  rowSetId: string;
  /** When the first of the responses that came, changed or went was made, in milliseconds since 1970. Null: none names a time. */
  firstResponseMs: number | null;
  /** Null: no call came, changed or went. */
  calls: TouchedCalls | null;
}

/** Calls that came, changed or went, and the calls before them that may belong to a run with them. */
interface TouchedCalls {
  /** Lines from which on they are, of the main conversation and of sub-agents: no run goes over one of these. */
  firstMainLine: number;
  firstSubagentLine: number;
  /** The line from which on each file that they name is read anew: that of its last edit before them, or 0. */
  firstLineByFile: Readonly<Record<string, number>>;
}

/** Condition on the rows of a table: they belong to the scope's sessions. */
export const isInScope = (alias: string, { workspaceId, sessionIds }: FindingScope): SQL =>
  sessionIds === undefined
    ? sql`${sql.raw(alias)}.workspace_id = ${workspaceId}`
    : isInWorkspace(alias, 'session_id', workspaceId, sessionIds);

/** Condition on a row (`alias` of tool_calls or findings): in its conversation it is not before the touched calls' runs. */
export const isInTouchedRun = (alias: string, { firstMainLine, firstSubagentLine }: TouchedCalls): SQL => {
  const [line, isSubagent] = [sql.raw(`${alias}.line_number`), sql.raw(`${alias}.is_subagent`)];
  return sql`(${line} >= CASE WHEN ${isSubagent} THEN ${firstSubagentLine}::int ELSE ${firstMainLine}::int END)`;
};

/** Condition on a row (`alias` of tool_calls or findings): `file`, its column, is one of the touched calls', and was not edited since. */
export const isOfTouchedFile = (alias: string, file: string, { firstLineByFile }: TouchedCalls): SQL => {
  const [line, path] = [sql.raw(`${alias}.line_number`), sql.raw(`${alias}.${file}`)];
  return sql`${line} >= (${JSON.stringify(firstLineByFile)}::jsonb ->> ${path})::int`;
};

/** A time in milliseconds since 1970, for comparisons. */
export const toTime = (timeMs: number): SQL => sql`${new Date(timeMs).toISOString()}::timestamptz`;
