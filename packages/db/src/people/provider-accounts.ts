import type { ApiKeyScope } from '@recount/contract/access';
import type { Database } from '../database/database.ts';
import { lockWorkspaceChanges } from '../database/locks.ts';
import { and, desc, eq, sql } from '../drizzle.cjs';
import { teamMemberships } from '../schema/people.ts';
import { apiKeys } from '../schema/workspaces.ts';
import { createApiKey } from '../workspaces/api-keys.ts';
import { type Actor, addAuditEntry } from '../workspaces/audit-log.ts';
import type { ProviderAccount } from '../workspaces/workspaces.ts';
import { changePerson, createPerson } from './people.ts';
import { resolvePerson } from './read-people.ts';
import { createTeam, findTeam } from './teams.ts';

/** An account as its provider describes it, and its rights by the settings. */
export interface AdmittedAccount extends ProviderAccount {
  workspaceId: string;
  /** Verified by the provider; null if there is none. */
  email: string | null;
  scopes: readonly ApiKeyScope[];
  /** The team by the account's groups; null: none of them stands for a team; undefined: no group does. */
  team: string | null | undefined;
}

/** The key of an account; its browsers sign in with it. */
export interface AccountKey {
  keyId: string;
  /** SHA-256 of its secret, hex. */
  keyHash: string;
}

/** Changes that a provider's claims make are recount's own. */
const ACTOR: Actor = 'system';

/**
 * Stores what a provider says of an account: its key has the scopes, and the person with the verified e-mail address, who
 * is added if there is none. Without such an address the person is found by issuer and subject. Each change is in the
 * audit log. Undefined, changing nothing, if an admin revoked the key.
 */
export async function admitAccount(transaction: Database, account: AdmittedAccount): Promise<AccountKey | undefined> {
  const { workspaceId, issuer, subject, email, scopes, team } = account;
  // One sign-in of an account at a time.
  await lockWorkspaceChanges(transaction, workspaceId);
  const [key] = await transaction
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.workspace_id, workspaceId), eq(apiKeys.issuer, issuer), eq(apiKeys.subject, subject)));
  if (key !== undefined && key.revoked_at !== null) return undefined;
  // The names that people give themselves would make others' sessions their own.
  const person = email ?? `${issuer} ${subject}`;
  const personId = await requirePerson(transaction, workspaceId, person, email);
  if (team !== undefined) await followTeam(transaction, workspaceId, personId, team);
  if (key === undefined) {
    const request = { workspaceId, name: email ?? subject, scopes, person, account: { issuer, subject } };
    const { id } = await createApiKey(transaction, request);
    return await readKey(transaction, workspaceId, id);
  }
  const isSame = key.person === person && sameScopes(key.scopes, scopes);
  if (!isSame) {
    const isKey = and(eq(apiKeys.workspace_id, workspaceId), eq(apiKeys.id, key.id));
    await transaction
      .update(apiKeys)
      .set({ scopes: [...scopes], person })
      .where(isKey);
    const details = { scopes, former_scopes: key.scopes };
    await addAuditEntry(transaction, { workspaceId, actor: ACTOR, action: 'key.change', subjects: [key.id], details });
  }
  return { keyId: key.id, keyHash: key.key_hash };
}

async function readKey(database: Database, workspaceId: string, id: string): Promise<AccountKey> {
  const [key] = await database
    .select({ keyId: apiKeys.id, keyHash: apiKeys.key_hash })
    .from(apiKeys)
    .where(and(eq(apiKeys.workspace_id, workspaceId), eq(apiKeys.id, id)));
  if (key === undefined) throw new Error(`There is no key ${id}`);
  return key;
}

/** The id of the person with this name, who is added if there is none. */
async function requirePerson(
  transaction: Database,
  workspaceId: string,
  name: string,
  email: string | null,
): Promise<string> {
  const known = await resolvePerson(transaction, workspaceId, name);
  if (known !== undefined) return known.id;
  return await createPerson(transaction, { workspaceId, actor: ACTOR }, { displayName: name, email }, 'claim');
}

/** Puts a person into the team from today on. Without one, only a team that came from groups is left. */
async function followTeam(
  transaction: Database,
  workspaceId: string,
  personId: string,
  team: string | null,
): Promise<void> {
  const [last] = await transaction
    .select({ teamId: teamMemberships.team_id, source: teamMemberships.source })
    .from(teamMemberships)
    .where(and(eq(teamMemberships.workspace_id, workspaceId), eq(teamMemberships.person_id, personId)))
    .orderBy(desc(sql`${teamMemberships.starts_on}`))
    .limit(1);
  if (team === null && (last === undefined || last.teamId === null || last.source !== 'claim')) return;
  const scope = { workspaceId, actor: ACTOR };
  const teamId =
    team &&
    ((await findTeam(transaction, workspaceId, team)) ?? (await createTeam(transaction, scope, { name: team })));
  if (last !== undefined && last.teamId === teamId) return;
  await changePerson(transaction, scope, personId, { team }, 'claim');
}

const sameScopes = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((scope) => others.includes(scope));
