import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { BackfillClient } from './backfill-client.ts';
import type { Installation } from './installation.ts';
import type { Tally } from './tally.ts';

const MAX_BETWEEN_KILLS_MS = 2000;
const MAX_DOWN_MS = 1500;
/** Each kind occurs at least once in a run with a few kills. */
const ALWAYS_ATTACKED = 3;
const ATTACK_CHANCE = 0.4;
const MAX_WAIT_FOR_PROGRESS_MS = 2000;

export interface KillLoop {
  /** Grows with each acknowledged upload. */
  countAcknowledged: () => number;
  installation: Installation;
  backfill: BackfillClient;
  random: Random;
  victims: Tally;
  /** Called after a kill; finishes before the next one. */
  attack: () => Promise<void>;
  onKill: (count: number, victim: string) => void;
}

/** Kills this many processes with SIGKILL, one after another; each is restarted after a moment. */
export async function killProcesses(kills: number, loop: KillLoop): Promise<void> {
  const { random, victims } = loop;
  const killers = createKillers(loop);
  while (victims.total() < kills) {
    await sleep(random.integer(200, MAX_BETWEEN_KILLS_MS));
    await waitForProgress(loop.countAcknowledged);
    const killer = random.pick(killers);
    const victim = await killer(random.integer(0, MAX_DOWN_MS));
    if (victim === undefined) continue;
    victims.add(victim);
    loop.onKill(victims.total(), victim);
    if (random.chance(ATTACK_CHANCE) || victims.total() <= ALWAYS_ATTACKED) await loop.attack();
  }
}

/** Kills that only hit processes still recovering from the previous one would prove little. */
async function waitForProgress(countAcknowledged: () => number): Promise<void> {
  const deadlineMs = performance.now() + MAX_WAIT_FOR_PROGRESS_MS;
  const before = countAcknowledged();
  while (countAcknowledged() === before && performance.now() < deadlineMs) await sleep(20);
}

type Killer = (pauseMs: number) => Promise<string | undefined>;

/** Each one as often as it should be chosen. A killer returns no name if its victim is not running at the moment. */
function createKillers({ installation, backfill, random }: KillLoop): Killer[] {
  const { api, workers, postgres } = installation;
  const killWorker: Killer = async (pauseMs) => {
    const worker = random.pick(workers);
    return worker.isReady() && (await worker.kill(pauseMs)) ? 'worker' : undefined;
  };
  const killApi: Killer = async (pauseMs) => (api.isReady() && (await api.kill(pauseMs)) ? 'api' : undefined);
  const killPostgres: Killer = async (pauseMs) => {
    const victim = random.pick(postgres.victims);
    await postgres.kill(victim, pauseMs);
    return `postgres (${victim})`;
  };
  const killBackfill: Killer = async () => (backfill.kill() ? 'backfill' : undefined);
  return [
    killWorker,
    killWorker,
    killWorker,
    killWorker,
    killApi,
    killApi,
    killApi,
    killPostgres,
    killPostgres,
    killBackfill,
  ];
}
