import { setTimeout as sleep } from 'node:timers/promises';
import { countTranscriptsByStatus, listTranscripts, listWorkspaces } from '@recount/db';
import { PARSER_VERSION } from '../process/process-options.ts';
import { requeueTranscript } from '../queue/requeue-transcript.ts';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';

interface Deps extends LoopDeps {
  /** Called for each workspace with requeued transcripts. */
  onReport(report: { workspaceId: string; transcripts: number }): void;
}

/** Transcripts requeued together. Uploads wait for no more than these. */
const BATCH_TRANSCRIPTS = 200;
/** The next ones follow when this few are left, so that workers do not wait. */
const MAX_LEFT = 50;
const DEFAULT_POLL_MS = 1000;
const DEFAULT_INTERVAL_MS = 60 * 60 * 1000;

/**
 * Ingests transcripts again whose rows an older parser made, so that figures are right after an upgrade. It does so
 * immediately, and then every hour, in one process at a time. Only a few are in the queue at a time. Rows stay until the
 * new ones replace them.
 */
export async function runReparsing(
  deps: Deps,
  { signal, intervalMs = DEFAULT_INTERVAL_MS, pollMs = DEFAULT_POLL_MS }: LoopOptions & { pollMs?: number },
): Promise<void> {
  await runLoop(deps, { signal, intervalMs, lock: 'reparse' }, async () => {
    for (const { id } of await listWorkspaces(deps.database.database)) {
      const transcripts = await reparseWorkspace(deps, id, { signal, pollMs });
      if (transcripts > 0) deps.onReport({ workspaceId: id, transcripts });
    }
  });
}

/** Returns the number of transcripts that were requeued. */
async function reparseWorkspace(
  { database }: Deps,
  workspaceId: string,
  { signal, pollMs }: { signal: AbortSignal; pollMs: number },
): Promise<number> {
  const filter = { statuses: ['ingested'], parsedBefore: Number(PARSER_VERSION) } as const;
  let requeuedCount = 0;
  let afterId: string | undefined;
  while (!signal.aborted) {
    const page = await listTranscripts(database.database, workspaceId, filter, { afterId, limit: BATCH_TRANSCRIPTS });
    afterId = page.at(-1)?.id;
    if (afterId === undefined) break;
    const ids = page.map(({ id }) => id);
    for (const transcriptId of ids) {
      const audit = requeuedCount === 0 ? ({ actor: 'system', of: 'outdated' } as const) : undefined;
      const isRequeued = await requeueTranscript({ database }, { workspaceId, transcriptId }, ['ingested'], audit);
      if (isRequeued) requeuedCount++;
    }
    const countLeft = async (): Promise<number> => {
      const { queued, processing } = await countTranscriptsByStatus(database.database, { workspaceId, ids });
      return queued + processing;
    };
    while (!signal.aborted && (await countLeft()) > MAX_LEFT) await pause(pollMs, signal);
  }
  return requeuedCount;
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
