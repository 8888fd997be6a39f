import { ulid } from 'ulid';
import type { Database } from '../database/database.ts';
import { auditLog } from './audit-log-schema.ts';

/** `system` is recount itself, such as a worker that deletes by age. */
export type Actor = `key:${string}` | `operator:${string}` | 'system';

export const toKeyActor = (keyId: string): Actor => `key:${keyId}`;

/** What is written today; readers must expect others, of later versions. */
const AUDIT_ACTIONS = [
  'doctor.fix',
  'key.create',
  'key.revoke',
  'key.rotate',
  'prices.change',
  'raw.expire',
  'session.delete',
  'session.expire',
  'settings.change',
  'transcript.requeue',
  'usage.rebuild',
  'usage.reprice',
  'workspace.create',
  'workspace.delete',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditEntry {
  /** '' for what is of no workspace (any more). */
  workspaceId: string;
  actor: Actor;
  action: AuditAction;
  /** Ids of what is changed; 1,000 at most are kept. */
  subjects: readonly string[];
  /** Counts, names, values of settings: never text of transcripts, nor secrets. */
  details?: Record<string, unknown>;
}

const MAX_SUBJECTS = 1000;

/** Notes who changes what, in the transaction that changes it: the one is not there without the other. */
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
