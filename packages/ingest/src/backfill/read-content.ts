import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, type TranscriptIdentity } from '@recount/core';
import type { TranscriptSource } from '@recount/sources';
import type { BackfillSkipReason } from './backfill-report.ts';

/** A transcript, read as far as it need be before it is delivered. */
export interface SourceContent {
  sessionId: string | undefined;
  /** Of all bytes; undefined for one that is too long to hold and opens only once. */
  measure: { sha256: string; sizeBytes: number } | undefined;
  /** Can be called again, except where `measure` is undefined. */
  open(): AsyncIterable<Uint8Array>;
}

interface Beginning {
  held: Uint8Array[];
  isWhole: boolean;
}

const AGENT = 'claude-code';
const LINE_FEED = 0x0a;

/**
 * Reads a source until it is known whose transcript it is, and where possible what its bytes hash to; gives the reason
 * where it is none to be ingested. One of at most `maxHeldBytes` is read once and held; a longer one is read to its end
 * and opened anew to be delivered, or, where it opens only once, kept open behind its beginning. Rejects with a SourceError,
 * or with the reason of the aborted signal.
 */
export async function readContent(
  source: TranscriptSource,
  maxHeldBytes: number,
  signal: AbortSignal,
): Promise<SourceContent | BackfillSkipReason> {
  const stream = await source.open();
  let isKeptOpen = false;
  try {
    const chunks = abortable(stream, signal);
    const beginning = await readBeginning(chunks, maxHeldBytes);
    const { held, isWhole } = beginning;
    const head = Buffer.concat(held).subarray(0, IDENTIFY_HEAD_BYTES);
    const identity = identifyTranscript({ path: source.path, head });
    const skipReason = toSkipReason(identity, head, isWhole);
    if (skipReason !== undefined) return skipReason;
    const { sessionId } = identity;
    if (isWhole) return { sessionId, measure: await measure(held, undefined), open: () => toAsync(held) };
    if (source.reopenable) return { sessionId, measure: await measure(held, chunks), open: () => reopen(source) };
    isKeptOpen = true;
    return { sessionId, measure: undefined, open: () => resume(held, chunks, stream) };
  } finally {
    if (!isKeptOpen) stream.destroy();
  }
}

/** By the lines; where none tells, a sub-agent's path does, as for journals of sub-agents, whose lines name no session. */
function toSkipReason(
  { format, isSubagent, parentSessionId }: TranscriptIdentity,
  head: Buffer,
  isWhole: boolean,
): BackfillSkipReason | undefined {
  if (head.length === 0) return 'empty';
  if (format === AGENT) return undefined;
  if (format !== undefined) return `not-yet-known:${format}`;
  const hasTellingLine = isWhole || head.includes(LINE_FEED);
  return hasTellingLine && !(isSubagent && parentSessionId !== undefined) ? 'unknown-format' : undefined;
}

/** Read step by step, without `return`: breaking off in between leaves the stream as it is. */
async function* abortable(stream: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) {
    signal.throwIfAborted();
    yield chunk;
  }
}

async function readBeginning(chunks: AsyncGenerator<Uint8Array>, maxHeldBytes: number): Promise<Beginning> {
  const held: Uint8Array[] = [];
  let heldBytes = 0;
  while (heldBytes <= maxHeldBytes) {
    const next = await chunks.next();
    if (next.done) return { held, isWhole: true };
    held.push(next.value);
    heldBytes += next.value.length;
  }
  return { held, isWhole: false };
}

async function measure(
  held: readonly Uint8Array[],
  rest: AsyncGenerator<Uint8Array> | undefined,
): Promise<{ sha256: string; sizeBytes: number }> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const add = (chunk: Uint8Array): void => {
    hash.update(chunk);
    sizeBytes += chunk.length;
  };
  held.forEach(add);
  for (let next = await rest?.next(); next !== undefined && !next.done; next = await rest?.next()) add(next.value);
  return { sha256: hash.digest('hex'), sizeBytes };
}

async function* toAsync(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function* reopen(source: TranscriptSource): AsyncGenerator<Uint8Array> {
  yield* await source.open();
}

async function* resume(
  held: Uint8Array[],
  rest: AsyncGenerator<Uint8Array>,
  stream: Readable,
): AsyncGenerator<Uint8Array> {
  try {
    for (let chunk = held.shift(); chunk !== undefined; chunk = held.shift()) yield chunk;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    stream.destroy();
  }
}
