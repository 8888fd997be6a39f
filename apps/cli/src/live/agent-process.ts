import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { type AgentExit, createTextTail } from '@recount/core/live';
import type { CliContext } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import type { Screen } from './screen.ts';

interface AgentProcess {
  /** The agent's stdout; undefined if it is inherited from recount. */
  output: AsyncIterable<Uint8Array> | undefined;
  /** Resolves when the agent has ended and all of its stderr is written. Never rejects. */
  exited: Promise<AgentExit>;
}

interface AgentStart {
  command: string;
  commandArguments: readonly string[];
  /** The agent inherits recount's stdout and stderr, and so its terminal. */
  isDirect: boolean;
  onStderr: () => void;
}

/** The agent could not be started. The exit code is the shell's: 127 if it does not exist, else 126. */
export class AgentStartError extends CliError {
  readonly exitCode: number;

  constructor(command: string, cause: NodeJS.ErrnoException) {
    const isMissing = cause.code === 'ENOENT';
    super(`${command} ${isMissing ? 'is not found on PATH' : `cannot be started (${cause.code})`}`, { cause });
    this.exitCode = isMissing ? 127 : 126;
  }
}

const FORWARDED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
/** Signals from a terminal's keys, which reach every foreground process. */
const KEYBOARD_SIGNALS: ReadonlySet<string> = new Set(['SIGINT', 'SIGQUIT']);
/**
 * Background processes left by an agent may keep its stdout open forever, so reading ends after this long without data.
 */
const QUIET_AFTER_EXIT_MS = 2000;

/**
 * Starts an agent with this process's stdin, and forwards signals to it until it has ended. Rejects with
 * AgentStartError.
 */
export async function startAgent(context: CliContext, screen: Screen, start: AgentStart): Promise<AgentProcess> {
  const { command, commandArguments, isDirect, onStderr } = start;
  const child = spawn(command, commandArguments, {
    cwd: context.workingDirectory,
    env: context.environment,
    stdio: isDirect ? 'inherit' : ['inherit', 'pipe', 'pipe'],
  });
  // Node discards, when a process exits, the output of streams that have no listener yet.
  child.stdout?.on('readable', () => undefined);
  const stopForwarding = forwardSignals(child);
  const exited = new Promise<AgentExit>((resolve) => {
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve).once('error', reject);
    });
  } catch (error) {
    stopForwarding();
    throw new AgentStartError(command, error as NodeJS.ErrnoException);
  }
  const stderr = createTextTail();
  const passStderr = async (): Promise<void> => {
    if (child.stderr === null) return;
    for await (const chunk of readUntilQuiet(child.stderr, exited)) {
      onStderr();
      stderr.push(chunk);
      await screen.passStderr(chunk);
    }
  };
  const passing = passStderr();
  return {
    output: child.stdout === null ? undefined : readUntilQuiet(child.stdout, exited),
    exited: exited.then(async (exit) => {
      stopForwarding();
      await passing;
      return { ...exit, stderrTail: stderr.toString() };
    }),
  };
}

/** The shell's convention: 128 plus the signal's number if a signal ended the agent. */
export function toExitCode({ exitCode, signal }: AgentExit): number {
  const signalNumber = constants.signals[signal as NodeJS.Signals] as number | undefined;
  return exitCode ?? 128 + (signalNumber ?? 0);
}

function forwardSignals(child: ChildProcess): () => void {
  const listeners = FORWARDED_SIGNALS.map((signal) => {
    const forward = (): void => {
      // If typed on a terminal, the agent has received it already, and would take a second one for impatience.
      if (!KEYBOARD_SIGNALS.has(signal) || !isInForeground()) child.kill(signal);
    };
    process.on(signal, forward);
    return { signal, forward };
  });
  return () => {
    for (const { signal, forward } of listeners) process.off(signal, forward);
  };
}

/** True if this process, and with it the agent, is in the foreground of a terminal. */
function isInForeground(): boolean {
  if (process.platform !== 'linux') return [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
  const status = readFileSync('/proc/self/stat', 'utf8');
  // The second field is the program's name in parentheses, and may contain anything.
  const [, , groupId, , , foregroundGroupId] = status.slice(status.lastIndexOf(')') + 2).split(' ');
  return groupId === foregroundGroupId;
}

/** The stream's bytes to its end, or until the process has exited and no more data come. */
async function* readUntilQuiet(stream: Readable, exited: Promise<unknown>): AsyncGenerator<Uint8Array> {
  let waitingSinceMs: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isGivenUp = false;
  void exited.then(() => {
    // Silence before the exit does not count.
    if (waitingSinceMs !== undefined) waitingSinceMs = performance.now();
    timer = setInterval(() => {
      // Only waiting counts. Data that are available but not yet read are not lost.
      if (waitingSinceMs === undefined || performance.now() - waitingSinceMs < QUIET_AFTER_EXIT_MS) return;
      isGivenUp = true;
      stream.destroy();
    }, QUIET_AFTER_EXIT_MS / 8);
    if (stream.readableEnded || stream.destroyed) clearInterval(timer);
  });
  const iterator: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      waitingSinceMs = performance.now();
      const next = await iterator.next();
      waitingSinceMs = undefined;
      if (next.done) return;
      yield next.value;
    }
  } catch (error) {
    if (!isGivenUp) throw error;
  } finally {
    clearInterval(timer);
  }
}
