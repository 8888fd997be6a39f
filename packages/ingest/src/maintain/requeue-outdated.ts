import { listTranscripts } from '@recount/db';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { PARSER_VERSION } from '../process/process-transcript.ts';
import { requeueTranscript } from './requeue-transcript.ts';

const PAGE_ROWS = 500;

/** Has every transcript of a workspace ingested again whose rows an older parser made; yields their ids. */
export async function* requeueOutdated(
  deps: Pick<IngestDependencies, 'database' | 'queue'>,
  workspaceId: string,
): AsyncGenerator<string> {
  let afterId: string | undefined;
  for (;;) {
    const page = { afterId, limit: PAGE_ROWS };
    const rows = await listTranscripts(deps.database.database, workspaceId, { statuses: ['ingested'] }, page);
    for (const { id: transcriptId, parser_version } of rows) {
      if (parser_version === PARSER_VERSION) continue;
      if (await requeueTranscript(deps, { workspaceId, transcriptId }, ['ingested'])) yield transcriptId;
    }
    afterId = rows.at(-1)?.id;
    if (rows.length < PAGE_ROWS) return;
  }
}
