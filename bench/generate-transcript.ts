import { realpathSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRandom } from './transcript/random.ts';
import { generateRecords } from './transcript/records.ts';
import { createSession, type TranscriptShape } from './transcript/session.ts';

export { REAL_LINES } from './transcript/session.ts';

export interface GenerateTranscriptOptions {
  /** The same seed gives the same bytes. */
  readonly seed: number;
  /** The transcript ends with the first line that reaches it, which is at most one line, of under 1 MB, over. */
  readonly targetBytes: number;
  /** Drawn from the seed unless given. */
  readonly sessionId?: string;
  /** Default LONG_LINES. */
  readonly shape?: TranscriptShape;
}

const chunkBytes = 64 * 1024;

/**
 * Writes an invented Claude Code transcript. It has about 7 KB a line with a long tail, a third of the lines metadata,
 * one in eight with text outside ASCII, messages split over one to four lines where only the last has the final usage,
 * and some last lines hundreds of lines late.
 *
 * Yields chunks of 64 KiB, cut without regard to lines or characters; the last one is shorter and ends with a newline.
 */
export function* generateTranscript(options: GenerateTranscriptOptions): Generator<Uint8Array> {
  const session = createSession(createRandom(options.seed), options.sessionId, options.shape);
  let chunk = Buffer.allocUnsafeSlow(chunkBytes);
  let filled = 0;
  let totalBytes = 0;
  for (const record of generateRecords(session)) {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    for (let copied = 0; copied < line.length; ) {
      const count = line.copy(chunk, filled, copied);
      copied += count;
      filled += count;
      if (filled < chunkBytes) continue;
      yield chunk;
      chunk = Buffer.allocUnsafeSlow(chunkBytes);
      filled = 0;
    }
    totalBytes += line.length;
    if (totalBytes >= options.targetBytes) break;
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}

const bytesPerUnit = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9 } as const;

/**
 * Reads a size such as `144MB` or `5000000`; units are powers of 1000.
 * @throws {RangeError} on anything else
 */
export function parseByteSize(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(B|KB|MB|GB)?$/i.exec(text.trim());
  if (!match) throw new RangeError(`not a size in bytes: ${text}`);
  const unit = (match[2] ?? 'B').toUpperCase() as keyof typeof bytesPerUnit;
  return Math.round(Number(match[1]) * bytesPerUnit[unit]);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      bytes: { type: 'string', default: '5MB' },
      seed: { type: 'string', default: '1' },
      'session-id': { type: 'string' },
    },
  });
  const sessionId = values['session-id'];
  const transcript = generateTranscript({
    seed: Number(values.seed),
    targetBytes: parseByteSize(values.bytes),
    ...(sessionId === undefined ? {} : { sessionId }),
  });
  await pipeline(Readable.from(transcript, { objectMode: false, highWaterMark: 4 * chunkBytes }), process.stdout);
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
