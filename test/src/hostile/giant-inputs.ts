import { generateTranscript } from '@recount/bench/generate-transcript';
import { type ParseOptions, streamTranscript, type TranscriptSummary } from '@recount/core';
import { parserFor } from '@recount/core/live';
import { createRowChecker } from './check-rows.ts';

export interface GiantCheck {
  seconds: number;
  bytes: number;
  messages: number;
  /** Input and output of all responses. */
  tokens: number;
  issues: Record<string, number>;
  violations: string[];
}

/** An invented transcript of about this many bytes, streamed. */
export async function checkGiantTranscript(targetBytes: number): Promise<GiantCheck> {
  const check = await parse(generateTranscript({ seed: 1, targetBytes }));
  if (check.bytes < targetBytes) check.violations.push('not all of it was read');
  if (check.messages === 0) check.violations.push('no messages');
  return check;
}

/**
 * One line of this many bytes between two others. The parser cuts it but counts its usage, and the live view leaves it
 * out.
 */
export async function checkGiantLine(lineBytes: number): Promise<GiantCheck> {
  const check = await parse(toGiantLine(lineBytes), { longLines: 'cut' });
  if (check.messages !== 3) check.violations.push(`${check.messages} messages instead of 3`);
  if (check.issues.line_cut !== 1) check.violations.push('no line_cut');
  if (check.tokens !== 12) check.violations.push(`${check.tokens} tokens instead of 12`);
  const codes = new Map<string, number>();
  const live = parserFor('claude', { now: () => 0 });
  for (const chunk of toGiantLine(lineBytes)) {
    for (const event of live?.push(chunk) ?? []) {
      if (event.type === 'warning') codes.set(event.warning.code, (codes.get(event.warning.code) ?? 0) + 1);
    }
  }
  if (codes.get('buffer_overflow') !== 1) check.violations.push('live: no buffer_overflow');
  if (live?.toSummary().lineCount !== 2) check.violations.push('live: the lines around it are not read');
  return check;
}

const CHUNK_BYTES = 64 * 1024;

function* toGiantLine(lineBytes: number): Generator<Buffer> {
  const toLine = (text: string): Buffer => Buffer.from(`{"type":"user","message":{"content":"${text}"}}\n`);
  yield toLine('before');
  yield Buffer.from('{"type":"assistant","message":{"id":"msg_1","content":[{"type":"text","text":"');
  const chunk = Buffer.alloc(CHUNK_BYTES, 'x');
  for (let bytes = 0; bytes < lineBytes; bytes += CHUNK_BYTES) yield chunk;
  yield Buffer.from('"}],"usage":{"input_tokens":5,"output_tokens":7},"stop_reason":"end_turn"}}\n');
  yield toLine('after');
}

async function parse(chunks: Iterable<Uint8Array>, options: ParseOptions = {}): Promise<GiantCheck> {
  const startedAtMs = performance.now();
  const checker = createRowChecker();
  const issues: Record<string, number> = {};
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  let summary: TranscriptSummary | undefined;
  for await (const batch of streamTranscript('session', source(), options)) {
    for (const { code } of batch.issues) issues[code] = (issues[code] ?? 0) + 1;
    checker.addBatch(batch);
    summary = batch.summary;
  }
  if (summary === undefined) throw new Error('The last batch has no summary');
  checker.finish(summary);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const { byteLength } = summary.metadata;
  const { total_messages: messages, tokens_in, tokens_out } = summary.stats;
  return { seconds, bytes: byteLength, messages, tokens: (tokens_in ?? 0) + (tokens_out ?? 0), issues, violations: [] };
}
