import type { Issue } from '../lines/issues.ts';
import type { ApiResponse, ParsedContentBlock, SessionEvent, ToolCall, TranscriptMessage } from '../records/rows.ts';
import { type TranscriptInput, toChunks } from './input-chunks.ts';
import type { ParseOptions } from './parse-options.ts';
import { type RowSink, TranscriptParser, type TranscriptSummary } from './transcript-parser.ts';

/** Rows, each emitted once and final. Nothing that comes later changes them. */
export interface TranscriptBatch {
  /** In the order of the transcript; a message is emitted when no later line is expected to belong to it. */
  messages: TranscriptMessage[];
  /** In the order of the transcript, emitted as their lines are read, before their messages. */
  contentBlocks: ParsedContentBlock[];
  apiResponses: ApiResponse[];
  toolCalls: ToolCall[];
  events: SessionEvent[];
  issues: Issue[];
  /**
   * In at most one batch, and only if requested. It is the value for `resumeFrom` once the transcript has grown.
   * Messages, API responses, tool calls and turns of later batches will then be emitted again, in their state at that time.
   */
  checkpoint?: Uint8Array | undefined;
  /**
   * In the last batch, the facts of the parse about the whole transcript, or about the part read when `options.signal`
   * aborted.
   */
  summary?: TranscriptSummary | undefined;
}

/** A batch is emitted once it holds this many rows, or rows from lines of this many bytes. */
export const BATCH_ROWS = 1000;
export const BATCH_BYTES = 256 * 1024;

/**
 * Parses a transcript in bounded memory. Yields batches of rows, the last one with the summary. Throws only what the input
 * throws, and ResumeError.
 */
export async function* streamTranscript(
  sessionId: string,
  input: TranscriptInput,
  options: ParseOptions = {},
): AsyncGenerator<TranscriptBatch, void> {
  const batcher = createBatcher(options.onLineError);
  const parser = new TranscriptParser(sessionId, options, batcher);
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
  yield { ...batcher.takeBatch(), summary: parser.toSummary() };
}

interface Batcher extends RowSink {
  readonly rowCount: number;
  takeBatch(): TranscriptBatch;
}

function createBatcher(onLineError: ParseOptions['onLineError']): Batcher {
  let batch = createBatch();
  let rowCount = 0;
  const add = <T>(rows: T[], row: T): void => {
    rows.push(row);
    rowCount++;
  };
  return {
    addMessage: (message) => add(batch.messages, message),
    addBlock: (block) => add(batch.contentBlocks, block),
    addApiResponse: (response) => add(batch.apiResponses, response),
    addToolCall: (call) => add(batch.toolCalls, call),
    addEvent: (event) => add(batch.events, event),
    addIssue(issue) {
      add(batch.issues, issue);
      if (issue.severity === 'error') onLineError?.(issue.lineNumber, issue.error);
    },
    get rowCount() {
      return rowCount;
    },
    takeBatch() {
      const full = batch;
      batch = createBatch();
      rowCount = 0;
      return full;
    },
  };
}

function createBatch(): TranscriptBatch {
  return {
    messages: [],
    contentBlocks: [],
    apiResponses: [],
    toolCalls: [],
    events: [],
    issues: [],
  };
}
