import { encodeTime, ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { and, arrayContains, desc, eq, gte, inArray, lt, notInArray, sql } from '../drizzle.cjs';
import { apiKeys, auditLog } from '../schema/workspaces.ts';

/** `system` is recount itself, e.g. a worker that deletes by age. */
export type Actor = `key:${string}` | `operator:${string}` | 'system';

export const toKeyActor = (keyId: string): Actor => `key:${keyId}`;

/** The actions written today; readers must expect others from later versions. */
const AUDIT_ACTIONS = [
  'bill.delete',
  'bill.import',
  'budget.change',
  'budget.create',
  'budget.delete',
  'delivery.retry',
  'destination.create',
  'destination.delete',
  'device.approve',
  'digest.change',
  'digest.create',
  'digest.delete',
  'digest.send',
  'doctor.fix',
  'finding.address',
  'finding.dismiss',
  'finding.reopen',
  'finding.restore',
  'key.change',
  'key.create',
  'key.extend',
  'key.link',
  'key.restore',
  'key.revoke',
  'key.rotate',
  'key.unlink',
  'person.change',
  'person.create',
  'person.delete',
  'person.merge',
  'person.unmerge',
  'prices.change',
  'raw.expire',
  'repository.rename',
  'repository.undo-rename',
  'session.annotate',
  'session.delete',
  'session.expire',
  'plans.change',
  'settings.change',
  'share.create',
  'share.open',
  'share.revoke',
  'sign-in.create',
  'sign-in.end',
  'sign-in.refuse',
  'team.change',
  'team.create',
  'team.delete',
  'texts.read',
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
  /** `link` has the id of a share, which anyone may open. */
  actor: Actor | `link:${string}`;
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

export type AuditRow = typeof auditLog.$inferSelect & {
  /** Name and person of the actor's key; null for other actors. */
  actor_name: string | null;
  actor_person: string | null;
};

const HOUR_MS = 60 * 60_000;
/** Clocks of processes and of the database may differ by less than this. */
const MAX_SKEW_MS = 5 * 60_000;
const ULID_TIME_LENGTH = 10;

interface TextReads {
  workspaceId: string;
  actor: Actor;
  /** Sessions of others. */
  sessionIds: readonly string[];
}

/** Records the sessions whose texts someone reads, each session once an hour for each reader. */
export async function addTextReads(
  transaction: Database,
  { workspaceId, actor, sessionIds }: TextReads,
): Promise<void> {
  const ids = [...new Set(sessionIds)];
  if (ids.length === 0) return;
  // Another process of the API may record the same read.
  await transaction.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`recount/text-reads/${actor}`}, 0))`);
  const earliestId = encodeTime(Date.now() - HOUR_MS - MAX_SKEW_MS, ULID_TIME_LENGTH);
  const { rows } = await transaction.execute<{ session_id: string }>(sql`
    SELECT DISTINCT session_id FROM ${auditLog} AS a CROSS JOIN LATERAL unnest(a.subjects) AS session_id
    WHERE a.workspace_id = ${workspaceId} AND a.id >= ${earliestId} AND a.at >= date_trunc('hour', now(), 'UTC')
      AND a.actor = ${actor} AND a.action = 'texts.read' AND a.subjects && ${sql.param(ids)}::text[]`);
  const known = new Set(rows.map(({ session_id }) => session_id));
  const unknown = ids.filter((id) => !known.has(id));
  for (let start = 0; start < unknown.length; start += MAX_SUBJECTS) {
    const subjects = unknown.slice(start, start + MAX_SUBJECTS);
    await addAuditEntry(transaction, { workspaceId, actor, action: 'texts.read', subjects });
  }
}

const READS: AuditAction[] = ['texts.read', 'share.open'];

interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
  /** The id of something that changed. */
  subject?: string | undefined;
  /** ISO 8601; `from` is inclusive, `to` is exclusive. */
  from?: string | undefined;
  to?: string | undefined;
  /** Default: both. */
  kind?: 'changes' | 'reads' | undefined;
}

/** A page of a workspace's audit log, latest first; after the entry `afterId` if given. */
export async function listAuditEntries(
  database: Database,
  workspaceId: string,
  { actor, action, subject, from, to, kind }: AuditFilter,
  { afterId, limit }: { afterId?: string | undefined; limit: number },
): Promise<AuditRow[]> {
  const rows = await database
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
        kind === undefined ? undefined : (kind === 'reads' ? inArray : notInArray)(auditLog.action, READS),
      ),
    )
    .orderBy(desc(auditLog.id))
    .limit(limit);
  return await nameActors(database, workspaceId, rows);
}

/** Not by a join, because the log stays on one node of a cluster. */
async function nameActors(
  database: Database,
  workspaceId: string,
  rows: readonly (typeof auditLog.$inferSelect)[],
): Promise<AuditRow[]> {
  const ids = [...new Set(rows.flatMap(({ actor }) => (actor.startsWith('key:') ? [actor.slice('key:'.length)] : [])))];
  const keys =
    ids.length === 0
      ? []
      : await database
          .select({ id: apiKeys.id, name: apiKeys.name, person: apiKeys.person })
          .from(apiKeys)
          .where(and(eq(apiKeys.workspace_id, workspaceId), inArray(apiKeys.id, ids)));
  const byActor = new Map(keys.map((key) => [`key:${key.id}`, key]));
  return rows.map((row) => {
    const { name = null, person = null } = byActor.get(row.actor) ?? {};
    return { ...row, actor_name: name, actor_person: person };
  });
}
