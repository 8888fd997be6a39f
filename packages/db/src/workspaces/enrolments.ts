import { isEnrolment } from '@recount/contract/access';
import type { Database } from '../database/database.ts';
import { and, count, eq, isNull, sql } from '../drizzle.cjs';
import { apiKeys } from '../schema/workspaces.ts';
import { createApiKey, rotateApiKey } from './api-keys.ts';
import { toKeyActor } from './audit-log.ts';

export interface EnrollingMachine {
  workspaceId: string;
  /** The key with the scope enrol. */
  enrolmentKeyId: string;
  /** Name of the key. */
  machine: string;
  /** SHA-256, hex, of what tells the machine from others. */
  machineId: string;
  /** The owner of the key; null means that its uploads name their person. */
  person: string | null;
}

/**
 * - `revoked`: the enrolment key is
 * - `machine-revoked`: the machine's own key is, or has expired, so that it comes back by no other roll-out
 * - `full`: the enrolment key has as many machines as it may
 */
export type EnrolmentRefusal = 'revoked' | 'machine-revoked' | 'full';

/**
 * Exchanges an enrolment key for the key of a machine, which uploads and nothing else. A machine that enrols again keeps
 * its key's id and gets a new secret, so that the old one ends and the machine counts once.
 */
export async function enrolMachine(
  transaction: Database,
  { workspaceId, enrolmentKeyId, machine, machineId, person }: EnrollingMachine,
): Promise<{ key: string; isNew: boolean } | EnrolmentRefusal> {
  const isHere = eq(apiKeys.workspace_id, workspaceId);
  // Locked, so that machines are counted one after the other, and none enrols while the key is revoked.
  const [enrolment] = await transaction
    .select({ scopes: apiKeys.scopes, machineLimit: apiKeys.machine_limit })
    .from(apiKeys)
    .where(and(isHere, eq(apiKeys.id, enrolmentKeyId), isNull(apiKeys.revoked_at)))
    .for('update');
  if (enrolment === undefined || !isEnrolment(enrolment.scopes)) return 'revoked';
  const isEnrolled = and(isHere, eq(apiKeys.enrolled_by, enrolmentKeyId));
  const [known] = await transaction
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(isEnrolled, eq(apiKeys.machine_id, machineId)));
  const actor = toKeyActor(enrolmentKeyId);
  if (known !== undefined) {
    const rotated = await rotateApiKey(transaction, workspaceId, known.id, { graceMs: 0, actor });
    if (rotated === undefined) return 'machine-revoked';
    await transaction
      .update(apiKeys)
      .set({ name: machine, person })
      .where(and(isHere, eq(apiKeys.id, known.id)));
    return { key: rotated.key, isNew: false };
  }
  const { machineLimit } = enrolment;
  if (machineLimit !== null && (await countMachines(transaction, isEnrolled)) >= machineLimit) return 'full';
  const { key } = await createApiKey(transaction, {
    ...{ workspaceId, name: machine, scopes: ['ingest'], person, actor },
    enrolment: { enrolledBy: enrolmentKeyId, machineId },
  });
  return { key, isNew: true };
}

/** Machines whose keys are valid. */
async function countMachines(transaction: Database, isEnrolled: ReturnType<typeof and>): Promise<number> {
  const isValid = sql`(${apiKeys.expires_at} IS NULL OR ${apiKeys.expires_at} > now())`;
  const [{ machines } = { machines: 0 }] = await transaction
    .select({ machines: count() })
    .from(apiKeys)
    .where(and(isEnrolled, isNull(apiKeys.revoked_at), isValid));
  return machines;
}
