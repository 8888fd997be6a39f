import { type Actor, listTranscripts, readWorkspaceSettings, type TranscriptRow, waitForWriters } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { PARSER_VERSION } from '../process/process-options.ts';
import { type RequeueAudit, requeueTranscript } from '../queue/requeue-transcript.ts';
import { toRowsVersion } from '../secrets/redaction.ts';

const PAGE_ROWS = 500;

/**
 * Requeues every transcript of a workspace whose rows were made by an older parser or with other redaction rules, or
 * whose raw object contains secrets that the workspace no longer wants there; yields their ids. First waits for running
 * ingestions, which may have started with the old settings.
 */
export async function* requeueOutdated(
  deps: Pick<IngestDependencies, 'database'>,
  workspaceId: string,
  actor: Actor = 'system',
): AsyncGenerator<string> {
  let audit: RequeueAudit | undefined = { actor, of: 'outdated' };
  const redaction = (await readWorkspaceSettings(deps.database.database, workspaceId))?.redaction ?? 'off';
  const version = toRowsVersion(PARSER_VERSION, redaction);
  await waitForWriters(deps.database.database);
  const isOutdated = (row: TranscriptRow): boolean => {
    if (row.status === 'ingested' && row.parser_version !== version) return true;
    if (redaction !== 'rows-and-raw' || row.stored_sha256 !== null) return false;
    // Unknown for superseded transcripts, which have no rows.
    return row.status === 'superseded' || Object.keys(row.secret_counts).length > 0;
  };
  const statuses = ['ingested', 'superseded'] as const;
  let afterId: string | undefined;
  for (;;) {
    const page = { afterId, limit: PAGE_ROWS };
    const rows = await listTranscripts(deps.database.database, workspaceId, { statuses }, page);
    for (const row of rows) {
      if (!isOutdated(row)) continue;
      if (!(await requeueTranscript(deps, { workspaceId, transcriptId: row.id }, statuses, audit))) continue;
      audit = undefined;
      yield row.id;
    }
    afterId = rows.at(-1)?.id;
    if (rows.length < PAGE_ROWS) return;
  }
}
