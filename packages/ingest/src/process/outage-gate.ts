import { setTimeout as sleep } from 'node:timers/promises';
import { checkDatabaseWrite, isConnectionLost, isDatabaseExhausted } from '@recount/db';
import { RawStoreError } from '@recount/storage';
import { toFailureReason } from '../failure-reason.ts';
import type { IngestDependencies } from '../ingest-dependencies.ts';

const MAX_CAUSES = 5;

/**
 * The facts of an error about the installation, rather than about the transcript:
 * - `away` means that the raw store failed, or the connection to the database was lost
 * - `store-full`, `database-exhausted` mean that it responds, but is out of space or another resource, or is read-only
 */
type Outage = 'away' | 'store-full' | 'database-exhausted';

/** Undefined if the transcript itself may have caused the error. */
export function toOutage(error: unknown): Outage | undefined {
  const storeError = findStoreError(error);
  if (storeError !== undefined) {
    if (storeError.code === 'out-of-space') return 'store-full';
    return storeError.retryable ? 'away' : undefined;
  }
  if (isDatabaseExhausted(error)) return 'database-exhausted';
  return isConnectionLost(error) ? 'away' : undefined;
}

function findStoreError(error: unknown): RawStoreError | undefined {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    if (current instanceof RawStoreError) return current;
    current = current.cause;
  }
  return undefined;
}

/** If this much can still be written, a transcript that fails for lack of space needs too much itself. */
const PROBE_BYTES = 4 * 1024 * 1024;
/** A probe without an answer for this long has failed. */
const PROBE_TIMEOUT_MS = 30_000;
const DEFAULT_PAUSE_MS = 2000;

export interface OutageGateDeps extends Pick<IngestDependencies, 'database' | 'rawStore'> {
  /**
   * Called when work stops, and when it resumes, because a shared resource is exhausted; `reason` contains nothing of a
   * transcript.
   */
  onChange: (state: { isOpen: boolean; reason?: string }) => void;
}

/** Stops a process from working while a shared resource is exhausted. */
export interface OutageGate {
  /** False while the resource is known to be exhausted. */
  isOpen(): boolean;
  /** Resolves when work may continue, or the signal aborts. Never rejects. */
  pass(signal?: AbortSignal): Promise<void>;
  /**
   * True if an error is caused by an exhausted resource that affects every client. A write by the gate itself fails as
   * well. If so, the gate closes until such a write succeeds. A lost connection never counts: the transcript may have
   * broken it.
   */
  isShared(error: unknown): Promise<boolean>;
}

/** `pauseMs` is the time between two probes while the gate is closed. */
export function createOutageGate(deps: OutageGateDeps, { pauseMs = DEFAULT_PAUSE_MS } = {}): OutageGate {
  const probes: Partial<Record<Outage, () => Promise<void>>> = {
    'store-full': () => deps.rawStore.check(),
    'database-exhausted': () => checkDatabaseWrite(deps.database, PROBE_BYTES),
  };
  let closed: { outage: Outage; reprobe: () => Promise<void> } | undefined;

  const close = (outage: Outage, reason: string, probe: () => Promise<void>): void => {
    if (closed !== undefined) return;
    // One probe at a time, however many jobs wait.
    let probing: Promise<void> | undefined;
    const reprobe = async (): Promise<void> => {
      if (await isFailing(probe)) return;
      closed = undefined;
      deps.onChange({ isOpen: true });
    };
    closed = {
      outage,
      reprobe: () => {
        probing ??= reprobe().finally(() => {
          probing = undefined;
        });
        return probing;
      },
    };
    deps.onChange({ isOpen: false, reason });
  };

  return {
    isOpen: () => closed === undefined,
    async pass(signal) {
      while (closed !== undefined && !signal?.aborted) {
        await sleep(pauseMs, undefined, { ...(signal && { signal }) }).catch(() => undefined);
        if (!signal?.aborted) await closed?.reprobe();
      }
    },
    async isShared(error) {
      const outage = toOutage(error);
      const probe = outage && probes[outage];
      if (outage === undefined || probe === undefined) return false;
      if (closed?.outage === outage) return true;
      if (!(await isFailing(probe))) return false;
      close(outage, toFailureReason(error), probe);
      return true;
    },
  };
}

async function isFailing(probe: () => Promise<void>): Promise<boolean> {
  const { promise: timedOut, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(true), PROBE_TIMEOUT_MS);
  const outcome = probe().then(
    () => false,
    () => true,
  );
  return await Promise.race([outcome, timedOut]).finally(() => clearTimeout(timer));
}
