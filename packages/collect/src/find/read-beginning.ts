import { createUsageScanner, identifyTranscript, type TranscriptIdentity } from '@recount/core';

/** A transcript's beginning, and what it says about itself. */
interface TranscriptBeginning {
  /** Undefined if no line revealed it. */
  format: string | undefined;
  /** The folder where the session ran; null if the beginning names none. */
  workingDirectory: string | null;
}

/**
 * Reads the format of a transcript and the folder where its session ran. `path` is its path at the agent; `identity`
 * spares a caller who knows it from identifying the transcript twice.
 */
export function readBeginning(
  path: string,
  head: Uint8Array,
  identity: TranscriptIdentity = identifyTranscript({ path, head }),
): TranscriptBeginning {
  const { format, sessionId = path } = identity;
  if (format === undefined) return { format, workingDirectory: null };
  try {
    const scanner = createUsageScanner(sessionId, { format, onResponse: () => undefined });
    scanner.push(head);
    return { format, workingDirectory: scanner.finish().project };
  } catch (error) {
    // A format that is recognised but cannot be read.
    if (error instanceof TypeError) return { format, workingDirectory: null };
    throw error;
  }
}
