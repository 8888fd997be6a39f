import { type SecretBox, SecretBoxError } from '@recount/ingest';
import { z } from 'zod';
import type { ProviderTokens } from './provider-client.ts';

const tokensSchema = z.object({
  subject: z.string(),
  refreshToken: z.string().optional(),
  idToken: z.string().optional(),
});

/** The place that the tokens of a sign-in are encrypted for. */
const toPlace = (workspaceId: string, signInId: string): string => `sign-in/${workspaceId}/${signInId}`;

/** Encrypts the tokens of a sign-in for its own row. */
export const sealTokens = (box: SecretBox, workspaceId: string, signInId: string, tokens: ProviderTokens): string =>
  box.seal(toPlace(workspaceId, signInId), tokens);

/** Undefined if they were encrypted with another key, or for another sign-in. */
export function openTokens(
  box: SecretBox,
  { workspaceId, signInId, sealed }: { workspaceId: string; signInId: string; sealed: string },
): ProviderTokens | undefined {
  const tokens = tokensSchema.safeParse(openSealed(box, toPlace(workspaceId, signInId), sealed)).data;
  if (tokens === undefined) return undefined;
  const { subject, refreshToken, idToken } = tokens;
  return { subject, ...(refreshToken !== undefined && { refreshToken }), ...(idToken !== undefined && { idToken }) };
}

/** Undefined if it was encrypted with another key, for another place, or changed. */
export function openSealed(box: SecretBox, place: string, sealed: string): unknown {
  try {
    return box.open(place, sealed);
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}
