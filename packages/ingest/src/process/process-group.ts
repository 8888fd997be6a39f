import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { streamTranscript } from '@recount/core';
import {
  type Database,
  type GroupableTranscript,
  listGroupableTranscripts,
  lockFreeSessions,
  lockWorkspaceShared,
  preferIndexes,
  refreshStatistics,
  toNewRowSet,
} from '@recount/db';
import type { RawStore } from '@recount/storage';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { DEFAULT_MIN_CHECKPOINT_BYTES, MAX_GROUPED_BYTES } from '../limits.ts';
import { readWorkspacePrices } from '../prices/workspace-prices.ts';
import { toRowsVersion } from '../secrets/redaction.ts';
import { PARSER_VERSION, type ProcessOptions } from './process-transcript.ts';
import { type PlannedTranscript, writeTranscripts } from './write-transcripts.ts';

/** Raw objects of a group that are read concurrently, and stay in memory until they are parsed. */
const MAX_READS_AT_ONCE = 16;
const MAX_HELD_BYTES = 2 * 1024 * 1024;

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

interface HeldTranscript {
  row: GroupableTranscript;
  chunks: readonly Uint8Array[];
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
): Promise<GroupableTranscript[]> {
  const { signal } = options;
  await refreshStatistics(database.database, workspaceId);
  return await database.withTransaction(
    async (transaction, client) => {
      const settings = await lockWorkspaceShared(transaction, workspaceId);
      if (settings?.redaction !== 'off') return [];
      await preferIndexes(transaction);
      const groupable = await lockGroupable(transaction, workspaceId, transcriptIds);
      if (groupable.length === 0) return [];
      const prices = options.prices ?? (await readWorkspacePrices(transaction, workspaceId, options.priceSource?.file));
      const versions = { parser: toRowsVersion(PARSER_VERSION, settings.redaction), prices: prices.version };
      const ingested: GroupableTranscript[] = [];
      async function* planned(): AsyncGenerator<PlannedTranscript> {
        for await (const { row, chunks } of readObjects(rawStore, groupable, signal)) {
          ingested.push(row);
          const rowSet = toNewRowSet({ workspaceId, rowSetId: row.id });
          const batches = streamTranscript(row.session_id, Readable.from(chunks), {
            ...options,
            prices,
            longLines: 'cut',
            format: row.format,
            isSubagent: row.is_subagent,
            makeCheckpoint: row.size_bytes >= (options.minCheckpointBytes ?? DEFAULT_MIN_CHECKPOINT_BYTES),
          });
          yield { transcript: { ...row, attempt_count: 1, stored_sha256: null }, rowSet, batches };
        }
      }
      await writeTranscripts({ transaction, client }, workspaceId, planned(), versions, signal);
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

/** Checks twice, because a session's versions are certain only with its lock. */
async function lockGroupable(
  transaction: Database,
  workspaceId: string,
  transcriptIds: readonly string[],
): Promise<GroupableTranscript[]> {
  const candidates = await listGroupableTranscripts(transaction, workspaceId, transcriptIds, MAX_GROUPED_BYTES);
  const sessionIds = candidates.map(({ session_id }) => session_id);
  const locked = await lockFreeSessions(transaction, workspaceId, sessionIds);
  const ids = candidates.filter(({ session_id }) => locked.has(session_id)).map(({ id }) => id);
  return await listGroupableTranscripts(transaction, workspaceId, ids, MAX_GROUPED_BYTES);
}

async function* readObjects(
  rawStore: RawStore,
  rows: readonly GroupableTranscript[],
  signal: AbortSignal | undefined,
): AsyncGenerator<HeldTranscript> {
  for (const some of splitBySize(rows, { maxCount: MAX_READS_AT_ONCE, maxBytes: MAX_HELD_BYTES })) {
    const objects = await Promise.all(some.map((row) => readObject(rawStore, row, signal)));
    for (const object of objects) if (object !== undefined) yield object;
  }
}

/**
 * Undefined if the object is missing or is not what was uploaded. Ingested separately, the transcript fails for that
 * reason.
 */
async function readObject(
  rawStore: RawStore,
  row: GroupableTranscript,
  signal: AbortSignal | undefined,
): Promise<HeldTranscript | undefined> {
  try {
    const chunks: Uint8Array[] = [];
    const hash = createHash('sha256');
    for await (const chunk of await rawStore.get(row.object_key, { signal })) {
      hash.update(chunk);
      chunks.push(chunk);
    }
    return hash.digest('hex') === row.sha256 ? { row, chunks } : undefined;
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}
