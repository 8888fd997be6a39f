import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { toCommand } from './launch/node-program.mjs';

const terminateAfterMs = 1_000;
const killAfterMs = 10_000;
const failedExitCode = 1;

/** Runs a program of node_modules/.bin with its output on the terminal, and resolves with its exit code. */
export type RunCommand = (program: string, programArguments: string[]) => Promise<number>;

/**
 * After an interruption the program gets a second to end by itself, because it also receives Ctrl-C and a second signal
 * would cut its own clean-up short; then it is told to end, and killed 10 s after the interruption.
 */
export function createCommandRunner(options: { directory: string; interruption: AbortSignal }): RunCommand {
  const { directory, interruption } = options;
  const binDirectory = join(directory, 'node_modules', '.bin');
  const env = {
    ...process.env,
    PATH: `${binDirectory}${delimiter}${process.env.PATH}`,
    DO_NOT_TRACK: '1',
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_UI: 'false',
  };
  return async (program, programArguments) => {
    const { file, words, shell } = toCommand(join(binDirectory, program), programArguments);
    const child = spawn(file, words, {
      cwd: directory,
      env,
      shell,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    let timers: NodeJS.Timeout[] = [];
    const interrupt = () => {
      timers = [
        setTimeout(() => child.kill('SIGTERM'), terminateAfterMs),
        setTimeout(() => child.kill('SIGKILL'), killAfterMs),
      ];
    };
    interruption.addEventListener('abort', interrupt);
    try {
      const [exitCode] = (await once(child, 'exit')) as [number | null];
      return exitCode ?? failedExitCode;
    } catch (error) {
      console.error(`${program} cannot be run: ${(error as Error).message}`);
      return failedExitCode;
    } finally {
      interruption.removeEventListener('abort', interrupt);
      for (const timer of timers) clearTimeout(timer);
    }
  };
}
