import {
  compareRows,
  countStraySegments,
  createExpectedTexts,
  createScratchCopier,
  type Database,
  type DatabaseClient,
  findTranscript,
  findTranscriptArrivals,
  hasEqualFigures,
  isWaitingForSearch,
  listAllTranscripts,
  prepareScratchTables,
  type RowCheck,
  readWorkspaceSettings,
  SegmentVerifier,
  sql,
  type TranscriptRow,
  TranscriptWriter,
} from '@recount/db';
import type { PriceSource } from '@recount/prices';
import { RawStoreError } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { readWorkspacePrices } from '../prices/workspace-prices.ts';
import { parseRawObject } from '../process/parse-raw-object.ts';
import { PARSER_VERSION } from '../process/process-options.ts';
import { RawObjectMismatchError } from '../raw-objects/raw-object-mismatch-error.ts';
import { createRedaction, readEarlierSecrets, toRowsVersion } from '../secrets/redaction.ts';
import { compareDescription } from './check-description.ts';

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;
type VerifyDeps = Deps & { segments: SegmentVerifier };

interface VerifyOptions {
  /** As the workers have it, so longer lines are cut. */
  maxLineBytes: number;
  priceSource?: Pick<PriceSource, 'file'> | undefined;
  /** Called after each transcript with the bytes read so far. */
  onTranscript?: (read: { transcripts: number; bytes: number }) => void;
  signal?: AbortSignal | undefined;
}

/** The omitted parts by reason, as numbers of transcripts. */
export interface LeftOut {
  /** Retention has deleted the raw bytes, or the messages and texts. */
  rawDeleted: number;
  textsDeleted: number;
  /** Made by another version of the parser or of the rules of redaction. Workers ingest them again. */
  outdated: number;
  /** Transcripts whose costs alone are omitted, because they were priced at other rates, see `recount reprice`. */
  otherPrices: number;
  /** Without rows, because they are waiting, superseded or failed. */
  withoutRows: number;
  waitingForSearch: number;
}

/** Rows of a workspace held against its raw transcripts. */
export interface RawVerification {
  checks: RowCheck[];
  transcripts: number;
  bytes: number;
  leftOut: LeftOut;
  /** Ids of the first transcripts that differ, or that could not be read. */
  differing: string[];
  unreadable: string[];
}

const MAX_NAMED = 20;

/**
 * Reads every raw transcript of a workspace as its ingestion did, and compares each row made from it with the stored
 * one, with messages with tokens and costs, texts, usage, calls, events, issues, the figures that follow from texts,
 * search's texts with their tokens, and the description beside the object. One transcript at a time, each in a separate snapshot; rows
 * go through temporary tables of the database and are compared by hash, so that memory does not depend on their number.
 */
export async function verifyTranscripts(
  deps: Deps,
  workspaceId: string,
  options: VerifyOptions,
): Promise<RawVerification> {
  const { database } = deps.database;
  const result: RawVerification = {
    ...{ checks: [], transcripts: 0, bytes: 0, differing: [], unreadable: [] },
    leftOut: { rawDeleted: 0, textsDeleted: 0, outdated: 0, otherPrices: 0, withoutRows: 0, waitingForSearch: 0 },
  };
  const segments = new SegmentVerifier();
  for await (const page of listAllTranscripts(database, { workspaceId })) {
    for (const { id } of page) {
      options.signal?.throwIfAborted();
      const checks = await verifyOne({ ...deps, segments }, workspaceId, id, options, result);
      checks.push(...(await verifyDescription(deps, workspaceId, id)));
      for (const check of checks) addTo(result.checks, check);
      if (checks.some(isWrong) && result.differing.length < MAX_NAMED) result.differing.push(id);
      options.onTranscript?.(result);
    }
  }
  const surplus = await countStraySegments(database, workspaceId);
  addTo(result.checks, { table: 'search_segments', rows: surplus, missing: 0, surplus });
  return result;
}

const isWrong = ({ missing, surplus }: RowCheck): boolean => missing + surplus > 0;

function addTo(checks: RowCheck[], { table, rows, missing, surplus }: RowCheck): void {
  const sum = checks.find((check) => check.table === table);
  if (sum === undefined) checks.push({ table, rows, missing, surplus });
  else {
    sum.rows += rows;
    sum.missing += missing;
    sum.surplus += surplus;
  }
}

async function verifyDescription(deps: Deps, workspaceId: string, id: string): Promise<RowCheck[]> {
  const fields = await compareDescription(deps, { workspace_id: workspaceId, id });
  if (fields === undefined) return [];
  const wrong = fields.length > 0 ? 1 : 0;
  return [{ table: 'descriptions', rows: 1, missing: wrong, surplus: wrong }];
}

