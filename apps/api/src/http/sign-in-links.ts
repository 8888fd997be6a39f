import { createHash, randomBytes } from 'node:crypto';

/**
 * Codes of links that sign in to the dashboard, kept in this process's memory; the program that starts the server
 * prints one.
 */
export interface SignInLinks {
  /** Creates a code for the key. */
  create(apiKey: string): string;
  /** The key for a code, once; undefined if it is unknown, used or expired. */
  redeem(code: string): string | undefined;
}

const CODE_BYTES = 32;
const MAX_AGE_MS = 24 * 60 * 60_000;
/** Beyond this, the oldest ones are forgotten. */
const MAX_CODES = 100;

export function createSignInLinks(now: () => number = Date.now): SignInLinks {
  const codes = new Map<string, { apiKey: string; endMs: number }>();
  // Looked up by hash, so that the time of a lookup reveals nothing about a code.
  const toHash = (code: string): string => createHash('sha256').update(code).digest('hex');
  return {
    create(apiKey) {
      const [oldest] = codes.keys();
      if (codes.size >= MAX_CODES && oldest !== undefined) codes.delete(oldest);
      const code = randomBytes(CODE_BYTES).toString('base64url');
      codes.set(toHash(code), { apiKey, endMs: now() + MAX_AGE_MS });
      return code;
    },
    redeem(code) {
      const found = codes.get(toHash(code));
      codes.delete(toHash(code));
      return found !== undefined && now() < found.endMs ? found.apiKey : undefined;
    },
  };
}
