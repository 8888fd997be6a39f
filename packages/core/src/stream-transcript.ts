import { type TranscriptInput, toChunks } from './input-chunks.ts';
import type { Issue } from './issues.ts';
import type { ParseOptions } from './parse-options.ts';
import type { ParsedContentBlock, TranscriptMessage } from './rows.ts';
import { createTranscriptParser, type TranscriptSummary } from './transcript-parser.ts';

/** Rows in the order of the transcript. */
export interface TranscriptBatch {
  messages: TranscriptMessage[];
  /** Messages of earlier batches as they are after later lines of the same response: each replaces its row. */
  updatedMessages: TranscriptMessage[];
  contentBlocks: ParsedContentBlock[];
  issues: Issue[];
}

/** A batch is handed over once it holds this many rows, or rows of lines of this many bytes. */
export const BATCH_ROWS = 1000;
export const BATCH_BYTES = 1024 * 1024;

/**
 * Parses a transcript in bounded memory. Yields batches of rows; returns statistics and metadata of the whole, or of
 * what was read when `options.signal` aborted. Throws only what the input throws.
 */
export async function* streamTranscript(
  sessionId: string,
  input: TranscriptInput,
  options: ParseOptions = {},
): AsyncGenerator<TranscriptBatch, TranscriptSummary> {
  const batcher = createBatcher(options.onLineError);
  const parser = createTranscriptParser(sessionId, options, batcher);
  let bytesInBatch = 0;
  for await (const chunk of toChunks(input, options.signal)) {
    parser.push(chunk);
    bytesInBatch += chunk.length;
    if (batcher.rowCount >= BATCH_ROWS || (bytesInBatch >= BATCH_BYTES && batcher.rowCount > 0)) {
      bytesInBatch = 0;
      yield batcher.takeBatch();
    }
  }
  if (!options.signal?.aborted) parser.finish();
  if (batcher.rowCount > 0) yield batcher.takeBatch();
  return parser.toSummary();
}

function createBatcher(onLineError: ParseOptions['onLineError']) {
  let batch: TranscriptBatch = { messages: [], updatedMessages: [], contentBlocks: [], issues: [] };
  let firstOrdinal = 0;
  let updated = new Set<TranscriptMessage>();
  return {
    addMessage(message: TranscriptMessage): void {
      if (batch.messages.length === 0) firstOrdinal = message.ordinal;
      batch.messages.push(message);
    },
    addBlock(block: ParsedContentBlock): void {
      batch.contentBlocks.push(block);
    },
    changeMessage(message: TranscriptMessage): void {
      if (batch.messages.length === 0 || message.ordinal < firstOrdinal) updated.add(message);
    },
    addIssue(issue: Issue): void {
      batch.issues.push(issue);
      if (issue.severity === 'error') onLineError?.(issue.lineNumber, issue.error);
    },
    get rowCount(): number {
      return batch.messages.length + batch.contentBlocks.length + batch.issues.length + updated.size;
    },
    takeBatch(): TranscriptBatch {
      const full = { ...batch, updatedMessages: [...updated] };
      batch = { messages: [], updatedMessages: [], contentBlocks: [], issues: [] };
      updated = new Set();
      return full;
    },
  };
}