async function verifyOne(
  deps: VerifyDeps,
  workspaceId: string,
  id: string,
  options: VerifyOptions,
  result: RawVerification,
): Promise<RowCheck[]> {
  try {
    return await deps.database.withTransaction(
      async (transaction, client) => {
        await transaction.execute(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`);
        const transcript = await findTranscript(transaction, workspaceId, id);
        if (transcript === undefined) return [];
        return await compareWithRaw(deps, { transaction, client, transcript }, options, result);
      },
      { signal: options.signal },
    );
  } catch (error) {
    if (!(error instanceof RawStoreError) && !(error instanceof RawObjectMismatchError)) throw error;
    // Redaction or a deletion may have replaced the object since then.
    const now = await findTranscript(deps.database.database, workspaceId, id);
    if (now === undefined || now.raw_deleted_at !== null) return [];
    if (result.unreadable.length < MAX_NAMED) result.unreadable.push(id);
    return [];
  }
}

interface Held {
  transaction: Database;
  client: DatabaseClient;
  transcript: TranscriptRow;
}

/** Makes the rows of a transcript again beside the stored ones, and compares both. */
async function compareWithRaw(
  { rawStore, segments }: VerifyDeps,
  { transaction, client, transcript }: Held,
  options: VerifyOptions,
  result: RawVerification,
): Promise<RowCheck[]> {
  const { workspace_id: workspaceId, row_set_id: rowSetId, attempt_count: attemptCount } = transcript;
  const mode = (await readWorkspaceSettings(transaction, workspaceId))?.redaction ?? 'off';
  const reason = findReasonToLeaveOut(transcript, toRowsVersion(PARSER_VERSION, mode));
  if (reason !== undefined || rowSetId === null) {
    result.leftOut[reason ?? 'withoutRows'] += 1;
    return [];
  }
  const earlier = await readEarlierSecrets({ transaction, rawStore }, transcript);
  const redaction = await createRedaction(mode, { maxLineBytes: options.maxLineBytes, earlier });
  const prices = await readWorkspacePrices(transaction, workspaceId, options.priceSource?.file);
  const areCostsCompared = prices.version === transcript.price_version;
  if (!areCostsCompared) result.leftOut.otherPrices += 1;
  await prepareScratchTables(transaction);
  const rowSet = { workspaceId, rowSetId, firstNewNumbers: { entry: 0, call: 0 } };
  const copier = createScratchCopier(client);
  const writer = new TranscriptWriter(transaction, copier, rowSet, {
    ...{ agent: transcript.agent, priceVersion: prices.version },
  });
  const parsed = await parseRawObject(rawStore, transcript, [], {
    ...{ maxLineBytes: options.maxLineBytes, signal: options.signal, prices, redaction },
    minCheckpointBytes: Number.POSITIVE_INFINITY,
    resumePoint: undefined,
    arrivals: transcript.is_stream ? await findTranscriptArrivals(transaction, workspaceId, transcript.id) : undefined,
  });
  const texts = createExpectedTexts(rowSetId);
  for await (const batch of parsed.batches) {
    texts.addBatch(batch);
    await writer.write(batch);
  }
  await copier.sendAll();
  result.transcripts += 1;
  result.bytes += transcript.size_bytes;
  const { summary, counts } = await writer.finish();
  const completed = {
    ...{ transcriptId: transcript.id, sentRepository: transcript.sent_repository, rowSet, summary, attemptCount },
    counts: { ...counts, secretsByRule: redaction.toCounts() },
  };
  const areEqual = await hasEqualFigures(transaction, workspaceId, completed, { areCostsCompared });
  const wrong = areEqual ? 0 : 1;
  return [
    { table: 'transcripts', rows: 1, missing: wrong, surplus: wrong },
    ...(await compareRows(transaction, rowSet, { areCostsCompared })),
    ...(await compareTexts(transaction, rowSet, { segments, hashes: texts.hashes }, result)),
  ];
}

async function compareTexts(
  transaction: Database,
  rowSet: { workspaceId: string; rowSetId: string },
  { segments, hashes }: { segments: SegmentVerifier; hashes: readonly number[] },
  { leftOut }: RawVerification,
): Promise<RowCheck[]> {
  if (await isWaitingForSearch(transaction, rowSet.workspaceId, rowSet.rowSetId)) {
    leftOut.waitingForSearch += 1;
    return [];
  }
  return [{ table: 'search_segments', ...(await segments.compare(transaction, rowSet, hashes)) }];
}

function findReasonToLeaveOut(transcript: TranscriptRow, rowsVersion: string): keyof LeftOut | undefined {
  if (transcript.ingested_at === null || transcript.row_set_id === null) return 'withoutRows';
  if (transcript.raw_deleted_at !== null) return 'rawDeleted';
  if (transcript.rows_deleted_at !== null) return 'textsDeleted';
  return transcript.parser_version === rowsVersion ? undefined : 'outdated';
}
