import { createHash, type Hash } from 'node:crypto';
import {
  createTranscriptHead,
  DEFAULT_AGENT_ID,
  findAgentFormat,
  findFormat,
  type TranscriptIdentity,
} from '@recount/core';
import type { StoredVersion } from '@recount/db';
import { DEFAULT_MIN_CHECKPOINT_BYTES } from '../limits.ts';
import { cutAtLengths } from '../raw-objects/hash-prefixes.ts';

export type ReceiveErrorCode = 'too-large' | 'empty' | 'unidentified' | 'unsupported-format' | 'invalid-session-id';

/** The upload cannot be accepted as it is; sending it again will not help. Nothing of it was stored. */
export class ReceiveError extends Error {
  override name = 'ReceiveError';
  readonly code: ReceiveErrorCode;

  constructor(code: ReceiveErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The format of a transcript's ingestion. It is the caller's if given, else the format of its lines, else the session
 * format of the agent that its uploader names. Throws TypeError for an unknown agent.
 */
export function chooseFormat(
  identity: Pick<TranscriptIdentity, 'format'>,
  { format = identity.format, agent = DEFAULT_AGENT_ID }: { format?: string | undefined; agent?: string | undefined },
): { agent: string; format: string } {
  const known = (format === undefined ? undefined : findFormat(format)) ?? findAgentFormat(agent);
  if (known === undefined) throw new TypeError(`recount knows no agent ${agent}`);
  return { agent: known.agent.id, format: known.format.id };
}

/** A stored version of the session that a transcript begins with. */
interface ComparedPrefix {
  transcriptId: string;
  /** SHA-256 (hex) of the bytes that follow. */
  tailSha256: string;
}

interface VersionComparison {
  update(chunk: Uint8Array): void;
  /**
   * SHA-256 (hex) of all bytes, and the longest version that they begin with; to be called once, after the last chunk.
   */
  toResult(): { sha256: string; prefix: ComparedPrefix | undefined };
  /** Adds versions to compare with, if they are no shorter than the bytes seen so far. */
  add(versions: readonly StoredVersion[]): void;
}

/** With a given hash, up to this many bytes wait until it is clear that they need no hashing. */
const MAX_UNHASHED_BYTES = 1024 * 1024;

/**
 * Hashes a transcript as it passes, and compares it with shorter ones by their hashes. With a given hash, and if there
 * are no shorter ones, it is not hashed again.
 */
function createVersionComparison(knownSha256: string | undefined): VersionComparison {
  const whole = createHash('sha256');
  let offset = 0;
  let pending: StoredVersion[] = [];
  let prefix: { version: StoredVersion; tail: Hash } | undefined;
  let isHashing = knownSha256 === undefined;
  let unhashed: Uint8Array[] = [];
  let mayCompare = true;

  const compare = (): void => {
    const reached = pending.filter(({ sizeBytes }) => sizeBytes === offset);
    if (reached.length === 0) return;
    pending = pending.slice(reached.length);
    const sha256 = whole.copy().digest('hex');
    const version = reached.find((candidate) => candidate.sha256 === sha256);
    if (version !== undefined) prefix = { version, tail: createHash('sha256') };
  };
  const hash = (chunk: Uint8Array): void => {
    const lengths = pending.map(({ sizeBytes }) => sizeBytes);
    for (const part of cutAtLengths(chunk, offset, lengths)) {
      whole.update(part);
      prefix?.tail.update(part);
      offset += part.length;
      compare();
    }
  };
  const startHashing = (): void => {
    isHashing = true;
    for (const chunk of unhashed) hash(chunk);
    unhashed = [];
  };

  return {
    add(versions) {
      pending = versions.filter(({ sizeBytes }) => sizeBytes >= offset).sort((a, b) => a.sizeBytes - b.sizeBytes);
      mayCompare = pending.length > 0;
      if (mayCompare && !isHashing) startHashing();
      unhashed = [];
    },
    update(chunk) {
      if (isHashing) return hash(chunk);
      if (!mayCompare) return;
      unhashed.push(chunk);
      if (unhashed.reduce((sum, { length }) => sum + length, 0) > MAX_UNHASHED_BYTES) startHashing();
    },
    toResult: () => ({
      sha256: isHashing || knownSha256 === undefined ? whole.digest('hex') : knownSha256,
      prefix: prefix && {
        transcriptId: prefix.version.id,
        tailSha256: prefix.tail.digest('hex'),
      },
    }),
  };
}

interface MeasureOptions {
  sessionId?: string | undefined;
  path?: string | undefined;
  /** The session of the transcript, if the uploader names it. */
  agent?: string | undefined;
  /** Undefined unless the caller knows it. Transcripts whose lines look like an unreadable format are then rejected. */
  format?: string | undefined;
  /** SHA-256 (hex) of the bytes, if the caller has hashed them and guarantees that they are unchanged. */
  sha256?: string | undefined;
  maxBytes: number;
  /** Versions of the session that the transcript may have grown from; called once, and only if it is large. */
  listVersions: (sessionId: string) => Promise<readonly StoredVersion[]>;
}

interface MeasuredBody {
  /** The body's bytes, unchanged; fails with a ReceiveError if they cannot be accepted. */
  chunks: AsyncIterable<Uint8Array>;
  /** Call it once, after the last chunk. */
  toResult(): {
    sha256: string;
    sizeBytes: number;
    identity: TranscriptIdentity;
    /** Undefined if the transcript does not continue another one, or is small. */
    prefix: ComparedPrefix | undefined;
  };
}

/** Hashes, counts and identifies a transcript as it passes. Holds only its first bytes, until they suffice. */
export function measureBody(body: AsyncIterable<Uint8Array>, options: MeasureOptions): MeasuredBody {
  const comparison = createVersionComparison(options.sha256);
  const { sessionId, agent, path } = options;
  const head = createTranscriptHead({ sessionId, agent, path });
  let sizeBytes = 0;
  let isCompared = false;

  const compareVersions = async (): Promise<void> => {
    const knownId = head.sessionId();
    if (isCompared || sizeBytes < DEFAULT_MIN_CHECKPOINT_BYTES || knownId === undefined) return;
    isCompared = true;
    comparison.add(await options.listVersions(knownId));
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
