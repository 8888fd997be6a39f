import { createLiveLineDecoder } from '@recount/core/live';

export interface LiveDecoderFigures {
  /** Of the lines, in bytes. */
  readonly lineBytes: number;
  /** From the chunk that completes a line to its value. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const sizes = [1_000, 100_000, 1_048_576] as const;
const linesPerSize = 500;
/** Not counted: the compiler warms up. */
const warmUpLines = 50;
/** What a pipe hands over at once. */
const chunkBytes = 65_536;

/** How long a complete line waits for its value, by size: tool results in JSON, with escapes and text beyond ASCII. */
export function benchLiveDecoder(): LiveDecoderFigures[] {
  return sizes.map((lineBytes) => {
    const times = measureLines(Buffer.from(`${toLine(lineBytes)}\n`)).sort((a, b) => a - b);
    return { lineBytes, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) };
  });
}

function measureLines(line: Buffer): number[] {
  let completedAt = 0;
  const decoder = createLiveLineDecoder({
    onLine: () => {
      completedAt = performance.now();
    },
    onWarning: ({ code }) => {
      throw new Error(`the decoder warned: ${code}`);
    },
  });
  const times: number[] = [];
  const lastChunk = Math.floor((line.length - 1) / chunkBytes) * chunkBytes;
  for (let index = 0; index < warmUpLines + linesPerSize; index += 1) {
    for (let start = 0; start < lastChunk; start += chunkBytes) decoder.push(line.subarray(start, start + chunkBytes));
    const startedAt = performance.now();
    decoder.push(line.subarray(lastChunk));
    if (index >= warmUpLines) times.push(completedAt - startedAt);
  }
  return times;
}

function toLine(bytes: number): string {
  const piece = 'const größe = "日本語 🎉";\n\tif (x < 1) return \\path\\to;\n';
  const toJson = (content: string): string =>
    JSON.stringify({ type: 'user', message: { role: 'user', content: [{ type: 'tool_result', content }] } });
  const free = bytes - Buffer.byteLength(toJson(''));
  const pieceBytes = Buffer.byteLength(JSON.stringify(piece)) - 2;
  const count = Math.max(0, Math.floor(free / pieceBytes));
  return toJson(piece.repeat(count) + 'x'.repeat(Math.max(0, free - count * pieceBytes)));
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

if (import.meta.main) {
  for (const { lineBytes, p50Ms, p99Ms } of benchLiveDecoder()) {
    console.log(`${String(lineBytes).padStart(9)} bytes  p50 ${p50Ms.toFixed(3)} ms  p99 ${p99Ms.toFixed(3)} ms`);
  }
}
