import { randomBytes } from 'node:crypto';
import { type Actor, createDestination, type DestinationRow } from '@recount/db';
import { ulid } from 'ulid';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { type AlertOptions, type DestinationSecret, toSecretPlace } from './alert-options.ts';
import { AddressError, resolveDestination } from './check-address.ts';
import { SIGNING_SECRET_PREFIX } from './send-webhook.ts';

export type DestinationRequest = { name: string } & (
  | { kind: 'email'; addresses: readonly string[] }
  | { kind: 'slack' | 'webhook'; url: string }
);

/** The environment has no key to encrypt secrets with. */
export class MissingSecretKeyError extends Error {
  override name = 'MissingSecretKeyError';
  constructor() {
    super(
      'The server has no key to encrypt secrets with, so it stores none. Make one with `openssl rand -base64 32`, and set it as RECOUNT_SECRET_KEY for API and workers',
    );
  }
}

const SIGNING_SECRET_BYTES = 32;

/**
 * Stores a destination with its secrets encrypted. `signingSecret` is new, and cannot be read again. Returns the reason if
 * the name is taken or there are too many. Throws MissingSecretKeyError and AddressError.
 */
export async function addDestination(
  { database }: Pick<IngestDependencies, 'database'>,
  { secretBox, ...rules }: AlertOptions,
  { workspaceId, actor }: { workspaceId: string; actor: Actor },
  request: DestinationRequest,
): Promise<{ row: DestinationRow; signingSecret: string | undefined } | 'taken' | 'too-many'> {
  const id = ulid();
  const { name, kind } = request;
  let signingSecret: string | undefined;
  let stored: { hint: string; secret: string | null };
  if (request.kind === 'email') stored = { hint: request.addresses.join(', '), secret: null };
  else {
    if (secretBox === undefined) throw new MissingSecretKeyError();
    const url = toUrl(request.url);
    // Also checked at each attempt, because names may resolve to something else by then.
    await resolveDestination(url, rules).catch((error: unknown) => {
      throw error instanceof AddressError ? error : new AddressError('The host of the URL is not known');
    });
    if (kind === 'webhook') {
      signingSecret = SIGNING_SECRET_PREFIX + randomBytes(SIGNING_SECRET_BYTES).toString('base64');
    }
    const secret: DestinationSecret = { url: url.href, ...(signingSecret && { signing_secret: signingSecret }) };
    stored = { hint: url.host, secret: secretBox.seal(toSecretPlace(workspaceId, id), secret) };
  }
  const row = await database.withTransaction((transaction) =>
    createDestination(transaction, workspaceId, { id, name, kind, ...stored }, actor),
  );
  return typeof row === 'string' ? row : { row, signingSecret };
}

function toUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new AddressError('The URL must begin with https://');
  return url;
}
