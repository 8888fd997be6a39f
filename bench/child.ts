import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A measured child process's report about itself. */
export interface Measurement {
  readonly milliseconds: number;
  readonly peakRssBytes: number;
}

/**
 * Runs a script of this folder in a separate Node process, so that neither its memory nor its compiled code carries
 * over to the next run. Its one line of output is a measurement.
 */
export async function measureInChild(script: string, ...args: string[]): Promise<Measurement> {
  return JSON.parse(await runChild(script, ...args)) as Measurement;
}

/** Runs a script of this folder with the flags of `recount worker`, and returns its output. */
export async function runChild(script: string, ...args: string[]): Promise<string> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeOptions, path, ...args], { env });
  return stdout.trim();
}

/** A script of this folder that keeps running. */
export interface RunningChild {
  /** Its first line of output. */
  readonly firstLine: string;
  /** Ends its input, and resolves to its last line of output once it has exited. */
  end(): Promise<string>;
}

/** Starts a script of this folder with the flags of `recount api`; resolves once it has printed a line. */
export async function startChild(script: string, ...args: string[]): Promise<RunningChild> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [...apiNodeOptions, path, ...args], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done) throw new Error(`${script} ended before it was ready`);
  let lastLine: Promise<string> | undefined;
  const readLastLine = async (): Promise<string> => {
    child.stdin.end();
    let last = first.value;
    for (let next = await lines.next(); !next.done; next = await lines.next()) last = next.value;
    const [code] = await exit;
    if (code !== 0) throw new Error(`${script} ended with exit code ${code}`);
    return last;
  };
  return {
    firstLine: first.value,
    end: () => {
      lastLine ??= readLastLine();
      return lastLine;
    },
  };
}

/**
 * As in the launcher `recount`, the program that it starts, and its compile cache. Stripping types takes memory itself.
 */
const nodeOptions = ['--max-semi-space-size=8', '--heap-growing-percent=50'];
const apiNodeOptions = ['--max-semi-space-size=1', '--heap-growing-percent=50'];
const env = { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'recount-bench-compile-cache') };

/** The other end of {@link measureInChild}: times `run` that many times and prints the median and the peak memory. */
export async function reportMeasurement(passes: number, run: () => Promise<void> | void): Promise<void> {
  const times: number[] = [];
  for (let pass = 0; pass < passes; pass += 1) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  const measurement: Measurement = {
    milliseconds: median(times),
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
  };
  console.log(JSON.stringify(measurement));
}

/** The middle value, or the upper of the two; NaN if there are none. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
