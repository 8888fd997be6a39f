import {
  type Database,
  type DatabaseClient,
  findTranscript,
  listGroupableTranscripts,
  lockFreeSessions,
  lockWorkspaceShared,
  type RedactionMode,
  refreshStatistics,
  type TranscriptRow,
  toNewRowSet,
} from '@recount/db';
import type { RawStore } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { MAX_GROUPED_BYTES } from '../limits.ts';
import { readWorkspacePrices } from '../prices/workspace-prices.ts';
import { deleteRecordedObjects } from '../raw-objects/delete-raw-objects.ts';
import { redactRawObject } from '../raw-objects/redact-raw-object.ts';
import { createRedaction, toRowsVersion } from '../secrets/redaction.ts';
import { type ObjectReader, type ParseOptions, parseRawObject } from './parse-raw-object.ts';
import { ingestHeld, PARSER_VERSION, type ProcessOptions } from './process-transcript.ts';
import { type PlannedTranscript, writeTranscripts } from './write-transcripts.ts';

/** Raw objects of a group that are read concurrently, and stay in memory until they are parsed. */
const MAX_READS_AT_ONCE = 16;
const MAX_HELD_BYTES = 2 * 1024 * 1024;

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** Transcripts that are done once the transaction is committed, and the raw objects to delete after that. */
interface Done {
  transcripts: TranscriptRow[];
  replacedKeys: string[];
}

/** The connection of a transaction that holds the workspace. */
interface Held {
  transaction: Database;
  client: DatabaseClient;
  redactionMode: RedactionMode;
}

/**
 * Ingests the groupable ones among the transcripts in one transaction, and leaves the others unchanged, which are those
 * in sessions that have other versions or that another process holds, those that were tried before, and those whose raw
 * object cannot be read. Of several in one session takes the longest. A single transcript, such as the next version of a
 * session that grows, may have other versions. Returns the transcripts that are done. If one fails, throws, and none is
 * ingested.
 */
export async function processGroup(
  deps: Deps,
  workspaceId: string,
  transcriptIds: readonly string[],
  options: ProcessOptions,
): Promise<TranscriptRow[]> {
  await refreshStatistics(deps.database.database, workspaceId);
  const { transcripts, replacedKeys } = await deps.database.withTransaction(
    async (transaction, client): Promise<Done> => {
      const settings = await lockWorkspaceShared(transaction, workspaceId);
      if (settings === undefined) return { transcripts: [], replacedKeys: [] };
      const held = { transaction, client, redactionMode: settings.redaction };
      // Versions of a session are certain only with its lock.
      const sessionIds = await lockFreeSessions(transaction, workspaceId, transcriptIds);
      const limits = { sessionIds, maxBytes: MAX_GROUPED_BYTES };
      const groupable = await listGroupableTranscripts(transaction, workspaceId, transcriptIds, limits);
      const [only, another] = transcriptIds;
      if (groupable.length > 0) return await ingestTogether(deps.rawStore, held, groupable, options);
      const found =
        another === undefined && only !== undefined && (await findTranscript(transaction, workspaceId, only));
      return found && isFirstAttempt(found) && sessionIds.includes(found.session_id)
        ? await ingestOne(deps.rawStore, held, found, options)
        : { transcripts: [], replacedKeys: [] };
    },
    { signal: options.signal },
  );
  await deleteRecordedObjects(deps, workspaceId, replacedKeys);
  return transcripts;
}

const isFirstAttempt = ({ status, attempt_count }: TranscriptRow): boolean =>
  status === 'queued' && attempt_count === 0;

async function ingestOne(rawStore: RawStore, held: Held, row: TranscriptRow, options: ProcessOptions): Promise<Done> {
  const transcript = { ...row, attempt_count: 1 };
  const { replacedKeys } = await ingestHeld(rawStore, { ...held, transcript }, options, { mayResume: true });
  return { transcripts: [transcript], replacedKeys };
}

async function ingestTogether(
  rawStore: RawStore,
  { transaction, client, redactionMode }: Held,
  groupable: readonly TranscriptRow[],
  options: ProcessOptions,
): Promise<Done> {
  const workspaceId = groupable[0]?.workspace_id ?? '';
  const prices = options.prices ?? (await readWorkspacePrices(transaction, workspaceId, options.priceSource?.file));
  const versions = { parser: toRowsVersion(PARSER_VERSION, redactionMode), prices: prices.version };
  const ingested: PlannedTranscript[] = [];
  async function* planned(): AsyncGenerator<PlannedTranscript> {
    for await (const plan of openTranscripts(rawStore, groupable, redactionMode, { ...options, prices })) {
      ingested.push(plan);
      yield plan;
    }
  }
  await writeTranscripts({ transaction, client }, workspaceId, planned(), { ...options, versions });
  const done: Done = { transcripts: ingested.map(({ transcript }) => transcript), replacedKeys: [] };
  for (const { transcript, redaction } of ingested) {
    if (redactionMode !== 'rows-and-raw' || redaction?.hasChanged !== true) continue;
    const key = await redactRawObject({ transaction, rawStore }, transcript, options);
    if (key !== undefined) done.replacedKeys.push(key);
  }
  return done;
}

/** Splits a list into parts with at most this many entries and bytes in total, but at least one entry. */
export function splitBySize<Entry extends { size_bytes: number }>(
  entries: readonly Entry[],
  { maxCount, maxBytes }: { maxCount: number; maxBytes: number },
): Entry[][] {
  const parts: Entry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const part = parts.at(-1);
    bytes += entry.size_bytes;
    if (part !== undefined && part.length < maxCount && bytes <= maxBytes) part.push(entry);
    else {
      parts.push([entry]);
      bytes = entry.size_bytes;
    }
  }
  return parts;
}

/** Leaves out transcripts whose object cannot be read. Ingested separately, they fail for that reason. */
async function* openTranscripts(
  rawStore: RawStore,
  rows: readonly TranscriptRow[],
  mode: RedactionMode,
  options: Omit<ParseOptions, 'redaction'>,
): AsyncGenerator<PlannedTranscript> {
  for (const some of splitBySize(rows, { maxCount: MAX_READS_AT_ONCE, maxBytes: MAX_HELD_BYTES })) {
    const opened = await Promise.all(
      some.map(async (row) => {
        const redaction = await createRedaction(mode, options);
        try {
          const store = row.size_bytes > MAX_HELD_BYTES ? rawStore : await holdObject(rawStore, row, options.signal);
          const { batches } = await parseRawObject(store, row, [], { ...options, redaction });
          const rowSet = toNewRowSet({ workspaceId: row.workspace_id, rowSetId: row.id });
          return { transcript: { ...row, attempt_count: 1 }, rowSet, batches, redaction };
        } catch {
          options.signal?.throwIfAborted();
          return undefined;
        }
      }),
    );
    for (const plan of opened) if (plan !== undefined) yield plan;
  }
}

/** Reads a small object into memory, so that several are read together. */
async function holdObject(
  rawStore: RawStore,
  { object_key }: TranscriptRow,
  signal: AbortSignal | undefined,
): Promise<ObjectReader> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await rawStore.get(object_key, { signal })) chunks.push(chunk);
  return { get: async () => readChunks(chunks) };
}

/** Cheaper than a stream for each small transcript. */
async function* readChunks(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
