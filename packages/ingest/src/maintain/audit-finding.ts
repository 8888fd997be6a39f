import { type Actor, addAuditEntry } from '@recount/db';
import { parseRawObjectKey, parseRedactedObjectKey, parseStreamObjectKey } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import type { Finding } from './finding.ts';

/**
 * Notes in the audit log what the doctor has just mended: right after it, as most of it is in the raw store, which has no part in
 * transactions.
 */
export async function auditFinding(
  { database }: Pick<IngestDependencies, 'database'>,
  finding: Finding,
  actor: Actor,
): Promise<void> {
  if (!finding.fixed) return;
  const { workspaceId, subjects } = toSubjects(finding);
  const details = { kind: finding.kind, ...('count' in finding && { count: finding.count }) };
  await addAuditEntry(database.database, { workspaceId, actor, action: 'doctor.fix', subjects, details });
}

/** What is of all workspaces is noted of none. */
function toSubjects(finding: Finding & { fixed: boolean }): { workspaceId: string; subjects: string[] } {
  if ('transcriptId' in finding) return { workspaceId: finding.workspaceId, subjects: [finding.transcriptId] };
  if (!('objectKey' in finding)) return { workspaceId: '', subjects: [] };
  const { objectKey } = finding;
  const parts = parseRawObjectKey(objectKey) ?? parseRedactedObjectKey(objectKey) ?? parseStreamObjectKey(objectKey);
  return { workspaceId: parts?.workspaceId ?? '', subjects: [objectKey] };
}
