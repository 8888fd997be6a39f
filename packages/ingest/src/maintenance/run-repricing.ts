import {
  type ClaimedReprice,
  claimReprice,
  countOutdatedPrices,
  endMaintenanceCheck,
  isConnectionLost,
  isDatabaseExhausted,
  noteRepriceStart,
  type RepriceSums,
  requeueReprice,
  sumWorkspaceUsage,
} from '@recount/db';
import type { ModelPriceTable, PriceSource } from '@recount/prices';
import { toFailureReason } from '../failure-reason.ts';
import { readWorkspacePrices } from '../prices/workspace-prices.ts';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';
import { keepNoting } from './keep-noting.ts';
import { repriceWorkspace } from './reprice-workspace.ts';

interface Deps extends LoopDeps {
  /** The price list that precedes the built-in one. */
  priceSource?: Pick<PriceSource, 'file'> | undefined;
}

interface RepriceResult {
  /** Transcripts, including those that an earlier process of the same run has priced. */
  transcripts: number;
  before: RepriceSums;
  after: RepriceSums;
  priceVersion: string;
}

export type RepriceReport = Pick<RepriceResult, 'transcripts'> & { workspaceId: string };

const DEFAULT_INTERVAL_MS = 2000;
/** Prices that change during a run are noticed within this time. */
const PRICES_MAX_AGE_MS = 1000;
const STEP = 'transcripts';

/**
 * Takes the queued runs that reprice a workspace, one after the other, also those whose worker died, now and
 * every two seconds. A run that is interrupted goes back to the queue. Any number of processes may do so.
 */
export async function runRepricing(
  deps: Deps & { onReport: (report: RepriceReport) => void },
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: LoopOptions,
): Promise<void> {
  await runLoop(deps, { signal, intervalMs }, async () => {
    while (!signal.aborted) {
      const run = await claimReprice(deps.database.database);
      if (run === undefined) return;
      const { transcripts } = (await followReprice(deps, run, { signal, requeues: true })) ?? {};
      if (transcripts !== undefined) deps.onReport({ workspaceId: run.workspaceId, transcripts });
    }
  });
}

interface FollowOptions {
  signal: AbortSignal;
  /** If interrupted, the run goes back to the queue instead of ending. */
  requeues?: boolean;
  onProgress?: (done: number, total: number) => void;
}

/**
 * Does a run that is started or claimed, and records its progress and its end. Undefined if it was cancelled. Throws if
 * it fails or is interrupted. A run that lost the database stays as it is, so that a worker continues it.
 */
export async function followReprice(
  deps: Deps,
  run: ClaimedReprice,
  { signal, requeues = false, onProgress }: FollowOptions,
): Promise<RepriceResult | undefined> {
  const { database } = deps.database;
  let progress = { step: STEP, done: run.done, total: null as number | null };
  const replaced = new AbortController();
  const stopNoting = keepNoting(database, {
    run,
    readProgress: () => progress,
    onReplaced: () => replaced.abort(new Error('The run was cancelled')),
    onFailure: deps.onFailure,
  });
  try {
    const result = await repriceAll(deps, run, {
      signal: AbortSignal.any([signal, replaced.signal]),
      onProgress(done, total) {
        progress = { step: STEP, done, total };
        onProgress?.(done, total);
      },
    });
    await stopNoting();
    const { before, after, transcripts } = result;
    await endMaintenanceCheck(database, run, { state: 'done', report: { before, after, transcripts } });
    return result;
  } catch (error) {
    await stopNoting();
    if (replaced.signal.aborted) return undefined;
    if (signal.aborted && requeues) await requeueReprice(database, run);
    else if (signal.aborted) await endMaintenanceCheck(database, run, { state: 'interrupted', reason: 'interrupted' });
    else if (!isConnectionLost(error) && !isDatabaseExhausted(error))
      await endMaintenanceCheck(database, run, { state: 'failed', reason: toFailureReason(error) });
    throw error;
  }
}

interface RepriceAllOptions {
  signal: AbortSignal;
  onProgress: (done: number, total: number) => void;
}

/** Repeats until nothing is left at other prices than the current ones, which may change while it runs. */
async function repriceAll(
  { database: pool, priceSource }: Deps,
  run: ClaimedReprice,
  { signal, onProgress }: RepriceAllOptions,
): Promise<RepriceResult> {
  const { workspaceId, models } = run;
  const { database } = pool;
  const readPrices = () => readWorkspacePrices(database, workspaceId, priceSource?.file);
  const before = run.before ?? (await sumWorkspaceUsage(database, workspaceId));
  if (run.before === undefined) await noteRepriceStart(database, run, before);
  let done = run.done;
  let prices: ModelPriceTable;
  let current = await readPrices();
  do {
    prices = current;
    const outdated = { workspaceId, models, priceVersion: prices.version };
    const total = done + (await countOutdatedPrices(database, outdated));
    onProgress(done, total);
    let readAtMs = performance.now();
    for await (const _ of repriceWorkspace({ database: pool }, workspaceId, prices, { models, signal })) {
      done += 1;
      onProgress(done, Math.max(done, total));
      if (performance.now() - readAtMs < PRICES_MAX_AGE_MS) continue;
      current = await readPrices();
      readAtMs = performance.now();
      if (current.version !== prices.version) break;
    }
    current = await readPrices();
  } while (current.version !== prices.version);
  const after = await sumWorkspaceUsage(database, workspaceId);
  return { transcripts: done, before, after, priceVersion: prices.version };
}
