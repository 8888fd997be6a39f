import { readFileSync } from 'node:fs';
import { ROLE_NAMES, type Role } from '@recount/contract/access';
import { ConfigError, type Environment } from '@recount/service/config';
import { z } from 'zod';

/** An OpenID provider, and what its claims mean here. */
export interface ProviderSettings {
  /** Names the provider in the audit log and in stored sign-ins. */
  id: string;
  /** On the button. */
  name: string;
  /** URL whose `/.well-known/openid-configuration` describes the provider. */
  issuer: string;
  clientId: string;
  /** Undefined for a public client. */
  clientSecret: string | undefined;
  scopes: readonly string[];
  /** Further parameters of the authorization request. */
  parameters: Readonly<Record<string, string>>;
  /** Name of the workspace that people sign in to. */
  workspace: string;
  /** In lower case; empty: any address, and none. */
  emailDomains: readonly string[];
  emailVerifiedClaim: string;
  groupsClaim: string;
  /** The first whose group the account has decides. */
  roles: readonly { group: string; role: Role }[];
  teams: readonly { group: string; team: string }[];
  /** Undefined: an account without a group of `roles` is refused. */
  defaultRole: Role | undefined;
}

/** Only a command on the server makes operators. */
const role = z.enum(ROLE_NAMES.filter((name) => name !== 'operator') as Exclude<Role, 'operator'>[]);
const word = z.string().trim().min(1).max(500);

/** Set by recount itself, or in need of checks that it does not make. */
const RESERVED_PARAMETERS =
  /^(client_id|client_secret|redirect_uri|response_type|response_mode|scope|state|nonce|code_challenge|code_challenge_method|request|request_uri|max_age|claims)$/;

const provider = z
  .strictObject({
    id: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must have 1 to 40 small letters, digits and hyphens'),
    name: z.string().trim().min(1).max(60),
    issuer: z.string().refine(isIssuer, 'must begin with https://, or with http:// and name this machine (localhost)'),
    client_id: word,
    client_secret_env: word.optional(),
    client_secret_file: word.optional(),
    scopes: z.array(word).default(['openid', 'profile', 'email', 'offline_access']),
    parameters: z
      .record(
        z.string().refine((name) => !RESERVED_PARAMETERS.test(name)),
        z.string().max(500),
      )
      .default({}),
    workspace: word.default('default'),
    email_domains: z.array(word).default([]),
    email_verified_claim: word.default('email_verified'),
    groups_claim: word.default('groups'),
    roles: z.array(z.strictObject({ group: word, role })).default([]),
    teams: z.array(z.strictObject({ group: word, team: word })).default([]),
    default_role: role.optional(),
  })
  .refine(({ scopes }) => scopes.includes('openid'), { path: ['scopes'], message: 'must include openid' })
  .refine((each) => each.roles.length > 0 || each.default_role !== undefined, {
    path: ['roles'],
    message: 'or default_role must be set, or no one could sign in',
  });

const file = z.strictObject({ providers: z.array(provider).min(1).max(20) });

/**
 * Reads the file of `RECOUNT_OIDC_PROVIDERS`, and the client secrets that it refers to. Throws ConfigError, whose message
 * names the field at fault and contains no secret.
 */
export function readProviderSettings(path: string, environment: Environment): ProviderSettings[] {
  const { providers } = parse(path);
  const ids = providers.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new ConfigError(`${path}: two providers have the id ${twice}`);
  return providers.map((each) => ({
    id: each.id,
    name: each.name,
    issuer: each.issuer,
    clientId: each.client_id,
    clientSecret: readSecret(path, each, environment),
    scopes: each.scopes,
    parameters: each.parameters,
    workspace: each.workspace,
    emailDomains: each.email_domains.map((domain) => domain.toLowerCase()),
    emailVerifiedClaim: each.email_verified_claim,
    groupsClaim: each.groups_claim,
    roles: each.roles,
    teams: each.teams,
    defaultRole: each.default_role,
  }));
}

function parse(path: string): z.output<typeof file> {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new ConfigError(`RECOUNT_OIDC_PROVIDERS: the file ${path} ${reason}`);
  }
  const result = file.safeParse(json);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) => `${path}: ${issue.path.join('.') || 'the file'}: ${issue.message}`);
  throw new ConfigError(faults.join('\n'));
}

function readSecret(path: string, from: z.output<typeof provider>, environment: Environment): string | undefined {
  const { id, client_secret_env: variable, client_secret_file: secretFile } = from;
  if (variable !== undefined && secretFile !== undefined)
    throw new ConfigError(`${path}: ${id}: client_secret_env and client_secret_file exclude each other`);
  if (variable !== undefined) {
    const value = environment[variable]?.trim();
    if (!value) throw new ConfigError(`${path}: ${id}: the variable ${variable} (client_secret_env) is not set`);
    return value;
  }
  if (secretFile === undefined) return undefined;
  try {
    const value = readFileSync(secretFile, 'utf8').trim();
    if (value !== '') return value;
  } catch {
    throw new ConfigError(`${path}: ${id}: the file ${secretFile} (client_secret_file) cannot be read`);
  }
  throw new ConfigError(`${path}: ${id}: the file ${secretFile} (client_secret_file) is empty`);
}

function isIssuer(issuer: string): boolean {
  const url = URL.parse(issuer);
  return url !== null && isTrustedUrl(url) && url.search === '' && url.hash === '' && url.username === '';
}

/** True for https, and for http on this machine. */
export const isTrustedUrl = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname));
