import type { Database } from '../database/database.ts';
import { and, asc, eq, gt } from '../drizzle.cjs';
import { ingestIssues } from '../schema/messages.ts';

export type IssueRow = typeof ingestIssues.$inferSelect;

/**
 * Issues of a transcript, by its `row_set_id`, in the order of its lines, at most `limit`, after number `afterNumber`.
 */
export async function listIssues(
  database: Database,
  workspaceId: string,
  rowSetId: string,
  page: { afterNumber?: number | undefined; limit: number },
): Promise<IssueRow[]> {
  return await database
    .select()
    .from(ingestIssues)
    .where(
      and(
        eq(ingestIssues.workspace_id, workspaceId),
        eq(ingestIssues.row_set_id, rowSetId),
        page.afterNumber === undefined ? undefined : gt(ingestIssues.issue_number, page.afterNumber),
      ),
    )
    .orderBy(asc(ingestIssues.issue_number))
    .limit(page.limit);
}
