import { isTranscriptIssue, ResumeError, type TranscriptSummary } from '@recount/core';
import { type CheckpointRow, type Database, findCheckpoint, type PrefixRows, type TranscriptRow } from '@recount/db';
import type { PrefixHashes } from '../raw-objects/hash-prefixes.ts';

/**
 * The place where parsing of a session that grew can continue, with its shorter version, and the parser's state at that
 * one's end.
 */
export interface ResumePoint {
  prefix: TranscriptRow & { row_set_id: string };
  checkpoint: CheckpointRow;
  /** The beginning of the transcript was compared with the shorter version's bytes, by hash, when it was received. */
  isCompared: boolean;
}

/** Everything that a transcript's rows depend on, apart from its bytes. */
const EQUAL_COLUMNS = [
  'agent',
  'format',
  'is_subagent',
  'parent_session_id',
  'agent_id',
] as const satisfies readonly (keyof TranscriptRow)[];

/** True if two transcripts, where one begins with the other's bytes, have equal rows there. */
const haveEqualRows = (
  one: Pick<TranscriptRow, (typeof EQUAL_COLUMNS)[number] | 'stored_sha256'>,
  other: Pick<TranscriptRow, (typeof EQUAL_COLUMNS)[number] | 'stored_sha256'>,
): boolean =>
  one.stored_sha256 === null &&
  other.stored_sha256 === null &&
  EQUAL_COLUMNS.every((column) => one[column] === other[column]);

/**
 * The version of the session that the transcript may have grown from, if its rows can be extended. It is the only one
 * with rows, they are complete, and they were made by the same parser at the same rates.
 */
export function findUsablePrefix(
  transcript: TranscriptRow,
  others: readonly TranscriptRow[],
  versions: { parser: string; prices: string },
): ResumePoint['prefix'] | undefined {
  const [prefix, another] = others;
  if (prefix === undefined || another !== undefined) return undefined;
  if (transcript.ingested_at !== null) return undefined;
  const { row_set_id } = prefix;
  const isUsable =
    prefix.size_bytes < transcript.size_bytes &&
    prefix.status === 'ingested' &&
    prefix.rows_deleted_at === null &&
    prefix.parser_version === versions.parser &&
    prefix.price_version === versions.prices &&
    haveEqualRows(prefix, transcript);
  return row_set_id !== null && isUsable ? { ...prefix, row_set_id } : undefined;
}

/**
 * The place where parsing can continue (after a usable beginning with a checkpoint at its end). If the transcript was
 * not compared with it when received, reading its bytes will show whether it begins with them.
 */
export async function findResumePoint(
  transaction: Database,
  transcript: TranscriptRow,
  others: readonly TranscriptRow[],
  versions: { parser: string; prices: string },
): Promise<ResumePoint | undefined> {
  const prefix = findUsablePrefix(transcript, others, versions);
  if (prefix === undefined) return undefined;
  const key = { workspaceId: transcript.workspace_id, rowSetId: prefix.row_set_id };
  const checkpoint = await findCheckpoint(transaction, key);
  if (checkpoint?.byte_offset !== prefix.size_bytes) return undefined;
  const isCompared = transcript.grown_from === prefix.id && transcript.tail_sha256 !== null;
  return { prefix, checkpoint, isCompared };
}

/** The bytes after the resume point. Throws ResumeError if those before it are not the shorter version's. */
export async function* toBytesAfter({ prefix }: ResumePoint, hashes: PrefixHashes): AsyncGenerator<Uint8Array> {
  let restBytes = prefix.size_bytes;
  for await (const chunk of hashes.chunks) {
    if (chunk.length < restBytes) {
      restBytes -= chunk.length;
      continue;
    }
    if (restBytes > 0 && hashes.byLength.get(prefix.size_bytes) !== prefix.sha256) {
      throw new ResumeError('The transcript does not begin with the bytes of the shorter version');
    }
    if (chunk.length > restBytes) yield chunk.subarray(restBytes);
    restBytes = 0;
  }
}

export function toPrefixRows({ prefix, checkpoint }: ResumePoint): PrefixRows {
  const issuesByCode = prefix.issue_counts as Record<string, number>;
  // Issues about the whole transcript are listed again at its end.
  const kept = Object.entries(issuesByCode).filter(([code]) => !isTranscriptIssue(code));
  return {
    counts: {
      contentBlocks: prefix.content_block_count,
      errors: prefix.error_count,
      warnings: prefix.warning_count - (issuesByCode.total_mismatch ?? 0),
      issuesByCode: Object.fromEntries(kept),
    },
    numbers: {
      entry: checkpoint.entry_number,
      call: checkpoint.call_number,
      event: checkpoint.event_number,
      issue: checkpoint.issue_number,
    },
    hasTranscriptIssues: kept.length < Object.keys(issuesByCode).length,
  };
}

/**
 * Throws ResumeError if the transcript's earliest time is before its shorter version's. The ledger uses it to choose
 * which of several copies of a response is credited, including copies that were settled with the shorter version.
 */
export function checkCreditOrder({ prefix }: ResumePoint, { metadata }: TranscriptSummary): void {
  if (metadata.firstTimestamp !== prefix.first_timestamp) throw new ResumeError('An earlier timestamp was added');
}
