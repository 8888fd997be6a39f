import { LiveLineDecoder, parserFor } from '@recount/core/live';

export interface LiveLineFigures {
  kind: LineKind;
  /** Length of each line, in bytes. */
  readonly lineBytes: number;
  /**
   * Medians of one run, as multiples of `JSON.parse(bytes.toString())`, up to the line's value, and up to its events.
   */
  readonly decodeRatio: number;
  readonly eventsRatio: number;
  /** From a line's bytes to its events. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const sizes = [1_000, 100_000, 1_048_576] as const;
const kinds = ['text', 'tool use', 'tool result'] as const;
type LineKind = (typeof kinds)[number];
const now = (): number => 0;

/** The cost of a live line beyond parsing its JSON, by size and content, such as code, with escapes. */
export function benchLiveLines(): LiveLineFigures[] {
  return sizes.flatMap((lineBytes) => kinds.map((kind) => benchLine(lineBytes, kind)));
}

function benchLine(lineBytes: number, kind: LineKind): LiveLineFigures {
  const line = Buffer.from(`${toLine(lineBytes, kind)}\n`);
  const decoder = new LiveLineDecoder({ onLine: () => undefined, onWarning: throwWarning });
  const parser = parserFor('claude', { now });
  if (parser === undefined) throw new Error('no parser for claude');
  // Interleaved, so that other load on the machine affects all three alike.
  const [parse, decode, events] = measure(lineBytes, [
    () => void JSON.parse(line.toString()),
    () => decoder.push(line),
    () => void parser.push(line),
  ]);
  const median = (times: readonly number[] = []): number => percentile(times, 0.5);
  return {
    kind,
    lineBytes,
    decodeRatio: median(decode) / median(parse),
    eventsRatio: median(events) / median(parse),
    p50Ms: median(events),
    p99Ms: percentile(events ?? [], 0.99),
  };
}

/**
 * Sorted times of each task in milliseconds. Short ones are timed by the dozen, because the clock's resolution is
 * limited.
 */
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

/** A line as `claude -p --output-format stream-json` writes it, with as much code as fits. */
function toLine(bytes: number, kind: LineKind): string {
  const piece = 'const size = toSize("größe");\n\tif (x < 1) return "/path";\n';
  const toJson = (code: string): string => JSON.stringify({ ...toMessage(kind, code), ...envelope });
  const free = bytes - Buffer.byteLength(toJson(''));
  const pieceBytes = Buffer.byteLength(JSON.stringify(piece)) - 2;
  const count = Math.max(0, Math.floor(free / pieceBytes));
  return toJson(piece.repeat(count) + 'x'.repeat(Math.max(0, free - count * pieceBytes)));
}

const envelope = {
  parent_tool_use_id: null,
  session_id: '5dd9f6f5-700b-4247-91dd-e1af3b04230e',
  uuid: '9c1d7a52-0b6f-4c35-8f7e-2f1f2b3c4d5e',
};

function toMessage(kind: LineKind, code: string): object {
  const id = 'toolu_01LiveLineOfTheBenchmark';
  if (kind === 'tool result') {
    const content = [{ tool_use_id: id, type: 'tool_result', content: code }];
    return { type: 'user', message: { role: 'user', content }, tool_use_result: { stdout: '', interrupted: false } };
  }
  const input = { file_path: '/home/ada/app/a.ts', old_string: code, new_string: 'x' };
  const block = kind === 'text' ? { type: 'text', text: code } : { type: 'tool_use', id, name: 'Edit', input };
  const usage = {
    input_tokens: 3,
    cache_creation_input_tokens: 412,
    cache_read_input_tokens: 21034,
    cache_creation: { ephemeral_5m_input_tokens: 412, ephemeral_1h_input_tokens: 0 },
    output_tokens: 187,
    service_tier: 'standard',
  };
  const message = {
    id: 'msg_01LiveLineOfTheBenchmark',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
  };
  return { type: 'assistant', message: { ...message, content: [block], stop_reason: null, usage } };
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

if (import.meta.main) {
  for (const { kind, lineBytes, decodeRatio, eventsRatio, p50Ms, p99Ms } of benchLiveLines()) {
    const ratios = `decoded ${decodeRatio.toFixed(2)} x JSON.parse  events ${eventsRatio.toFixed(2)} x`;
    console.log(
      `${String(lineBytes).padStart(9)} bytes  ${kind.padEnd(11)}  ${ratios}  p50 ${p50Ms.toFixed(3)} ms  p99 ${p99Ms.toFixed(3)} ms`,
    );
  }
}
