import { createHash } from 'node:crypto';
import { type Database, nameRedactedObject, type TranscriptRow } from '@recount/db';
import { type RawStore, redactedObjectKey } from '@recount/storage';
import { monotonicFactory } from 'ulid';
import { createRedaction } from './redaction.ts';

interface Options {
  maxLineBytes: number;
  signal?: AbortSignal | undefined;
}

const newCopyId = monotonicFactory();

/**
 * Stores a redacted copy of a transcript's raw object and lets its row name that. Returns the key of the object of before,
 * which the caller deletes when the transaction has ended; undefined where there was nothing to redact. A copy of which no
 * row tells, as the transaction failed, is found by `recount doctor`.
 */
export async function redactRawObject(
  deps: { transaction: Database; rawStore: RawStore },
  transcript: TranscriptRow,
  options: Options,
): Promise<string | undefined> {
  const { rawStore } = deps;
  const copy = await startRedactedCopy(rawStore, transcript, options);
  const objectKey = redactedObjectKey({
    workspaceId: transcript.workspace_id,
    transcriptId: transcript.id,
    copyId: newCopyId(),
  });
  await rawStore.put(objectKey, copy.chunks, { signal: options.signal });
  if (!copy.hasChanged()) {
    await rawStore.delete(objectKey);
    return undefined;
  }
  await nameRedactedObject(deps.transaction, transcript, { objectKey, storedSha256: copy.toDigest() });
  return transcript.object_key;
}

/** SHA-256 (hex) of what `redactRawObject` would store. */
export async function hashRedacted(rawStore: RawStore, transcript: TranscriptRow, options: Options): Promise<string> {
  const copy = await startRedactedCopy(rawStore, transcript, options);
  for await (const _chunk of copy.chunks);
  return copy.toDigest();
}

async function startRedactedCopy(rawStore: RawStore, transcript: TranscriptRow, { maxLineBytes, signal }: Options) {
  const redaction = await createRedaction('rows-and-raw', { maxLineBytes, earlier: { counts: {}, issues: [] } });
  const raw = await rawStore.get(transcript.object_key, { signal });
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of redaction.redact(raw)) {
      hash.update(chunk);
      yield chunk;
    }
  }
  return { chunks: hashed(), hasChanged: () => redaction.hasChanged, toDigest: () => hash.digest('hex') };
}
