import type { Issue, TranscriptBatch } from '@recount/core';
import { type Database, listIssues, type RedactionMode, type TranscriptRow } from '@recount/db';
import type { ObjectDescription, RawStore } from '@recount/storage';
import { RULE_SET_VERSION } from '../redaction/rule-set-version.ts';

/** Part of a transcript's parser version: rows of which it is missing, or another one, are to be made again. */
export function toRowsVersion(parserVersion: string, redaction: RedactionMode): string {
  return redaction === 'off' ? parserVersion : `${parserVersion}+${RULE_SET_VERSION}`;
}

const SECRET_ISSUE_CODE = 'secret_redacted';

/** What an earlier ingestion told of the secrets that it took out of the raw object. */
interface EarlierSecrets {
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

/** Takes the secrets out of one transcript while it is read, and tells of them. */
export interface Redaction {
  /** The bytes without secrets, every line at its place; where the workspace does not want that, the bytes. */
  redact(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** The batches, with an issue for each kind of secret on each line that was read so far. */
  withIssues(batches: AsyncIterable<TranscriptBatch>): AsyncGenerator<TranscriptBatch, void>;
  /** Secrets by the rule that found them, those of earlier times included. */
  toCounts(): Record<string, number>;
  /** The issues that `withIssues` has not given. */
  takeIssues(): Issue[];
  /** Whether the workspace wants it. */
  readonly isOn: boolean;
  /** Whether any byte was changed so far. */
  readonly hasChanged: boolean;
}

/** `earlier`: secrets that are not in the raw object any more, as a redacted copy has taken its place. */
export async function createRedaction(
  mode: RedactionMode,
  { maxLineBytes, earlier }: { maxLineBytes: number; earlier: EarlierSecrets },
): Promise<Redaction> {
  const counts = { ...earlier.counts };
  let issues = [...earlier.issues];
  // Loaded where it is wanted only: rules take 0.1 s.
  const redactor =
    mode === 'off'
      ? undefined
      : (await import('../redaction/index.ts')).createTranscriptRedactor({
          maxLineBytes,
          onFinding({ rule, count, lineNumber, byteOffset }) {
            counts[rule] = (counts[rule] ?? 0) + count;
            issues.push(toSecretIssue({ rule, count, lineNumber, byteOffset }));
          },
        });
  const takeIssues = (): Issue[] => {
    const taken = issues;
    issues = [];
    return taken;
  };
  return {
    redact: (source) => redactor?.redact(source) ?? source,
    async *withIssues(batches) {
      for await (const batch of batches) {
        const found = takeIssues();
        yield found.length === 0 ? batch : { ...batch, issues: [...found, ...batch.issues] };
      }
    },
    toCounts: () => counts,
    takeIssues,
    isOn: redactor !== undefined,
    get hasChanged() {
      return redactor?.hasChanged ?? false;
    },
  };
}

function toSecretIssue({
  rule,
  count,
  lineNumber,
  byteOffset,
}: Pick<Issue, 'count' | 'lineNumber' | 'byteOffset'> & { rule: string }): Issue {
  return {
    code: SECRET_ISSUE_CODE,
    severity: 'warning',
    error: `Secret redacted: ${rule}`,
    lineNumber,
    byteOffset,
    count,
  };
}
