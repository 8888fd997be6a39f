import { isInWorkspace } from '../database/planner.ts';
import { type SQL, sql } from '../drizzle.cjs';

/** Which sessions' findings, some, or all of a workspace. */
export interface FindingScope {
  workspaceId: string;
  /** Undefined means all sessions of the workspace. */
  sessionIds?: readonly string[] | undefined;
  /** Limits the scope to what changed in its only session, which grew. Undefined means everything. */
  touched?: TouchedFindings | undefined;
}

/**
 * Everything that the growth of a session can have affected. All other repeats and cold caches of the session remain
 * valid.
 */
export interface TouchedFindings {
  /** The session's only row set. */
  rowSetId: string;
  /**
   * Time of the first response that was added, changed or removed, in milliseconds since 1970. Null means that none has
   * a time.
   */
  firstResponseMs: number | null;
  /** Null means that no call was added, changed or removed. */
  calls: TouchedCalls | null;
}

/** Calls that were added, changed or removed, and the calls before them that may be part of the same run. */
interface TouchedCalls {
  /** First lines of these calls, in the main conversation and in sub-agents. No run crosses one of these lines. */
  firstMainLine: number;
  firstSubagentLine: number;
  /**
   * For each file that these calls use, the line where the next examination of its reads begins. This is its last edit
   * before them, or 0.
   */
  firstLineByFile: Readonly<Record<string, number>>;
}

/** Condition on the rows of a table that belong to the scope's sessions. */
export const isInScope = (alias: string, { workspaceId, sessionIds }: FindingScope): SQL =>
  sessionIds === undefined
    ? sql`${sql.raw(alias)}.workspace_id = ${workspaceId}`
    : isInWorkspace(alias, 'session_id', workspaceId, sessionIds);

/**
 * Condition on a row (`alias` of tool_calls or findings) that is within its conversation and not before the touched
 * runs.
 */
export const isInTouchedRun = (alias: string, { firstMainLine, firstSubagentLine }: TouchedCalls): SQL => {
  const [line, isSubagent] = [sql.raw(`${alias}.line_number`), sql.raw(`${alias}.is_subagent`)];
  return sql`(${line} >= CASE WHEN ${isSubagent} THEN ${firstSubagentLine}::int ELSE ${firstMainLine}::int END)`;
};

/**
 * Condition on a row (`alias` of tool_calls or findings) whose column `file` names a file of the touched calls and that
 * is not before that file's first line.
 */
export const isOfTouchedFile = (alias: string, file: string, { firstLineByFile }: TouchedCalls): SQL => {
  const [line, path] = [sql.raw(`${alias}.line_number`), sql.raw(`${alias}.${file}`)];
  return sql`${line} >= (${JSON.stringify(firstLineByFile)}::jsonb ->> ${path})::int`;
};

/** A time in milliseconds since 1970, for comparisons. */
export const toTime = (timeMs: number): SQL => sql`${new Date(timeMs).toISOString()}::timestamptz`;
