import { createHash, randomBytes } from 'node:crypto';

/** Codes of links that sign in to the dashboard, in the memory of this process: who starts it prints one. */
export interface SignInLinks {
  /** A new code that stands for the key. */
  create(apiKey: string): string;
  /** The key that a code stands for, once; undefined for one that is unknown, used or too old. */
  redeem(code: string): string | undefined;
}

const CODE_BYTES = 32;
const MAX_AGE_MS = 24 * 60 * 60_000;
/** The oldest ones beyond it are forgotten. */
const MAX_CODES = 100;

export function createSignInLinks(now: () => number = Date.now): SignInLinks {
  const codes = new Map<string, { apiKey: string; endMs: number }>();
  // Compared by their hashes: how long a look-up takes says nothing of a code.
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
