import type { Issue } from '@recount/core';
import { type Database, listIssues, type TranscriptRow } from '@recount/db';
import type { ObjectDescription, RawStore } from '@recount/storage';

export const SECRET_ISSUE_CODE = 'secret_redacted';

/** What an earlier ingestion told of the secrets that it took out of the raw object. */
export interface EarlierSecrets {
  counts: Record<string, number>;
  issues: Issue[];
}

/** Far more than are stored. */
const MAX_ISSUES = 10_000;
/** About half of what a description may have. */
const MAX_DESCRIBED_ISSUES = 4000;
const NONE: EarlierSecrets = { counts: {}, issues: [] };

/**
 * Read before the rows of that ingestion are deleted: the object cannot tell of them any more. Without rows, since the
 * database was rebuilt, its description does.
 */
export async function readEarlierSecrets(
  { transaction, rawStore }: { transaction: Database; rawStore: RawStore },
  transcript: TranscriptRow,
): Promise<EarlierSecrets> {
  const { stored_sha256, row_set_id, object_key } = transcript;
  if (stored_sha256 === null) return NONE;
  if (row_set_id === null) return parseDescribedSecrets(await rawStore.readDescription(object_key));
  const rows = await listIssues(transaction, transcript.workspace_id, row_set_id, { limit: MAX_ISSUES });
  const issues = rows.flatMap(({ code, severity, message, line_number, byte_offset, occurrence_count }): Issue[] => {
    if (code !== SECRET_ISSUE_CODE) return [];
    return [
      { code, severity, error: message, lineNumber: line_number, byteOffset: byte_offset, count: occurrence_count },
    ];
  });
  return { counts: transcript.secret_counts as Record<string, number>, issues };
}

/** What is described of the secrets that were taken out of an object: those that an earlier copy lacked, and these. */
export function describeSecrets(earlier: ObjectDescription | undefined, found: EarlierSecrets): object {
  const { counts, issues } = parseDescribedSecrets(earlier);
  const sums = { ...counts };
  for (const [rule, count] of Object.entries(found.counts)) sums[rule] = (sums[rule] ?? 0) + count;
  return { secrets: { counts: sums, issues: [...issues, ...found.issues].slice(0, MAX_DESCRIBED_ISSUES) } };
}

function parseDescribedSecrets(description: ObjectDescription | undefined): EarlierSecrets {
  const secrets = description?.secrets as Partial<EarlierSecrets> | undefined;
  return typeof secrets?.counts === 'object' && Array.isArray(secrets.issues) ? (secrets as EarlierSecrets) : NONE;
}
