import { createHash } from 'node:crypto';
import { type Database, nameRedactedObject, recordRawObjectDeletions, type TranscriptRow } from '@recount/db';
import { type RawStore, redactedObjectKey } from '@recount/storage';
import { monotonicFactory } from 'ulid';
import { createRedaction, describeSecrets } from '../secrets/redaction.ts';
import { toTranscriptDescription } from './describe-transcript.ts';
import { hashPrefixes } from './hash-prefixes.ts';
import { RawObjectMismatchError } from './raw-object-mismatch-error.ts';

interface Options {
  maxLineBytes: number;
  signal?: AbortSignal | undefined;
}

const newCopyId = monotonicFactory();

/**
 * Stores a redacted copy of a transcript's raw object and makes its row name the copy. Returns the previous object's
 * key, which is recorded for deletion. The caller deletes the object after the transaction. Undefined if there was
 * nothing to redact. If the transaction fails, `recount doctor` finds the copy that no row names. Throws
 * RawObjectMismatchError if the object is not what was stored. The original is not given up for a copy of damaged
 * bytes.
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
  const storedSha256 = copy.toDigest();
  const described = { ...transcript, stored_sha256: storedSha256 };
  const earlier = await rawStore.readDescription(transcript.object_key);
  await rawStore.describe(objectKey, {
    ...earlier,
    ...describeSecrets(earlier, copy.toSecrets()),
    ...toTranscriptDescription(described, transcript.created_at),
  });
  await nameRedactedObject(deps.transaction, transcript, { objectKey, storedSha256 });
  await recordRawObjectDeletions(deps.transaction, transcript.workspace_id, [transcript.object_key]);
  return transcript.object_key;
}

/** SHA-256 (hex) of what `redactRawObject` would store. */
export async function hashRedacted(rawStore: RawStore, transcript: TranscriptRow, options: Options): Promise<string> {
  const copy = await startRedactedCopy(rawStore, transcript, options);
  for await (const _chunk of copy.chunks);
  return copy.toDigest();
}

async function startRedactedCopy(rawStore: RawStore, transcript: TranscriptRow, { maxLineBytes, signal }: Options) {
  const redaction = await createRedaction('rows-and-raw', { maxLineBytes });
  const raw = hashPrefixes(await rawStore.get(transcript.object_key, { signal }), []);
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of redaction.redact(raw.chunks)) {
      hash.update(chunk);
      yield chunk;
    }
    const sha256 = raw.toDigest();
    const expected = transcript.stored_sha256 ?? transcript.sha256;
    if (sha256 !== expected) throw new RawObjectMismatchError(`Raw object has SHA-256 ${sha256}, not ${expected}`);
  }
  return {
    chunks: hashed(),
    hasChanged: () => redaction.hasChanged,
    toDigest: () => hash.digest('hex'),
    toSecrets: () => ({ counts: redaction.toCounts(), issues: redaction.takeIssues() }),
  };
}
