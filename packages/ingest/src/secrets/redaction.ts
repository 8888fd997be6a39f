import type { Issue, TranscriptBatch } from '@recount/core';
import { type Database, listIssues, type RedactionMode, type TranscriptRow } from '@recount/db';
import type { ObjectDescription, RawStore } from '@recount/storage';
import { RULE_SET_VERSION } from './rule-set-version.ts';

/** Part of a transcript's parser version. Rows without it, or with another one, must be made again. */
export function toRowsVersion(parserVersion: string, redaction: RedactionMode): string {
  return redaction === 'off' ? parserVersion : `${parserVersion}+${RULE_SET_VERSION}`;
}

const SECRET_ISSUE_CODE = 'secret_redacted';

/** The secrets that an earlier ingestion removed from the raw object. */
interface EarlierSecrets {
  counts: Record<string, number>;
  issues: Issue[];
}

/** Far more than are stored. */
const MAX_ISSUES = 10_000;
/** About half of what a description may hold. */
const MAX_DESCRIBED_ISSUES = 4000;
const NONE: EarlierSecrets = { counts: {}, issues: [] };

/**
 * Read before the rows of that ingestion are deleted, because the object no longer contains the secrets. If the
 * database was rebuilt there are no rows, and its description is used.
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

/** The description of the secrets removed from an object (those that an earlier copy lacked, and these). */
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

/** Redacts one transcript while it is read, and reports what it found. */
export interface Redaction {
  /**
   * The bytes without secrets, every line at its original offset; or the bytes unchanged if the workspace does not want
   * redaction.
   */
  redact(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** The batches, with an issue for each kind of secret on each line read so far. */
  withIssues(batches: AsyncIterable<TranscriptBatch>): AsyncGenerator<TranscriptBatch, void>;
  /** Number of secrets by the rule that found them, including earlier ones. */
  toCounts(): Record<string, number>;
  /** The issues that `withIssues` has not emitted. */
  takeIssues(): Issue[];
  /** True if the workspace wants redaction. */
  readonly isOn: boolean;
  /** True if any byte has been changed so far. */
  readonly hasChanged: boolean;
}

/** `earlier` are secrets that are no longer in the raw object, because a redacted copy replaced it. */
export async function createRedaction(
  mode: RedactionMode,
  { maxLineBytes, earlier = NONE }: { maxLineBytes: number; earlier?: EarlierSecrets },
): Promise<Redaction> {
  const counts = { ...earlier.counts };
  let issues = [...earlier.issues];
  // Loaded on demand, because the rules take 0.1 s to load.
  const redactor =
    mode === 'off'
      ? undefined
      : new (await import('./index.ts')).TranscriptRedactor({
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
