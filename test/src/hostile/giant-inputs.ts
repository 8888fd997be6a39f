import { generateTranscript } from '@recount/bench/generate-transcript';
import { streamTranscript, type TranscriptSummary } from '@recount/core';
import { parserFor } from '@recount/core/live';
import { createRowChecker } from './check-rows.ts';

export interface GiantCheck {
  seconds: number;
  bytes: number;
  messages: number;
  issues: Record<string, number>;
  violations: string[];
}

/** An invented transcript of about so many bytes, streamed. */
export async function checkGiantTranscript(targetBytes: number): Promise<GiantCheck> {
  const check = await parse(generateTranscript({ seed: 1, targetBytes }));
  if (check.bytes < targetBytes) check.violations.push('not all of it was read');
  if (check.messages === 0) check.violations.push('no messages');
  return check;
}

/** One line of so many bytes between two others, which are read, and the giant one skipped. */
export async function checkGiantLine(lineBytes: number): Promise<GiantCheck> {
  const check = await parse(toGiantLine(lineBytes));
  if (check.messages !== 2) check.violations.push(`${check.messages} messages instead of 2`);
  if (check.issues.line_too_long !== 1) check.violations.push('no line_too_long');
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
  yield Buffer.from('{"type":"user","message":{"content":"');
  const chunk = Buffer.alloc(CHUNK_BYTES, 'x');
  for (let bytes = 0; bytes < lineBytes; bytes += CHUNK_BYTES) yield chunk;
  yield Buffer.from('"}}\n');
  yield toLine('after');
}

async function parse(chunks: Iterable<Uint8Array>): Promise<GiantCheck> {
  const startedAtMs = performance.now();
  const checker = createRowChecker();
  const issues: Record<string, number> = {};
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  let summary: TranscriptSummary | undefined;
  for await (const batch of streamTranscript('session', source())) {
    for (const { code } of batch.issues) issues[code] = (issues[code] ?? 0) + 1;
    checker.addBatch(batch);
    summary = batch.summary;
  }
  if (summary === undefined) throw new Error('The last batch has no summary');
  checker.finish(summary);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const { byteLength } = summary.metadata;
  return { seconds, bytes: byteLength, messages: summary.stats.total_messages, issues, violations: [] };
}
