import type { TranscriptBatch } from '@recount/core';
import {
  type CompletedTranscript,
  completeTranscripts,
  createSearchWriter,
  createTranscriptCopier,
  type Database,
  type DatabaseClient,
  type DerivedOrigin,
  type DerivedRows,
  listReplacements,
  markSuperseded,
  type RowSet,
  settleSessions,
  supersedeTranscripts,
  TranscriptDeriver,
  type TranscriptRow,
  TranscriptWriter,
  toCheckpointRow,
  type WrittenTranscript,
} from '@recount/db';
import type { Redaction } from '../secrets/redaction.ts';
import { checkCreditOrder, type ResumePoint } from './resume-point.ts';
import { findPrefixes } from './session-versions.ts';

/** A transcript to be ingested; the transaction holds its session's lock. */
export interface PlannedTranscript {
  transcript: TranscriptRow;
  rowSet: RowSet;
  batches: AsyncIterable<TranscriptBatch>;
  /**
   * The other versions of the session that have rows, and the transcript's hashes at their lengths, available after the
   * last batch.
   */
  others: readonly TranscriptRow[];
  hashesByLength: ReadonlyMap<number, string>;
  /** The shorter version whose rows the transcript takes over. */
  resumePoint?: ResumePoint | undefined;
  redaction: Redaction;
}

export interface WriteOptions {
  versions: { parser: string; prices: string };
  /** Transcripts that lost their rows when they were planned; complete after the last one. */
  superseded: readonly TranscriptRow[];
  signal?: AbortSignal | undefined;
}

/** `derived` is undefined if only the stored rows tell it. */
type Written = PlannedTranscript &
  WrittenTranscript & { derived: DerivedRows | undefined; derivedState: Uint8Array | undefined };

/** Responses of a batch whose derived rows are kept in memory, about a kilobyte each. SQL derives the others'. */
const MAX_DERIVED_RESPONSES = 40_000;

/** The caller's transaction, and its connection. */
interface Connection {
  transaction: Database;
  client: DatabaseClient;
}

/**
 * Writes the rows of transcripts of one workspace, and everything derived from them, in the caller's transaction. A
 * transcript replaces the versions that are its beginnings. Returns the ids of transcripts that another version has
 * replaced already.
 */
export async function writeTranscripts(
  connection: Connection,
  workspaceId: string,
  planned: AsyncIterable<PlannedTranscript>,
  options: WriteOptions,
): Promise<ReadonlySet<string>> {
  const { transaction } = connection;
  const all = await writeRows(connection, workspaceId, planned, options);
  if (all.length === 0 && options.superseded.length === 0) return new Set();
  const { superseded, removedRowSetIds } = await replaceVersions(transaction, workspaceId, all);
  removedRowSetIds.push(...toRowSetIds(options.superseded));
  const written = all.map(({ rowSet }) => rowSet).filter(({ rowSetId }) => !removedRowSetIds.includes(rowSetId));
  const hadRows = ({ row_set_id }: TranscriptRow): boolean => row_set_id !== null;
  const changed = [...all.map(({ transcript }) => transcript), ...options.superseded.filter(hadRows)];
  const sessionIds = changed.map(({ session_id }) => session_id);
  const rowlessIds = options.superseded.map(({ session_id }) => session_id).filter((id) => !sessionIds.includes(id));
  const change = { workspaceId, sessionIds, rowlessIds, written, removedRowSetIds };
  await settleSessions(transaction, change, { client: connection.client, derived: all.filter(isDerived) });
  return superseded;
}

/** Writes the rows of transcripts while they are parsed, what search must know of them, and their figures. */
async function writeRows(
  { transaction, client }: Connection,
  workspaceId: string,
  planned: AsyncIterable<PlannedTranscript>,
  { versions, signal }: WriteOptions,
): Promise<Written[]> {
  const copier = createTranscriptCopier(client);
  const search = createSearchWriter(copier, workspaceId);
  const all: Written[] = [];
  let derivedCount = 0;
  for await (const plan of planned) {
    const { rowSet, transcript } = plan;
    const origin = { agent: transcript.agent, priceVersion: versions.prices };
    const writer = new TranscriptWriter(transaction, copier, rowSet, origin);
    const deriver = derivedCount < MAX_DERIVED_RESPONSES ? createDeriver(plan, versions) : undefined;
    for await (const batch of plan.batches) {
      search.addBatch(rowSet.rowSetId, batch);
      await writer.write(batch);
      deriver?.add(batch);
    }
    signal?.throwIfAborted();
    const written = await writer.finish();
    const derived = deriver?.finish(written.summary);
    derivedCount += derived?.ledger.length ?? 0;
    const isNew = isFirst(plan) || rowSet.prefix !== undefined;
    all.push({ ...plan, ...written, derived: isNew ? derived : undefined, derivedState: deriver?.toState() });
  }
  if (all.length === 0) return [];
  search.endSegment();
  for (const written of all) {
    const checkpoint = toCheckpoint(written);
    if (checkpoint !== undefined) copier.addCheckpoint(checkpoint);
  }
  await copier.sendAll();
  for (const written of all) await adoptPrefixRows(transaction, workspaceId, written);
  await completeTranscripts(transaction, workspaceId, all.map(toCompleted), versions);
  await search.finish(transaction);
  return all;
}

