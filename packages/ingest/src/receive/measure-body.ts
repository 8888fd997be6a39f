import { IDENTIFY_HEAD_BYTES, identifyTranscript, READABLE_FORMATS, type TranscriptIdentity } from '@recount/core';
import type { StoredVersion } from '@recount/db';
import { DEFAULT_MIN_CHECKPOINT_BYTES } from '../process/parse-raw-object.ts';
import { type ComparedBeginning, createVersionComparison } from './compare-versions.ts';
import { ReceiveError } from './receive-error.ts';

export interface MeasureOptions {
  sessionId?: string | undefined;
  path?: string | undefined;
  /** Undefined unless the caller knows it: transcripts whose lines look like an unreadable format are then refused. */
  format?: string | undefined;
  maxBytes: number;
  /** Versions of the session that the transcript may have grown from; asked once, and only where it is larger. */
  listVersions: (sessionId: string) => Promise<readonly StoredVersion[]>;
}

export interface MeasuredBody {
  /** The body's bytes, unchanged; fails with a ReceiveError where they cannot be accepted. */
  chunks: AsyncIterable<Uint8Array>;
  /** To be called once, after the last chunk. */
  toResult(): {
    sha256: string;
    sizeBytes: number;
    identity: TranscriptIdentity;
    /** Undefined where the transcript does not go on from another one, or is small. */
    beginning: ComparedBeginning | undefined;
  };
}

const READABLE_FORMAT_IDS = READABLE_FORMATS.map(({ format }) => format.id).join(', ');
const FIRST_LOOK_BYTES = 16 * 1024;

/** Hashes, counts and identifies a transcript while it streams by. Holds only its first bytes, until they suffice. */
export function measureBody(body: AsyncIterable<Uint8Array>, options: MeasureOptions): MeasuredBody {
  const comparison = createVersionComparison();
  const head = createHead(options);
  let sizeBytes = 0;
  let isCompared = false;

  const compareVersions = async (): Promise<void> => {
    const sessionId = head.sessionId();
    if (isCompared || sizeBytes < DEFAULT_MIN_CHECKPOINT_BYTES || sessionId === undefined) return;
    isCompared = true;
    comparison.add(await options.listVersions(sessionId));
  };

  async function* measure(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      await compareVersions();
      sizeBytes += chunk.length;
      if (sizeBytes > options.maxBytes) {
        throw new ReceiveError('too-large', `The transcript is larger than ${options.maxBytes} bytes`);
      }
      comparison.update(chunk);
      head.add(chunk);
      yield chunk;
    }
    head.finish();
  }

  return {
    chunks: measure(),
    toResult: () => ({ ...comparison.toResult(), sizeBytes, identity: head.finish() }),
  };
}

/** Collects a transcript's beginning until it tells whose it is; looks again each time it has grown fourfold. */
function createHead(options: MeasureOptions): {
  add(chunk: Uint8Array): void;
  finish(): TranscriptIdentity;
  /** As soon as it is known for certain. */
  sessionId(): string | undefined;
} {
  const { sessionId, path } = options;
  let parts: Uint8Array[] = [];
  let length = 0;
  let nextLookBytes = FIRST_LOOK_BYTES;
  let identity: TranscriptIdentity | undefined;
  let isDone = false;

  const look = (): TranscriptIdentity => {
    identity = identifyTranscript({ sessionId, path, head: Buffer.concat(parts) });
    if (options.format === undefined && identity.format !== undefined && !identity.isReadable) {
      throw new ReceiveError(
        'unsupported-format',
        `This is a ${identity.format} transcript; recount reads ${READABLE_FORMAT_IDS} so far`,
      );
    }
    isDone = identity.isConclusive || length >= IDENTIFY_HEAD_BYTES;
    if (isDone) parts = [];
    return identity;
  };

  return {
    sessionId: () => (isDone ? identity?.sessionId : undefined),
    add(chunk) {
      if (isDone) return;
      // A copy: the body's buffer may be reused.
      const part = Uint8Array.from(chunk.subarray(0, IDENTIFY_HEAD_BYTES - length));
      parts.push(part);
      length += part.length;
      if (length < nextLookBytes) return;
      nextLookBytes = Math.min(length * 4, IDENTIFY_HEAD_BYTES);
      look();
    },
    finish() {
      const result = isDone && identity !== undefined ? identity : look();
      isDone = true;
      parts = [];
      return result;
    },
  };
}
