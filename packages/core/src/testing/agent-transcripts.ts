import { identifyTranscript, type TranscriptIdentity } from '../agents/identify-transcript.ts';
import { type ParseResult, parseTranscript } from '../parse/parse-transcript.ts';
import { toPieces } from './chunked-inputs.ts';
import { expectSame } from './expect-same.ts';

export interface ReadTranscript extends ParseResult {
  identity: TranscriptIdentity;
}

/** Tokens by class, and the number of responses. */
export interface TokenCount {
  responses: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

export function toJsonLines(lines: readonly unknown[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/**
 * Identifies and reads a transcript as an upload would; checks that the result does not depend on how its bytes are
 * split.
 */
export async function readTranscript(text: string, path?: string): Promise<ReadTranscript> {
  const bytes = Buffer.from(text);
  const identity = identifyTranscript({ path, head: bytes });
  const sessionId = identity.sessionId ?? 'session';
  const options = { format: identity.format, isSubagent: identity.isSubagent };
  const whole = await parseTranscript(sessionId, bytes, options);
  for (const size of [1, 7, 64 * 1024]) {
    const pieces = ReadableStream.from(toPieces(bytes, size));
    expectSame(await parseTranscript(sessionId, pieces, options), whole);
  }
  return { ...whole, identity };
}

export function countTokens({ apiResponses }: ParseResult): TokenCount {
  const sum = (toCount: (row: ParseResult['apiResponses'][number]) => number): number =>
    apiResponses.reduce((total, row) => total + toCount(row), 0);
  return {
    responses: apiResponses.length,
    input: sum((row) => row.tokens_in),
    output: sum((row) => row.tokens_out),
    cacheRead: sum((row) => row.cache_read),
    cacheWrite: sum((row) => row.cache_write),
  };
}

/** Issues as `code` with their place, of any severity. */
export function listIssues({ errors, warnings, notices }: ParseResult): string[] {
  return [...errors, ...warnings, ...notices].map(({ code, lineNumber }) => `${code}:${lineNumber}`);
}
