import type { Issue, TranscriptBatch } from '@recount/core';
import type { RedactionMode } from '@recount/db';
import { type EarlierSecrets, SECRET_ISSUE_CODE } from './earlier-secrets.ts';

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
