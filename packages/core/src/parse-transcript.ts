import type { TranscriptInput } from './input-chunks.ts';
import type { IssueCode } from './issues.ts';
import type { ParseOptions } from './parse-options.ts';
import type { ParsedContentBlock, TranscriptMessage, TranscriptMetadata, TranscriptStats } from './rows.ts';
import { streamTranscript } from './stream-transcript.ts';

/** An issue as a parse result lists it. */
export interface LineIssue {
  /** From 1. */
  lineNumber: number;
  error: string;
  code: IssueCode;
  /** Of the line's first byte. */
  byteOffset: number;
  count: number;
}

export interface ParseResult {
  messages: TranscriptMessage[];
  contentBlocks: ParsedContentBlock[];
  stats: TranscriptStats;
  /** Lines that were lost, wholly or in part. */
  errors: LineIssue[];
  /** What was repaired or merely noted, e.g. replaced characters. */
  warnings: LineIssue[];
  metadata: TranscriptMetadata;
}

/**
 * Parses a whole transcript into memory: the rows of `streamTranscript`, collected. Bad lines never fail it; it throws
 * only what the input throws.
 */
export async function parseTranscript(
  sessionId: string,
  input: TranscriptInput,
  options: ParseOptions = {},
): Promise<ParseResult> {
  const messages: TranscriptMessage[] = [];
  const contentBlocks: ParsedContentBlock[] = [];
  const errors: LineIssue[] = [];
  const warnings: LineIssue[] = [];
  const batches = streamTranscript(sessionId, input, options);
  for (;;) {
    const next = await batches.next();
    if (next.done)
      return { messages, contentBlocks, stats: next.value.stats, errors, warnings, metadata: next.value.metadata };
    for (const message of next.value.messages) messages.push(message);
    for (const message of next.value.updatedMessages) messages[message.ordinal] = message;
    for (const block of next.value.contentBlocks) contentBlocks.push(block);
    for (const { severity, ...issue } of next.value.issues) (severity === 'error' ? errors : warnings).push(issue);
  }
}
