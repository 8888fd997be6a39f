import type { Issue } from '@recount/core';
import { type Database, listIssues, type TranscriptRow } from '@recount/db';
import { SECRET_ISSUE_CODE } from './redaction.ts';

/** What an earlier ingestion told of the secrets that it took out of the raw object. */
export interface EarlierSecrets {
  counts: Record<string, number>;
  issues: Issue[];
}

/** Far more than are stored. */
const MAX_ISSUES = 10_000;

/** Read before the rows of that ingestion are deleted: the object cannot tell of them any more. */
export async function readEarlierSecrets(transaction: Database, transcript: TranscriptRow): Promise<EarlierSecrets> {
  const { stored_sha256, row_set_id } = transcript;
  if (stored_sha256 === null || row_set_id === null) return { counts: {}, issues: [] };
  const rows = await listIssues(transaction, transcript.workspace_id, row_set_id, { limit: MAX_ISSUES });
  const issues = rows.flatMap(({ code, severity, message, line_number, byte_offset, occurrence_count }): Issue[] => {
    if (code !== SECRET_ISSUE_CODE) return [];
    return [
      { code, severity, error: message, lineNumber: line_number, byteOffset: byte_offset, count: occurrence_count },
    ];
  });
  return { counts: transcript.secret_counts as Record<string, number>, issues };
}
