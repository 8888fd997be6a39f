import { createLiveLineDecoder, parserFor } from '@recount/core/live';

export interface LiveLineFigures {
  /** Length of each line, in bytes. */
  readonly lineBytes: number;
  /** Medians of one run, as multiples of `JSON.parse(bytes.toString())`: to the line's value, and to its events. */
  readonly decodeRatio: number;
  readonly eventsRatio: number;
  /** From the bytes of a line to its events. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const sizes = [1_000, 100_000, 1_048_576] as const;
const now = (): number => 0;

/** What a live line costs beside parsing it as JSON, by size: tool results with escapes and text beyond ASCII. */
export function benchLiveLines(): LiveLineFigures[] {
  return sizes.map((lineBytes) => {
    const line = Buffer.from(`${toLine(lineBytes)}\n`);
    const decoder = createLiveLineDecoder({ onLine: () => undefined, onWarning: throwWarning });
    const parser = parserFor('claude', { now });
    if (parser === undefined) throw new Error('no parser for claude');
    // Interleaved, so that whatever else the machine does meets all three alike.
    const [parse, decode, events] = measure(lineBytes, [
      () => void JSON.parse(line.toString()),
      () => decoder.push(line),
      () => void parser.push(line),
    ]);
    const median = (times: readonly number[] = []): number => percentile(times, 0.5);
    return {
      lineBytes,
      decodeRatio: median(decode) / median(parse),
      eventsRatio: median(events) / median(parse),
      p50Ms: median(events),
      p99Ms: percentile(events ?? [], 0.99),
    };
  });
}

/** Sorted times of each task, in milliseconds. Short ones are timed by the dozen: the clock is no finer. */
function measure(lineBytes: number, tasks: readonly (() => void)[]): number[][] {
  const repeats = lineBytes < 10_000 ? 20 : 1;
  const rounds = lineBytes < 10_000 ? 1000 : 300;
  const times = tasks.map((): number[] => []);
  // The first half warms the compiler up.
  for (let round = -rounds; round < rounds; round += 1) {
    for (const [index, task] of tasks.entries()) {
      const startedAt = performance.now();
      for (let repeat = 0; repeat < repeats; repeat += 1) task();
      if (round >= 0) times[index]?.push((performance.now() - startedAt) / repeats);
    }
  }
  return times.map((list) => list.sort((a, b) => a - b));
}

function throwWarning({ code }: { code: string }): never {
  throw new Error(`the decoder warned: ${code}`);
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
  for (const { lineBytes, decodeRatio, eventsRatio, p50Ms, p99Ms } of benchLiveLines()) {
    const ratios = `decoded ${decodeRatio.toFixed(2)} x JSON.parse  events ${eventsRatio.toFixed(2)} x`;
    console.log(
      `${String(lineBytes).padStart(9)} bytes  ${ratios}  p50 ${p50Ms.toFixed(3)} ms  p99 ${p99Ms.toFixed(3)} ms`,
    );
  }
}
