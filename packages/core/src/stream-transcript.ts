import { type TranscriptInput, toChunks } from './input-chunks.ts';
import type { Issue } from './issues.ts';
import type { ParseOptions } from './parse-options.ts';
import type { ApiResponse, ParsedContentBlock, SessionEvent, ToolCall, TranscriptMessage } from './rows.ts';
import { createTranscriptParser, type RowSink, type TranscriptSummary } from './transcript-parser.ts';

/** Rows in the order of the transcript. */
export interface TranscriptBatch {
  messages: TranscriptMessage[];
  /** Messages of earlier batches as they are after later lines of the same response: each replaces its row. */
  updatedMessages: TranscriptMessage[];
  contentBlocks: ParsedContentBlock[];
  /** Each response, call and event once, when nothing can change it any more: at the latest in the last batch. */
  apiResponses: ApiResponse[];
  toolCalls: ToolCall[];
  events: SessionEvent[];
  issues: Issue[];
  /**
   * In one batch at most, and only if asked for: what `resumeFrom` takes once the transcript has grown. API responses and
   * tool calls of this batch and later ones then come again, as they are by then.
   */
  checkpoint?: Uint8Array | undefined;
}

/** A batch is handed over once it holds this many rows, or rows of lines of this many bytes. */
export const BATCH_ROWS = 1000;
export const BATCH_BYTES = 256 * 1024;

/**
 * Parses a transcript in bounded memory. Yields batches of rows; returns statistics and metadata of the whole, or of
 * what was read when `options.signal` aborted. Throws only what the input throws, and ResumeError.
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
  const isCheckpointWanted = options.makeCheckpoint && !options.signal?.aborted;
  while (isCheckpointWanted && parser.closeForCheckpoint()) {
    if (batcher.rowCount >= BATCH_ROWS) yield batcher.takeBatch();
  }
  const checkpoint = isCheckpointWanted ? parser.toCheckpoint() : undefined;
  if (checkpoint !== undefined) {
    if (batcher.rowCount > 0) yield batcher.takeBatch();
    yield { ...batcher.takeBatch(), checkpoint };
  }
  if (!options.signal?.aborted) parser.finish();
  while (parser.closeOldest()) if (batcher.rowCount >= BATCH_ROWS) yield batcher.takeBatch();
  if (batcher.rowCount > 0) yield batcher.takeBatch();
  return parser.toSummary();
}

interface Batcher extends RowSink {
  readonly rowCount: number;
  takeBatch(): TranscriptBatch;
}

function createBatcher(onLineError: ParseOptions['onLineError']): Batcher {
  let batch = createBatch();
  let rowCount = 0;
  let firstOrdinal = 0;
  let updated = new Map<number, TranscriptMessage>();
  const add = <T>(rows: T[], row: T): void => {
    rows.push(row);
    rowCount++;
  };
  return {
    addMessage(message) {
      if (batch.messages.length === 0) firstOrdinal = message.ordinal;
      add(batch.messages, message);
    },
    addBlock: (block) => add(batch.contentBlocks, block),
    changeMessage(message) {
      // Not always the object of before.
      if (batch.messages.length === 0 || message.ordinal < firstOrdinal) updated.set(message.ordinal, message);
      else batch.messages[message.ordinal - firstOrdinal] = message;
    },
    addApiResponse: (response) => add(batch.apiResponses, response),
    addToolCall: (call) => add(batch.toolCalls, call),
    addEvent: (event) => add(batch.events, event),
    addIssue(issue) {
      add(batch.issues, issue);
      if (issue.severity === 'error') onLineError?.(issue.lineNumber, issue.error);
    },
    get rowCount() {
      return rowCount + updated.size;
    },
    takeBatch() {
      const full = { ...batch, updatedMessages: [...updated.values()] };
      batch = createBatch();
      rowCount = 0;
      updated = new Map();
      return full;
    },
  };
}

function createBatch(): TranscriptBatch {
  return {
    messages: [],
    updatedMessages: [],
    contentBlocks: [],
    apiResponses: [],
    toolCalls: [],
    events: [],
    issues: [],
  };
}