/** Supersedes the versions that a transcript begins with, and those that another one replaces. */
async function replaceVersions(
  transaction: Database,
  workspaceId: string,
  all: readonly Written[],
): Promise<{ superseded: Set<string>; removedRowSetIds: string[] }> {
  const removedRowSetIds: string[] = [];
  for (const { resumePoint, transcript, hashesByLength, others } of all) {
    if (resumePoint !== undefined) continue;
    const replaced = findPrefixes(transcript, hashesByLength, others);
    await supersedeTranscripts(transaction, workspaceId, replaced, transcript.id);
    removedRowSetIds.push(...toRowSetIds(replaced));
  }
  const superseded = new Set<string>();
  const rowSets = all.map(({ rowSet }) => rowSet);
  for (const { transcript, others, resumePoint } of all) {
    // A session that grew has no other version with rows than the one that it took over.
    if (others.length === 0 || resumePoint !== undefined) continue;
    for (const { replaced, by } of await listReplacements(transaction, workspaceId, transcript.session_id, rowSets)) {
      await supersedeTranscripts(transaction, workspaceId, [replaced], by);
      superseded.add(replaced.id);
      removedRowSetIds.push(...toRowSetIds([replaced]));
    }
  }
  return { superseded, removedRowSetIds };
}

/** Undefined if the state of the shorter version's deriver is missing. */
function createDeriver(plan: PlannedTranscript, versions: WriteOptions['versions']): TranscriptDeriver | undefined {
  const origin = toOrigin(plan, versions);
  if (plan.rowSet.prefix === undefined) return new TranscriptDeriver(origin);
  const state = plan.resumePoint?.checkpoint.derived_state ?? null;
  return state === null ? undefined : TranscriptDeriver.continue(origin, state);
}

const toCheckpoint = ({ rowSet, transcript, checkpoint, derivedState }: Written) =>
  checkpoint && toCheckpointRow(rowSet, transcript.size_bytes, checkpoint, derivedState);

/** It has no rows yet, nor has its session. */
const isFirst = ({ transcript, rowSet, others }: PlannedTranscript): boolean =>
  transcript.ingested_at === null && rowSet.prefix === undefined && others.length === 0;

function toOrigin({ transcript, rowSet }: PlannedTranscript, versions: WriteOptions['versions']): DerivedOrigin {
  const { session_id: sessionId, agent, is_subagent: isSubagent, is_stream: isStream } = transcript;
  const { sent_repository: sentRepository } = transcript;
  return { ...{ ...rowSet, sessionId, agent, isSubagent, isStream, sentRepository }, priceVersion: versions.prices };
}

const isDerived = (written: Written): written is Written & { derived: DerivedRows } => written.derived !== undefined;

async function adoptPrefixRows(
  transaction: Database,
  workspaceId: string,
  { resumePoint, summary, transcript }: Written,
): Promise<void> {
  if (resumePoint === undefined) return;
  checkCreditOrder(resumePoint, summary);
  await markSuperseded(transaction, workspaceId, [resumePoint.prefix], transcript.id);
}

function toCompleted({ transcript, rowSet, summary, counts, redaction }: Written): CompletedTranscript {
  const allCounts = { ...counts, secretsByRule: redaction.toCounts() };
  return {
    transcriptId: transcript.id,
    sentRepository: transcript.sent_repository,
    rowSet,
    summary,
    counts: allCounts,
    attemptCount: transcript.attempt_count,
  };
}

export const toRowSetIds = (transcripts: readonly Pick<TranscriptRow, 'row_set_id'>[]): string[] =>
  transcripts.flatMap(({ row_set_id }) => row_set_id ?? []);
