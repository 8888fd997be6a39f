import type { Database } from '../database/database.ts';
import { and, arrayContains, desc, eq, gte, lt } from '../drizzle.cjs';
import { auditLog } from './audit-log-schema.ts';

export type AuditRow = typeof auditLog.$inferSelect;

export interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
  /** The id of something that was changed. */
  subject?: string | undefined;
  /** ISO 8601; from then on, and before. */
  from?: string | undefined;
  to?: string | undefined;
}

/** A page of what was changed in a workspace, the latest first; after the entry `afterId` where that is given. */
export async function listAuditEntries(
  database: Database,
  workspaceId: string,
  { actor, action, subject, from, to }: AuditFilter,
  { afterId, limit }: { afterId?: string | undefined; limit: number },
): Promise<AuditRow[]> {
  return await database
    .select()
    .from(auditLog)
    .where(
      and(
        eq(auditLog.workspace_id, workspaceId),
        afterId === undefined ? undefined : lt(auditLog.id, afterId),
        actor === undefined ? undefined : eq(auditLog.actor, actor),
        action === undefined ? undefined : eq(auditLog.action, action),
        subject === undefined ? undefined : arrayContains(auditLog.subjects, [subject]),
        from === undefined ? undefined : gte(auditLog.at, from),
        to === undefined ? undefined : lt(auditLog.at, to),
      ),
    )
    .orderBy(desc(auditLog.id))
    .limit(limit);
}
