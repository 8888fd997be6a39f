import {
  IDENTIFY_HEAD_BYTES,
  type IdentifyInput,
  identifyTranscript,
  type TranscriptIdentity,
} from './identify-transcript.ts';

const FIRST_LOOK_BYTES = 16 * 1024;

/** The beginning of a transcript whose bytes pass by. */
export interface TranscriptHead {
  /** The chunk may be reused afterwards. */
  add(chunk: Uint8Array): void;
  /** The session, available as soon as it is certain. */
  sessionId(): string | undefined;
  /** The answer for all bytes added; none may be added afterwards. */
  finish(): TranscriptIdentity;
}

/**
 * Identifies a transcript by its beginning. Looks first at 16 KiB, and again each time it has collected four times as
 * much, until the answer is conclusive or IDENTIFY_HEAD_BYTES are collected; holds nothing afterwards.
 */
export function createTranscriptHead(input: Omit<IdentifyInput, 'head'>): TranscriptHead {
  let parts: Uint8Array[] = [];
  let length = 0;
  let nextLookBytes = FIRST_LOOK_BYTES;
  let identity: TranscriptIdentity | undefined;
  let isDone = false;

  const look = (): TranscriptIdentity => {
    identity = identifyTranscript({ ...input, head: Buffer.concat(parts) });
    isDone = identity.isConclusive || length >= IDENTIFY_HEAD_BYTES;
    if (isDone) parts = [];
    return identity;
  };

  return {
    add(chunk) {
      for (let start = 0; start < chunk.length && !isDone; ) {
        const part = Buffer.copyBytesFrom(chunk, start, nextLookBytes - length);
        parts.push(part);
        start += part.length;
        length += part.length;
        if (length < nextLookBytes) return;
        nextLookBytes = Math.min(length * 4, IDENTIFY_HEAD_BYTES);
        look();
      }
    },
    sessionId: () => (isDone ? identity?.sessionId : undefined),
    finish() {
      const result = isDone && identity !== undefined ? identity : look();
      isDone = true;
      parts = [];
      return result;
    },
  };
}
