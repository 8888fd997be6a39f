import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { and, arrayContains, desc, eq, gte, lt } from '../drizzle.cjs';
import { auditLog } from '../schema/workspaces.ts';

/** `system` is recount itself, e.g. a worker that deletes by age. */
export type Actor = `key:${string}` | `operator:${string}` | 'system';

export const toKeyActor = (keyId: string): Actor => `key:${keyId}`;

/** The actions written today; readers must expect others from later versions. */
const AUDIT_ACTIONS = [
  'device.approve',
  'doctor.fix',
  'key.create',
  'key.extend',
  'key.revoke',
  'key.rotate',
  'prices.change',
  'raw.expire',
  'session.delete',
  'session.expire',
  'settings.change',
  'share.create',
  'share.revoke',
  'sign-in.end',
  'transcript.requeue',
  'usage.rebuild',
  'usage.reprice',
  'workspace.create',
  'workspace.delete',
  'workspace.rename',
] as const;
type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditEntry {
  /** '' for entries about no (existing) workspace. */
  workspaceId: string;
  actor: Actor;
  action: AuditAction;
  /** Ids of the changed things, at most 1,000. */
  subjects: readonly string[];
  /** Counts, names, values of settings, never text of transcripts or secrets. */
  details?: Record<string, unknown>;
}

const MAX_SUBJECTS = 1000;

/** Records who changes what, in the same transaction as the change. */
export async function addAuditEntry(
  transaction: Database,
  { workspaceId, actor, action, subjects, details = {} }: AuditEntry,
): Promise<void> {
  await transaction.insert(auditLog).values({
    workspace_id: workspaceId,
    id: ulid(),
    actor,
    action,
    subjects: subjects.slice(0, MAX_SUBJECTS),
    details,
  });
}

export type AuditRow = typeof auditLog.$inferSelect;

interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
  /** The id of something that changed. */
  subject?: string | undefined;
  /** ISO 8601; `from` is inclusive, `to` is exclusive. */
  from?: string | undefined;
  to?: string | undefined;
}

/** A page of a workspace's audit log, latest first; after the entry `afterId` if given. */
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
