import type { Issue } from '../lines/issues.ts';
import type {
  ApiResponse,
  ParsedContentBlock,
  SessionEvent,
  ToolCall,
  TranscriptMessage,
  TranscriptMetadata,
  TranscriptStats,
} from '../records/rows.ts';
import type { TranscriptInput } from './input-chunks.ts';
import type { ParseOptions } from './parse-options.ts';
import { streamTranscript } from './stream-transcript.ts';
import type { TranscriptSummary } from './transcript-parser.ts';

/** An issue as a parse result lists it. */
export type LineIssue = Omit<Issue, 'severity'>;

export interface ParseResult {
  messages: TranscriptMessage[];
  contentBlocks: ParsedContentBlock[];
  /** Each once. */
  apiResponses: ApiResponse[];
  toolCalls: ToolCall[];
  events: SessionEvent[];
  stats: TranscriptStats;
  /** Lines that were lost, in whole or in part. */
  errors: LineIssue[];
  /** Repairs and remarks, e.g. replaced characters. */
  warnings: LineIssue[];
  /** Types of lines, blocks and usage that recount does not read or does not know, each once. */
  notices: LineIssue[];
  metadata: TranscriptMetadata;
}

/**
 * Parses a whole transcript into memory, as the rows of `streamTranscript`, collected. Bad lines do not make it fail;
 * it throws only what the input throws.
 */
export async function parseTranscript(
  sessionId: string,
  input: TranscriptInput,
  options: ParseOptions = {},
): Promise<ParseResult> {
  const messages: TranscriptMessage[] = [];
  const contentBlocks: ParsedContentBlock[] = [];
  const apiResponses: ApiResponse[] = [];
  const toolCalls: ToolCall[] = [];
  const events: SessionEvent[] = [];
  const errors: LineIssue[] = [];
  const warnings: LineIssue[] = [];
  const notices: LineIssue[] = [];
  const listOf = { error: errors, warning: warnings, notice: notices };
  let summary: TranscriptSummary | undefined;
  for await (const batch of streamTranscript(sessionId, input, options)) {
    for (const message of batch.messages) messages.push(message);
    for (const block of batch.contentBlocks) contentBlocks.push(block);
    for (const response of batch.apiResponses) apiResponses.push(response);
    for (const call of batch.toolCalls) toolCalls.push(call);
    for (const event of batch.events) events.push(event);
    for (const { severity, ...issue } of batch.issues) listOf[severity].push(issue);
    summary = batch.summary;
  }
  if (summary === undefined) throw new Error('The last batch has no summary');
  const { stats, metadata } = summary;
  return { messages, contentBlocks, apiResponses, toolCalls, events, stats, errors, warnings, notices, metadata };
}
