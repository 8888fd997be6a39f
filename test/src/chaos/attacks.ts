import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import { type Damaged, damageObject } from './damage.ts';
import type { Installation } from './installation.ts';
import { canStartRival, startRival } from './rival.ts';
import type { Tally } from './tally.ts';
import type { Attempted } from './upload-client.ts';
import type { PlannedUpload } from './uploads.ts';

export interface AttackOptions {
  installation: Installation;
  random: Random;
  tally: Tally;
  attempted: readonly Attempted[];
  /** Makes a client upload it again. */
  repeat(planned: PlannedUpload): void;
}

export interface Attacks {
  /** Makes the next attack, and resolves when it is over; its damage remains. */
  next(): Promise<void>;
  damaged: readonly Damaged[];
  /** A result of an attack that should not have been possible. */
  failures: readonly string[];
}

const MIN_FULL_MS = 1000;
const MAX_FULL_MS = 5000;
const REPEAT_CHANCE = 0.5;

/**
 * Attacks that 0.3 did not withstand, in equal numbers: a second server on the cluster, a damaged raw object, a full
 * database disk.
 */
export function createAttacks({ installation, random, tally, attempted, repeat }: AttackOptions): Attacks {
  const damaged: Damaged[] = [];
  const failures: string[] = [];
  const { databaseDisk: disk } = installation;

  const rival = async (): Promise<string> => {
    failures.push(...(await startRival(installation)));
    return 'rival refused';
  };
  const damage = async (): Promise<string> => {
    const found = await damageObject(installation, { attempted, random, damaged });
    if (found === undefined) return 'nothing to damage';
    damaged.push(found);
    if (random.chance(REPEAT_CHANCE)) repeat(found.planned);
    return `object ${found.kind}`;
  };
  const kinds = [damage];
  if (installation.postgres.directory !== undefined && canStartRival()) kinds.push(rival);
  if (disk !== undefined) {
    kinds.push(async () => {
      const fullMs = random.integer(MIN_FULL_MS, MAX_FULL_MS);
      await disk.fill();
      await sleep(fullMs);
      await disk.free();
      return 'database disk full';
    });
  }

  let waiting: typeof kinds = [];
  return {
    damaged,
    failures,
    async next() {
      if (waiting.length === 0) waiting = random.shuffle(kinds);
      tally.add((await waiting.shift()?.()) ?? 'none');
    },
  };
}
