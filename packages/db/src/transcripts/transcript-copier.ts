import type { PoolClient } from 'pg';
import { createRowCopier } from '../copy/row-copier.ts';
import { contentBlocks, ingestIssues, transcriptMessages } from '../messages/schema.ts';
import { sessionEvents, toolCalls, usageEntries } from '../usage/schema.ts';

export type TranscriptCopier = ReturnType<typeof createTranscriptCopier>;

/**
 * Takes the rows of transcripts within a transaction, whose connection `client` is. Rows are sent a few megabytes at a
 * time, while the next ones are parsed and encoded; Postgres' error is thrown by a later `sendFull`, or by `sendAll`.
 */
export function createTranscriptCopier(client: PoolClient) {
  const { openTable, sendFull, sendAll } = createRowCopier(client);
  return {
    addMessage: openTable(transcriptMessages),
    addBlock: openTable(contentBlocks),
    addUsageEntry: openTable(usageEntries),
    addToolCall: openTable(toolCalls),
    addEvent: openTable(sessionEvents),
    addIssue: openTable(ingestIssues),
    sendFull,
    sendAll,
  };
}
