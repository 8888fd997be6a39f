import type { Arrival, PriceTable } from '@recount/core';
import {
  type Database,
  deleteTranscriptRows,
  findNextUsageNumbers,
  findTranscriptArrivals,
  preferIndexes,
  type RedactionMode,
  type RowSet,
  supersedeTranscripts,
  type TranscriptRow,
  toNewRowSet,
} from '@recount/db';
import { type RawStore, RawStoreError } from '@recount/storage';
import pLimit from 'p-limit';
import { ulid } from 'ulid';
import { hashRedacted } from '../raw-objects/redact-raw-object.ts';
import { createRedaction, readEarlierSecrets } from '../secrets/redaction.ts';
import { type ObjectReader, parseRawObject } from './parse-raw-object.ts';
import type { ProcessOptions } from './process-options.ts';
import { findResumePoint, type ResumePoint, toPrefixRows } from './resume-point.ts';
import { findExtension } from './session-versions.ts';
import { type PlannedTranscript, toRowSetIds } from './write-transcripts.ts';

/** Raw objects that are read concurrently, and stay in memory until they are parsed. */
const MAX_READS_AT_ONCE = 16;
const MAX_HELD_BYTES = 2 * 1024 * 1024;

/** A transcript to be ingested, and the other versions of its session that have rows. */
export interface VersionedTranscript {
  transcript: TranscriptRow;
  others: readonly TranscriptRow[];
}

export interface PlanOptions extends ProcessOptions {
  prices: PriceTable;
  versions: { parser: string; prices: string };
  redactionMode: RedactionMode;
  /** Throws if a raw object cannot be read; otherwise the transcript is left out. */
  isAlone: boolean;
  mayResume: boolean;
}

/** A transcript that was planned, and if it has secrets, which is certain once it is parsed. */
interface PlannedResult {
  transcript: TranscriptRow;
  isSuperseded: boolean;
  hasSecrets: () => boolean;
}

/**
 * Decides for each transcript which rows it gets, and opens its raw object. Beginnings of stored versions are
 * superseded; the others are to be written.
 */
export class TranscriptPlanner {
  readonly done: PlannedResult[] = [];
  /** Versions whose raw objects are lost or cut. */
  readonly lost: TranscriptRow[] = [];
  /** Beginnings of stored versions. */
  readonly superseded: TranscriptRow[] = [];
  readonly #transaction: Database;
  readonly #rawStore: RawStore;
  readonly #options: PlanOptions;
  /** The connection runs one statement at a time, while objects are read together. */
  readonly #inTurn = pLimit(1);

  constructor(transaction: Database, rawStore: RawStore, options: PlanOptions) {
    this.#transaction = transaction;
    this.#rawStore = rawStore;
    this.#options = options;
  }

  /** Small objects are read together. */
  async *plan(chosen: readonly VersionedTranscript[]): AsyncGenerator<PlannedTranscript> {
    const sized = chosen.map((each) => ({ ...each, size_bytes: each.transcript.size_bytes }));
    for (const some of splitBySize(sized, { maxCount: MAX_READS_AT_ONCE, maxBytes: MAX_HELD_BYTES })) {
      const planned = await Promise.all(some.map((each) => this.#planOne(each)));
      for (const plan of planned) if (plan !== undefined) yield plan;
    }
  }
  async #planOne(versioned: VersionedTranscript): Promise<PlannedTranscript | undefined> {
    try {
      return (await this.#isSuperseded(versioned)) ? undefined : await this.#open(versioned);
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      if (this.#options.isAlone || !(error instanceof RawStoreError)) throw error;
      return undefined;
    }
  }

  /** Supersedes the transcript if a longer version begins with it. */
  async #isSuperseded({ transcript, others }: VersionedTranscript): Promise<boolean> {
    if (others.length === 0) return false;
    const toRedactedHash = () => hashRedacted(this.#rawStore, transcript, this.#options);
    const comparing = { signal: this.#options.signal, toRedactedHash };
    const { extension, lost } = await findExtension(this.#rawStore, transcript, others, comparing);
    this.lost.push(...lost);
    if (extension === undefined) return false;
    const { workspace_id: workspaceId } = transcript;
    await this.#inTurn(() => supersedeTranscripts(this.#transaction, workspaceId, [transcript], extension.id));
    this.superseded.push(transcript);
    this.done.push({ transcript, isSuperseded: true, hasSecrets: () => true });
    return true;
  }

  async #open({ transcript, others }: VersionedTranscript): Promise<PlannedTranscript> {
    const { versions, redactionMode, maxLineBytes, mayResume } = this.#options;
    const [transaction, rawStore] = [this.#transaction, this.#rawStore];
    const earlier = await this.#inTurn(() => readEarlierSecrets({ transaction, rawStore }, transcript));
    const redaction = await createRedaction(redactionMode, { maxLineBytes, earlier });
    const { resumePoint, arrivals } = await this.#inTurn(async () => {
      const found = mayResume ? await findResumePoint(transaction, transcript, others, versions) : undefined;
      if (found !== undefined) await preferIndexes(transaction);
      return { resumePoint: found, arrivals: await this.#findArrivals(transcript) };
    });
    const isHeld = transcript.size_bytes <= MAX_HELD_BYTES && resumePoint === undefined;
    const source = isHeld ? await this.#holdObject(transcript) : rawStore;
    const parsing = { ...this.#options, arrivals, redaction, resumePoint };
    const parsed = await parseRawObject(source, transcript, others, parsing);
    const rowSet = await this.#inTurn(async () => {
      await deleteTranscriptRows(transaction, transcript.workspace_id, toRowSetIds([transcript]));
      return await this.#toRowSet({ transcript, others }, resumePoint);
    });
    this.done.push({ transcript, isSuperseded: false, hasSecrets: () => redaction.hasChanged });
    return { transcript, rowSet, others, resumePoint, redaction, ...parsed };
  }

  async #toRowSet({ transcript, others }: VersionedTranscript, resumePoint: ResumePoint | undefined): Promise<RowSet> {
    const rowSetId = resumePoint?.prefix.row_set_id ?? chooseRowSetId(transcript, others);
    const key = { workspaceId: transcript.workspace_id, rowSetId };
    // Without a row set it has no separate rows yet.
    if (transcript.row_set_id === null && resumePoint === undefined) return toNewRowSet(key);
    const firstNewNumbers = await findNextUsageNumbers(this.#transaction, key);
    return { ...key, firstNewNumbers, prefix: resumePoint && toPrefixRows(resumePoint) };
  }

  /** Lines of a recorded stream have no times. */
  async #findArrivals({ is_stream, workspace_id, id }: TranscriptRow): Promise<Arrival[] | undefined> {
    return is_stream ? await findTranscriptArrivals(this.#transaction, workspace_id, id) : undefined;
  }

  async #holdObject({ object_key }: TranscriptRow): Promise<ObjectReader> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of await this.#rawStore.get(object_key, { signal: this.#options.signal }))
      chunks.push(chunk);
    return { get: async () => readChunks(chunks) };
  }
}

/** Cheaper than a stream for each small transcript. */
async function* readChunks(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** The transcript's own id, unless a longer version took over the rows stored under it. */
function chooseRowSetId({ id, row_set_id }: TranscriptRow, others: readonly TranscriptRow[]): string {
  if (row_set_id !== null) return row_set_id;
  return others.some((other) => other.row_set_id === id) ? ulid() : id;
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
