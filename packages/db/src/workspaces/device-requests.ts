import { randomBytes, randomInt } from 'node:crypto';
import type { DeviceScope } from '@recount/contract/access';
import type { Database } from '../database/database.ts';
import { and, count, eq, gt, isNull, lte, sql } from '../drizzle.cjs';
import { deviceRequests } from '../schema/workspaces.ts';
import { createApiKey } from './api-keys.ts';
import { type Actor, addAuditEntry } from './audit-log.ts';
import { hashSecret } from './hash-secret.ts';
import { holdApiKey } from './workspaces.ts';

/** The time that a code may be approved and redeemed. */
export const DEVICE_REQUEST_MAX_AGE_S = 600;
/** The time that a machine waits between polls (RFC 8628, section 3.5). */
export const DEVICE_POLL_INTERVAL_S = 5;
/** Pending requests of all machines, because requesting needs no key. */
export const MAX_DEVICE_REQUESTS = 1000;

/**
 * Only consonants (RFC 8628, section 6.1), so no words, no ambiguous characters. 20^8 possible codes, at most 1,000 of
 * them in use.
 */
const CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LENGTH = 8;
const SECRET_BYTES = 32;
/** Allows for inexact clocks and networks. */
const POLL_TOLERANCE = 0.8;

/**
 * Records a machine's request for a key. Undefined if too many are pending. Only the hash of the device code is stored.
 */
export async function createDeviceRequest(
  transaction: Database,
  { machine, scopes }: { machine: string; scopes: readonly DeviceScope[] },
): Promise<{ userCode: string; deviceCode: string } | undefined> {
  await transaction.delete(deviceRequests).where(lte(deviceRequests.expires_at, sql`now()`));
  const [{ waiting } = { waiting: 0 }] = await transaction.select({ waiting: count() }).from(deviceRequests);
  if (waiting >= MAX_DEVICE_REQUESTS) return undefined;
  const userCode = Array.from({ length: CODE_LENGTH }, () => CODE_LETTERS[randomInt(CODE_LETTERS.length)]).join('');
  const deviceCode = randomBytes(SECRET_BYTES).toString('base64url');
  await transaction.insert(deviceRequests).values({
    ...{ user_code: userCode, device_code_hash: hashSecret(deviceCode), machine, scopes: [...scopes] },
    expires_at: sql`now() + ${DEVICE_REQUEST_MAX_AGE_S} * interval '1 second'`,
  });
  return { userCode, deviceCode };
}

/** A request waiting for approval. */
export interface DeviceRequest {
  machine: string;
  scopes: DeviceScope[];
  requestedAt: string;
}

/** Undefined for a code that is unknown, expired, or approved already. */
export async function findDeviceRequest(database: Database, userCode: string): Promise<DeviceRequest | undefined> {
  const [row] = await database
    .select({
      ...{ machine: deviceRequests.machine, scopes: deviceRequests.scopes },
      requestedAt: deviceRequests.requested_at,
    })
    .from(deviceRequests)
    .where(isWaiting(userCode));
  return row;
}

export interface DeviceApproval {
  workspaceId: string;
  /** Defaults to the scopes that the machine requested. */
  scopes?: readonly DeviceScope[] | undefined;
  /** The future owner of the key; null means no one in particular. */
  person: string | null;
  /** The key's expiry, ISO 8601; null means never. */
  keyExpiresAt: string | null;
  actor: Actor;
}

/** Lets the machine with this code fetch a key of the workspace. Undefined as for `findDeviceRequest`. */
export async function approveDeviceRequest(
  transaction: Database,
  userCode: string,
  { workspaceId, scopes, person, keyExpiresAt, actor }: DeviceApproval,
): Promise<DeviceRequest | undefined> {
  const [approved] = await transaction
    .update(deviceRequests)
    .set({
      ...{ workspace_id: workspaceId, person, key_expires_at: keyExpiresAt, approved_by: actor },
      ...(scopes && { scopes: [...scopes] }),
    })
    .where(isWaiting(userCode))
    .returning({
      ...{ machine: deviceRequests.machine, scopes: deviceRequests.scopes },
      requestedAt: deviceRequests.requested_at,
    });
  if (approved === undefined) return undefined;
  const details = { machine: approved.machine, scopes: approved.scopes, person, expires_at: keyExpiresAt };
  await addAuditEntry(transaction, { workspaceId, actor, action: 'device.approve', subjects: [], details });
  return approved;
}

/** The names of RFC 8628, section 3.5. */
export type DeviceRefusal = 'authorization_pending' | 'slow_down' | 'expired_token' | 'access_denied';

/** Creates the approved key, once. Created here rather than at the approval, so that its secret is never stored. */
export async function redeemDeviceCode(
  transaction: Database,
  deviceCode: string,
): Promise<{ key: string; scopes: DeviceScope[] } | DeviceRefusal> {
  const hash = hashSecret(deviceCode);
  const [request] = await transaction
    .select({
      ...{ machine: deviceRequests.machine, scopes: deviceRequests.scopes, person: deviceRequests.person },
      ...{ workspaceId: deviceRequests.workspace_id, approvedBy: deviceRequests.approved_by },
      expiresAt: deviceRequests.key_expires_at,
      isTooSoon: sql<boolean>`coalesce(${deviceRequests.last_polled_at} > now() - ${
        DEVICE_POLL_INTERVAL_S * POLL_TOLERANCE
      } * interval '1 second', false)`,
    })
    .from(deviceRequests)
    .where(and(eq(deviceRequests.device_code_hash, hash), gt(deviceRequests.expires_at, sql`now()`)))
    .for('update');
  if (request === undefined) return 'expired_token';
  const { machine, scopes, person, expiresAt, workspaceId, approvedBy, isTooSoon } = request;
  const isThis = eq(deviceRequests.device_code_hash, hash);
  if (workspaceId === null || approvedBy === null) {
    await transaction.update(deviceRequests).set({ last_polled_at: sql`now()` }).where(isThis);
    return isTooSoon ? 'slow_down' : 'authorization_pending';
  }
  await transaction.delete(deviceRequests).where(isThis);
  const approvingKeyId = approvedBy.startsWith('key:') ? approvedBy.slice('key:'.length) : undefined;
  if (approvingKeyId !== undefined && !(await holdApiKey(transaction, workspaceId, approvingKeyId)))
    return 'access_denied';
  const key = { workspaceId, name: machine, scopes, person, expiresAt, actor: approvedBy };
  return { key: (await createApiKey(transaction, key)).key, scopes };
}

/** As typed, in any case, with or without hyphens and spaces. */
const isWaiting = (userCode: string) =>
  and(
    eq(deviceRequests.user_code, userCode.toUpperCase().replaceAll(/[^A-Z]/g, '')),
    gt(deviceRequests.expires_at, sql`now()`),
    isNull(deviceRequests.workspace_id),
  );
