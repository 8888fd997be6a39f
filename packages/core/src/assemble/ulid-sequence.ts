import { createHash } from 'node:crypto';

const CROCKFORD_BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const MAX_TIME_MS = 2 ** 48 - 1;
const SEED_CHARACTERS = 10;
const COUNTER_CHARACTERS = 6;

function toBase32(value: number, length: number): string {
  let text = '';
  let rest = value;
  for (let index = 0; index < length; index++) {
    text = CROCKFORD_BASE32.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

export interface UlidState {
  /** Latest time of an id, milliseconds since 1970. */
  lastTimeMs: number;
  /** Ids generated so far. */
  counter: number;
}

/**
 * Ascending ULIDs (48 bits of time, 80 of randomness, github.com/ulid/spec) that depend only on the seed and the order
 * of the calls, so that parsing the same bytes again gives the same ids. The randomness is 50 bits of the seed's
 * SHA-256 and a 30-bit counter. A time before an earlier one is raised to it.
 */
export function createUlidSequence(
  seed: string,
  state: UlidState = { lastTimeMs: 0, counter: 0 },
): (timeMs: number) => string {
  const seedText = [...createHash('sha256').update(seed).digest().subarray(0, SEED_CHARACTERS)]
    .map((byte) => CROCKFORD_BASE32.charAt(byte % 32))
    .join('');
  let prefix = toBase32(state.lastTimeMs, 10) + seedText;
  return (timeMs) => {
    if (timeMs > state.lastTimeMs && timeMs <= MAX_TIME_MS) {
      state.lastTimeMs = timeMs;
      prefix = toBase32(timeMs, 10) + seedText;
    }
    return prefix + toBase32(state.counter++, COUNTER_CHARACTERS);
  };
}
