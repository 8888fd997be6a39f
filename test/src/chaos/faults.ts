import { setTimeout as sleep } from 'node:timers/promises';
import { type Fault, type S3Proxy, s3ErrorAnswer } from '@recount/storage/testing/s3-proxy';
import type { Random } from '../random.ts';
import type { Tally } from './tally.ts';
import type { TcpProxy } from './tcp-proxy.ts';

export interface Faults {
  /** From now on, everything is passed on unchanged. */
  stop(): void;
}

const MAX_DELAY_MS = 600;
/** Faults of single requests to the store; the client recovers from most of them. */
const STORE_FAULTS: readonly (readonly [name: string, probability: number])[] = [
  ['delay', 0.05],
  ['500', 0.02],
  ['503', 0.03],
  ['reset', 0.02],
  ['lost answer', 0.02],
  ['cut body', 0.03],
];
/** Interval between outages where the store refuses everything for longer than its client retries. */
const OUTAGE_EVERY_MS = 12_000;
const MAX_OUTAGE_MS = 3000;
const DATABASE_FAULTS = ['reset', 'cut', 'delay', 'delay'] as const;
const MAX_DATABASE_PAUSE_MS = 1200;

/** Breaks and delays random requests to the raw store, and occasionally all for a few seconds. */
export function injectStoreFaults(proxy: S3Proxy, random: Random, tally: Tally): Faults {
  const startedAtMs = performance.now();
  const outages = Array.from({ length: 1000 }, (_, number) => {
    const beginMs = number * OUTAGE_EVERY_MS + random.integer(1000, OUTAGE_EVERY_MS - MAX_OUTAGE_MS);
    return { beginMs, endMs: beginMs + random.integer(500, MAX_OUTAGE_MS), kind: random.pick(['503', 'reset']) };
  });
  const chooseName = (): string | undefined => {
    const elapsedMs = performance.now() - startedAtMs;
    const outage = outages.find(({ beginMs, endMs }) => elapsedMs >= beginMs && elapsedMs < endMs);
    if (outage !== undefined) return outage.kind;
    let drawn = random.next();
    for (const [name, probability] of STORE_FAULTS) {
      if (drawn < probability) return name;
      drawn -= probability;
    }
    return undefined;
  };
  proxy.onRequest(() => {
    const name = chooseName();
    if (name === undefined) return undefined;
    tally.add(`store ${name}`);
    return toStoreFault(name, random);
  });
  return { stop: () => proxy.onRequest(() => undefined) };
}

function toStoreFault(name: string, random: Random): Fault {
  switch (name) {
    case '500':
      return s3ErrorAnswer(500, 'InternalError');
    case '503':
      return s3ErrorAnswer(503, 'SlowDown');
    case 'reset':
      return { kind: 'reset' };
    case 'lost answer':
      return { kind: 'lose-answer' };
    case 'cut body':
      return { kind: 'cut-body' };
    default:
      return { kind: 'delay', delayMs: random.integer(20, MAX_DELAY_MS) };
  }
}

/** About every half second resets, cuts or delays one of the connections to the database. */
export function injectDatabaseFaults(proxy: TcpProxy, random: Random, tally: Tally): Faults {
  const abort = new AbortController();
  const run = async (): Promise<void> => {
    for (;;) {
      await sleep(random.integer(50, MAX_DATABASE_PAUSE_MS), undefined, { signal: abort.signal });
      const kind = random.pick(DATABASE_FAULTS);
      const position = random.next();
      const delayMs = random.integer(20, MAX_DELAY_MS);
      const count = proxy.connectionCount();
      if (count === 0) continue;
      const index = Math.floor(position * count);
      tally.add(`database ${kind}`);
      if (kind === 'reset') proxy.reset(index);
      else if (kind === 'cut') proxy.cut(index);
      else proxy.delay(index, delayMs);
    }
  };
  run().catch(() => undefined);
  return { stop: () => abort.abort() };
}
