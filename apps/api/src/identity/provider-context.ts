import { ROLES } from '@recount/contract/access';
import { type AccountKey, admitAccount, type Database, type DatabasePool } from '@recount/db';
import type { SecretBox } from '@recount/ingest';
import type { Logger } from 'pino';
import { ProblemError } from '../problems/problem-error.ts';
import type { ProviderSettings } from '../provider-settings.ts';
import type { Admission } from './decide-admission.ts';
import type { ConfirmedAccount, ProviderClient } from './provider-client.ts';

/** A provider of the settings, and the requests to it. */
export interface Provider {
  settings: ProviderSettings;
  client: ProviderClient;
}

/** The parts that flows and checks of sign-ins share. */
export interface ProviderContext {
  pool: DatabasePool;
  log: Logger;
  now(): number;
  /** By id. */
  providers: ReadonlyMap<string, Provider>;
  /** Undefined if there are no providers. */
  secretBox: SecretBox | undefined;
  /** A sign-in is checked with its provider when it is used and the last check is older than this. */
  checkIntervalMs: number;
  /** A sign-in that cannot be checked ends after this time. */
  maxUncheckedMs: number;
}

/** Stores the claims of an account. Undefined if an admin revoked its key. */
export async function admit(
  transaction: Database,
  workspaceId: string,
  { issuer, subject }: ConfirmedAccount,
  { email, role, team }: Admission,
): Promise<AccountKey | undefined> {
  return await admitAccount(transaction, { workspaceId, issuer, subject, email, scopes: ROLES[role], team });
}

/** The problem of a provider that does not answer. */
export function toUnavailable(provider: Provider | undefined, cause?: unknown): ProblemError {
  const name = provider?.settings.name ?? 'The provider';
  const detail = `${name} cannot be asked now, so no one can sign in with it. Try again in a minute; API keys work as before`;
  return new ProblemError('provider-unavailable', detail, { headers: { 'retry-after': '10' }, cause });
}
