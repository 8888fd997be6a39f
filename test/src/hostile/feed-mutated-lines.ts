import { isDeepStrictEqual } from 'node:util';
import { streamTranscript, type TranscriptSummary } from '@recount/core';
import { parserFor } from '@recount/core/live';
import { createRandom, type Random } from '../random.ts';
import { createRowChecker } from './check-rows.ts';
import { createLineMutator } from './mutate-lines.ts';

export interface MutationRun {
  lines: number;
  bytes: number;
  transcripts: number;
  /** Rows and issues of the parser. */
  rows: number;
  /** Events of all agents' live readers. */
  liveEvents: number;
  /** The longest time that a chunk of at most 64 KiB, or a line, kept the parser or readers busy. */
  slowestChunkMs: number;
}

export interface MutationOptions {
  seeds: readonly Buffer[];
  lineCount: number;
  /** Determines the lines. */
  seed: number;
  onTranscript?: (run: MutationRun) => void;
}

const LINES_PER_TRANSCRIPT = [1, 20, 300, 3000, 20_000];
const MAX_CHUNK_BYTES = 64 * 1024;
/** Transcripts up to this size are parsed a second time, in other chunks. */
const MAX_REPEATED_BYTES = 4 * 1024 * 1024;
const AGENTS = ['claude', 'codex', 'amp'];

/**
 * Feeds mutated lines, as transcripts of various lengths in chunks of any size, to the parser and to all agents' live
 * readers, and checks the invariants of the rows. Throws at the first violation, with the transcript's number.
 */
export async function feedMutatedLines(options: MutationOptions): Promise<MutationRun> {
  const run: MutationRun = { lines: 0, bytes: 0, transcripts: 0, rows: 0, liveEvents: 0, slowestChunkMs: 0 };
  const random = createRandom(options.seed);
  while (run.lines < options.lineCount) {
    const lineCount = Math.min(random.pick(LINES_PER_TRANSCRIPT), options.lineCount - run.lines);
    try {
      await feedTranscript(run, options.seeds, lineCount, random.fork());
    } catch (error) {
      throw new Error(`Transcript ${run.transcripts} of seed ${options.seed}: ${(error as Error).message}`, {
        cause: error,
      });
    }
    run.lines += lineCount;
    run.transcripts += 1;
    options.onTranscript?.(run);
  }
  return run;
}

async function feedTranscript(
  run: MutationRun,
  seeds: readonly Buffer[],
  lineCount: number,
  random: Random,
): Promise<void> {
  const nextLine = createLineMutator(seeds, random);
  const live = createLiveReaders();
  const kept: Buffer[] = [];
  let keptBytes = 0;
  async function* source(): AsyncGenerator<Buffer> {
    for (const chunk of toChunks(nextLine, lineCount, random)) {
      run.bytes += chunk.length;
      keptBytes += chunk.length;
      if (keptBytes <= MAX_REPEATED_BYTES) kept.push(chunk);
      else kept.length = 0;
      const startedAtMs = performance.now();
      live.push(chunk);
      const liveMs = performance.now() - startedAtMs;
      const parseStartedAtMs = performance.now();
      yield chunk;
      const parseMs = performance.now() - parseStartedAtMs;
      run.slowestChunkMs = Math.max(run.slowestChunkMs, liveMs, parseMs);
    }
  }
  const { summary, rowCount } = await parse(source());
  run.rows += rowCount;
  run.liveEvents += live.finish();
  if (keptBytes > MAX_REPEATED_BYTES) return;
  const again = await parse(toSingleBytes(Buffer.concat(kept)));
  if (rowCount !== again.rowCount || !isDeepStrictEqual(summary, again.summary)) {
    throw new Error('Violated: the same rows in chunks of any size');
  }
}

async function parse(input: AsyncIterable<Uint8Array>): Promise<{ summary: TranscriptSummary; rowCount: number }> {
  const checker = createRowChecker();
  let summary: TranscriptSummary | undefined;
  for await (const batch of streamTranscript('session', input)) {
    checker.addBatch(batch);
    summary = batch.summary;
  }
  if (summary === undefined) throw new Error('The last batch has no summary');
  checker.finish(summary);
  return { summary, rowCount: checker.rowCount };
}

async function* toSingleBytes(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Lines in chunks of random size, cut within lines and characters. */
function* toChunks(nextLine: () => Buffer, lineCount: number, random: Random): Generator<Buffer> {
  const lineFeed = Buffer.from('\n');
  let parts: Buffer[] = [];
  let bytes = 0;
  let wantedBytes = random.integer(1, MAX_CHUNK_BYTES);
  for (let count = 0; count < lineCount; count += 1) {
    const line = nextLine();
    parts.push(line, lineFeed);
    bytes += line.length + 1;
    if (bytes < wantedBytes) continue;
    const whole = Buffer.concat(parts);
    yield whole.subarray(0, wantedBytes);
    parts = [whole.subarray(wantedBytes)];
    bytes -= wantedBytes;
    wantedBytes = random.integer(1, MAX_CHUNK_BYTES);
  }
  const rest = Buffer.concat(parts);
  // Sometimes the last line feed is missing.
  yield random.chance(0.1) ? rest.subarray(0, -1) : rest;
}

function createLiveReaders(): { push(chunk: Buffer): void; finish(): number } {
  const parsers = AGENTS.flatMap((agent) => parserFor(agent, { now: () => 0 }) ?? []);
  let eventCount = 0;
  const take = (events: readonly object[]): void => {
    eventCount += events.length;
    // Consumers serialize them, and this throws for one that is nested too deep.
    for (const event of events) JSON.stringify(event);
  };
  return {
    push(chunk) {
      for (const parser of parsers) take(parser.push(chunk));
    },
    finish() {
      for (const parser of parsers) {
        take(parser.finish());
        const { tokens, reportedTokens, costUsd, lineCount, warningCount } = parser.toSummary();
        const figures = [...Object.values(tokens), ...Object.values(reportedTokens ?? {}), lineCount, warningCount];
        if (!figures.every((figure) => Number.isSafeInteger(figure) && figure >= 0)) {
          throw new Error(`Violated: StreamSummary of ${parser.agent}: its figures`);
        }
        if (costUsd !== null && !(Number.isFinite(costUsd) && costUsd >= 0)) {
          throw new Error(`Violated: StreamSummary.costUsd of ${parser.agent}`);
        }
      }
      return eventCount;
    },
  };
}
