import type { Role } from '@recount/contract/access';
import type { ProviderSettings } from '../provider-settings.ts';

/** Claims of an ID token and of UserInfo. */
export type Claims = Readonly<Record<string, unknown>>;

/** The rights of an account. */
export interface Admission {
  /** Null unless the provider says that it is verified. */
  email: string | null;
  role: Role;
  /** Null: none of its groups stands for a team; undefined: no group does. */
  team: string | null | undefined;
}

/** Why an account may not sign in. */
export interface Refusal {
  /** For the audit log. */
  reason: 'email-unverified' | 'email-domain' | 'groups-not-sent' | 'no-role';
  /** For the person: what is wrong, and what to do. */
  sentence: string;
}

const MAX_EMAIL_LENGTH = 320;
const EMAIL = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u;

/** Decides by the claims of an account whether it may sign in, and as what. */
export function decideAdmission(settings: ProviderSettings, claims: Claims): Admission | Refusal {
  const email = readVerifiedEmail(settings, claims);
  const { emailDomains, name } = settings;
  if (emailDomains.length > 0) {
    if (email === null) {
      const sentence = `${name} sends no verified e-mail address of your account, which this server asks for. Ask an admin of ${name} to verify it`;
      return { reason: 'email-unverified', sentence };
    }
    if (!emailDomains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase())) {
      const sentence = `Only accounts of ${emailDomains.join(', ')} may sign in here. Choose another account at ${name}`;
      return { reason: 'email-domain', sentence };
    }
  }
  const groups = readGroups(settings, claims);
  if (groups === undefined) {
    const sentence = `${name} does not send your groups, because there are too many. Ask an admin to send only groups that are assigned to recount, or roles of the application`;
    return { reason: 'groups-not-sent', sentence };
  }
  const role = settings.roles.find(({ group }) => groups.has(group))?.role ?? settings.defaultRole;
  if (role === undefined) {
    const sentence = `Your account at ${name} is in no group that may use recount. Ask an admin to add you to one, then sign in again`;
    return { reason: 'no-role', sentence };
  }
  const team = settings.teams.find(({ group }) => groups.has(group))?.team ?? null;
  return { email, role, team: settings.teams.length === 0 ? undefined : team };
}

function readVerifiedEmail({ emailVerifiedClaim }: ProviderSettings, claims: Claims): string | null {
  const email = claims.email;
  const verified = claims[emailVerifiedClaim];
  const isVerified = verified === true || verified === 'true' || verified === 1 || verified === '1';
  if (typeof email !== 'string' || !isVerified || email.length > MAX_EMAIL_LENGTH) return null;
  return EMAIL.test(email) ? email : null;
}

/** The groups of an account; undefined if the provider keeps them elsewhere because there are too many. */
function readGroups({ groupsClaim, roles, teams }: ProviderSettings, claims: Claims): ReadonlySet<string> | undefined {
  const value = readClaim(claims, groupsClaim);
  const isNeeded = roles.length > 0 || teams.length > 0;
  const elsewhere = claims._claim_names;
  if (isNeeded && value === undefined && isObject(elsewhere) && Object.hasOwn(elsewhere, groupsClaim)) return undefined;
  const values = Array.isArray(value) ? value : [value];
  return new Set(values.filter((each): each is string => typeof each === 'string'));
}

/** A claim by its name, or by the names on the way to it (`realm_access.roles`). */
export function readClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
