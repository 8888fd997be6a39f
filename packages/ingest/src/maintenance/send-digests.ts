import {
  type DigestRow,
  findLastPeriod,
  listDigests,
  listWorkspaces,
  readDigest,
  sendDigest,
  withReportSnapshot,
} from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';

type Deps = Pick<IngestDependencies, 'database'>;

const DEFAULT_INTERVAL_MS = 60_000;
/** Late uploads of a period's last day are waited for. */
const WAIT_MS = 6 * 60 * 60_000;

/**
 * Sends a digest of the latest period that ended six hours ago or earlier, if it was not sent yet and did not end before
 * the digest was made. Returns whether it did.
 */
export async function sendDueDigest({ database }: Deps, digest: DigestRow, nowMs: number): Promise<boolean> {
  const dueMs = nowMs - WAIT_MS;
  const { from } = findLastPeriod(digest, dueMs);
  // A new digest begins with the period of its creation.
  const first = findLastPeriod(digest, Date.parse(digest.created_at)).to;
  if (from < first || (digest.sent_period !== null && digest.sent_period >= from)) return false;
  const content = await withReportSnapshot(database, (snapshot) => readDigest(snapshot, digest, dueMs));
  return await database.withTransaction((transaction) => sendDigest(transaction, digest, content));
}

interface DigestDeps extends LoopDeps {
  /** Called for every digest that was put into the outbox. */
  onReport: (report: { workspaceId: string; digestId: string }) => void;
  /** Milliseconds since 1970. Default Date.now. */
  now?: () => number;
}

/** Sends due digests of all workspaces, now and every minute, in one process at a time. */
export async function runDigests(
  deps: DigestDeps,
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: LoopOptions,
): Promise<void> {
  const { database, now = Date.now, onReport } = deps;
  await runLoop(deps, { signal, intervalMs, lock: 'digests' }, async (attempt) => {
    for (const { id: workspaceId } of await listWorkspaces(database.database)) {
      for (const digest of await listDigests(database.database, workspaceId)) {
        if (signal.aborted) return;
        await attempt(async () => {
          if (await sendDueDigest(deps, digest, now())) onReport({ workspaceId, digestId: digest.id });
        });
      }
    }
  });
}
