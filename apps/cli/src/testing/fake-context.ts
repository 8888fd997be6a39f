import { PassThrough, Readable } from 'node:stream';
import type { CliContext } from '../terminal/cli-context.ts';
import { type CliOutput, guardTerminal } from '../terminal/guard-terminal.ts';

export interface FakeContext extends CliContext {
  /** The output so far. */
  out(): string;
  err(): string;
  interruption: AbortController;
}

/** A fake process. Its streams are terminals with this many columns, if given. */
export function createFakeContext({
  environment = {},
  workingDirectory = '/home/ada',
  stdin = '',
  columns,
}: {
  environment?: CliContext['environment'];
  workingDirectory?: string;
  stdin?: string | Buffer;
  columns?: number;
} = {}): FakeContext {
  const interruption = new AbortController();
  const stdout = createCapture(columns);
  const stderr = createCapture(columns);
  return {
    environment,
    workingDirectory,
    stdin: Readable.from([Buffer.from(stdin)]) as unknown as NodeJS.ReadStream,
    stdout: stdout.stream,
    stderr: stderr.stream,
    exitCode: 0,
    outlivesReader: false,
    interruption,
    listenForInterruption: () => interruption.signal,
    listenForTermination: () => interruption.signal,
    reportReady: () => undefined,
    out: stdout.text,
    err: stderr.text,
  };
}

export function createCapture(columns?: number): { stream: CliOutput; text: () => string } {
  let text = '';
  const stream = new PassThrough().on('data', (chunk) => {
    text += chunk;
  });
  const terminal = columns === undefined ? { isTTY: false } : { isTTY: true, columns };
  return { stream: guardTerminal(Object.assign(stream, terminal) as unknown as NodeJS.WriteStream), text: () => text };
}
