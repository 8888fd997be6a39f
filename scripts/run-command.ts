import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { toCommand } from './launch/node-program.mjs';

const terminateAfterMs = 1_000;
const killAfterMs = 10_000;
const failedExitCode = 1;

export interface RunOptions {
  /** Added to the environment; undefined removes a variable. */
  env?: Record<string, string | undefined>;
  /** Gets what the program prints, which is otherwise on the terminal. */
  onOutput?: (text: string) => void;
}

/** Runs a program of node_modules/.bin, or `node`, and resolves with its exit code. */
export type RunCommand = (program: string, programArguments: string[], options?: RunOptions) => Promise<number>;

/**
 * After an interruption the program gets a second to end by itself, because it also receives Ctrl-C and a second signal
 * would cut its own clean-up short; then it gets a signal to end, and killed 10 s after the interruption.
 */
export function createCommandRunner(options: { directory: string; interruption: AbortSignal }): RunCommand {
  const { directory, interruption } = options;
  const binDirectory = join(directory, 'node_modules', '.bin');
  const ownEnv = {
    ...process.env,
    PATH: `${binDirectory}${delimiter}${process.env.PATH}`,
    DO_NOT_TRACK: '1',
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_UI: 'false',
  };
  return async (program, programArguments, { env = {}, onOutput } = {}) => {
    const path = program === 'node' ? process.execPath : join(binDirectory, program);
    const { file, words, shell } = toCommand(path, programArguments);
    const output = onOutput === undefined ? 'inherit' : 'pipe';
    const child = spawn(file, words, {
      cwd: directory,
      env: { ...ownEnv, ...env },
      shell,
      stdio: ['ignore', output, output],
    });
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', onOutput ?? (() => {}));
    let timers: NodeJS.Timeout[] = [];
    const interrupt = () => {
      timers = [
        setTimeout(() => child.kill('SIGTERM'), terminateAfterMs),
        setTimeout(() => child.kill('SIGKILL'), killAfterMs),
      ];
    };
    interruption.addEventListener('abort', interrupt);
    try {
      const [exitCode] = (await once(child, 'close')) as [number | null];
      return exitCode ?? failedExitCode;
    } catch (error) {
      const message = `${program} cannot be run: ${(error as Error).message}\n`;
      if (onOutput === undefined) process.stderr.write(message);
      else onOutput(message);
      return failedExitCode;
    } finally {
      interruption.removeEventListener('abort', interrupt);
      for (const timer of timers) clearTimeout(timer);
    }
  };
}
