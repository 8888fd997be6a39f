import type { CliContext } from '../terminal/cli-context.ts';

/** The only writer of a command's stdout and stderr. It never splits a line of one by a line of the other. */
export interface Screen {
  /** Writes a line of the result, which recount may have styled; waits for the reader. */
  writeLine(line: string): Promise<void>;
  /** Writes bytes of the result, unchanged if the output is not a terminal. */
  writeBytes(bytes: Uint8Array): Promise<void>;
  /** Writes the agent's stderr unchanged; an incomplete line waits for a moment. */
  passStderr(bytes: Uint8Array): Promise<void>;
  /** Writes one of recount's own lines for people. */
  note(line: string): void;
  /** Writes the waiting part. */
  close(): Promise<void>;
}

/** A line that stays incomplete for longer may be a question to the user. */
const UNFINISHED_LINE_MS = 250;
const MAX_UNFINISHED_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/** Continues silently if a stream has no reader any more, so that the agent's work continues. */
export function createScreen({ stdout, stderr }: Pick<CliContext, 'stdout' | 'stderr'>): Screen {
  const result = createWriter(stdout);
  const people = createWriter(stderr);
  const sharesTerminal = stdout.isTTY === true && stderr.isTTY === true;
  /** True if the terminal's cursor is within a line of the agent's stderr. */
  let isWithinLine = false;
  let unfinished: Buffer = Buffer.alloc(0);
  let timer: NodeJS.Timeout | undefined;

  const writeStderr = (bytes: Uint8Array): Promise<void> => {
    isWithinLine = bytes.length > 0 ? bytes.at(-1) !== LINE_FEED : isWithinLine;
    return people.send(() => stderr.writeUnguarded(bytes));
  };
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    const bytes = unfinished;
    unfinished = Buffer.alloc(0);
    return bytes.length === 0 ? Promise.resolve() : writeStderr(bytes);
  };
  const endLine = (): string => {
    const isNeeded = isWithinLine && sharesTerminal;
    if (isNeeded) isWithinLine = false;
    return isNeeded ? '\n' : '';
  };

  return {
    writeLine: (line) => result.send(() => stdout.writeStyled(`${endLine()}${line}\n`)),
    writeBytes: (bytes) => result.send(() => stdout.write(bytes)),
    async passStderr(bytes) {
      const whole = bytes.lastIndexOf(LINE_FEED) + 1;
      const lines = Buffer.concat([unfinished, bytes.subarray(0, whole)]);
      if (whole > 0) unfinished = Buffer.from(bytes.subarray(whole));
      else unfinished = Buffer.concat([unfinished, bytes]);
      clearTimeout(timer);
      if (whole > 0) await writeStderr(lines);
      if (unfinished.length > MAX_UNFINISHED_BYTES) await flush();
      else if (unfinished.length > 0) timer = setTimeout(flush, UNFINISHED_LINE_MS);
    },
    note(line) {
      const start = isWithinLine ? '\n' : '';
      isWithinLine = false;
      void people.send(() => stderr.write(`${start}recount: ${line}\n`));
    },
    async close() {
      await flush();
      result.close();
      people.close();
    },
  };
}

interface Writer {
  /** `write` returns whether the stream accepts more. */
  send(write: () => boolean): Promise<void>;
  close(): void;
}

function createWriter(stream: NodeJS.WriteStream): Writer {
  let isGone = false;
  let resume: (() => void) | undefined;
  const go = (): void => {
    resume?.();
    resume = undefined;
  };
  const giveUp = (): void => {
    isGone = true;
    go();
  };
  stream.on('error', giveUp).on('drain', go);
  let draining: Promise<void> = Promise.resolve();
  return {
    send(write) {
      if (isGone || write()) return Promise.resolve();
      // A stream without a reader reports it later, and never drains.
      if (resume === undefined) {
        draining = new Promise((resolve) => {
          resume = resolve;
        });
      }
      return draining;
    },
    close() {
      stream.off('error', giveUp).off('drain', go);
    },
  };
}
