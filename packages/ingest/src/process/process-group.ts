import { Readable } from 'node:stream';
import {
  listGroupableTranscripts,
  lockFreeSessions,
  lockWorkspaceShared,
  refreshStatistics,
  type TranscriptRow,
  toNewRowSet,
} from '@recount/db';
import type { RawStore } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { MAX_GROUPED_BYTES } from '../limits.ts';
import { readWorkspacePrices } from '../prices/workspace-prices.ts';
import { createRedaction, toRowsVersion } from '../secrets/redaction.ts';
import { type ParseOptions, parseRawObject } from './parse-raw-object.ts';
import { PARSER_VERSION, type ProcessOptions } from './process-transcript.ts';
import { type PlannedTranscript, writeTranscripts } from './write-transcripts.ts';

/** Raw objects of a group that are read concurrently, and stay in memory until they are parsed. */
const MAX_READS_AT_ONCE = 16;
const MAX_HELD_BYTES = 2 * 1024 * 1024;

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

/** A transcript and its parse. */
interface OpenedTranscript {
  row: TranscriptRow;
  batches: PlannedTranscript['batches'];
}

/**
 * Ingests the groupable ones among the transcripts in one transaction, and leaves the others unchanged, which are those
 * in sessions that have other versions or that another process holds, those that were tried before, and those whose raw
 * object cannot be read. Returns the ingested ones. If the workspace redacts secrets, none is groupable. If one fails,
 * throws, and none is ingested.
 */
export async function processGroup(
  { database, rawStore }: Deps,
  workspaceId: string,
  transcriptIds: readonly string[],
  options: ProcessOptions,
): Promise<TranscriptRow[]> {
  await refreshStatistics(database.database, workspaceId);
  const { signal } = options;
  return await database.withTransaction(
    async (transaction, client) => {
      const settings = await lockWorkspaceShared(transaction, workspaceId);
      if (settings?.redaction !== 'off') return [];
      // Versions of a session are certain only with its lock.
      const sessionIds = await lockFreeSessions(transaction, workspaceId, transcriptIds);
      const limits = { sessionIds, maxBytes: MAX_GROUPED_BYTES };
      const groupable = await listGroupableTranscripts(transaction, workspaceId, transcriptIds, limits);
      if (groupable.length === 0) return [];
      const prices = options.prices ?? (await readWorkspacePrices(transaction, workspaceId, options.priceSource?.file));
      const versions = { parser: toRowsVersion(PARSER_VERSION, settings.redaction), prices: prices.version };
      const redaction = await createRedaction('off', { ...options, earlier: { counts: {}, issues: [] } });
      const ingested: TranscriptRow[] = [];
      async function* planned(): AsyncGenerator<PlannedTranscript> {
        for await (const { row, batches } of openObjects(rawStore, groupable, { ...options, prices, redaction })) {
          ingested.push(row);
          const rowSet = toNewRowSet({ workspaceId, rowSetId: row.id });
          yield { transcript: { ...row, attempt_count: 1 }, rowSet, batches };
        }
      }
      await writeTranscripts({ transaction, client }, workspaceId, planned(), { versions, signal });
      return ingested;
    },
    { signal },
  );
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
async function* openObjects(
  rawStore: RawStore,
  rows: readonly TranscriptRow[],
  options: Omit<ParseOptions, 'arrivals' | 'resumePoint'>,
): AsyncGenerator<OpenedTranscript> {
  for (const some of splitBySize(rows, { maxCount: MAX_READS_AT_ONCE, maxBytes: MAX_HELD_BYTES })) {
    const opened = await Promise.all(
      some.map(async (row) => {
        try {
          const store = row.size_bytes > MAX_HELD_BYTES ? rawStore : await holdObject(rawStore, row, options.signal);
          return { row, ...(await parseRawObject(store, row, [], options)) };
        } catch {
          options.signal?.throwIfAborted();
          return undefined;
        }
      }),
    );
    for (const transcript of opened) if (transcript !== undefined) yield transcript;
  }
}

/** Reads a small object into memory, so that several are read together. */
async function holdObject(
  rawStore: RawStore,
  { object_key }: TranscriptRow,
  signal: AbortSignal | undefined,
): Promise<Pick<RawStore, 'get'>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await rawStore.get(object_key, { signal })) chunks.push(chunk);
  return { get: async () => Readable.from(chunks) };
}
