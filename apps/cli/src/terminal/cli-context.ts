import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '@recount/service/config';
import { type CliOutput, guardTerminal } from './guard-terminal.ts';
import { createInterruption } from './interruption.ts';

/** A command's view of its process. */
export interface CliContext {
  environment: Environment;
  /** The user's directory; relative paths start here. */
  workingDirectory: string;
  stdin: NodeJS.ReadStream;
  /** Results only. */
  stdout: CliOutput;
  /** Progress, notes and errors. */
  stderr: CliOutput;
  /** The process's exit code if the command ends without an error. Set by the command. */
  exitCode: number;
  /** The command's work matters even without a reader of its output. Set by the command. */
  outlivesReader: boolean;
  /** The arguments that the process was started with; undefined if a command runs within another program. */
  words?: readonly string[];
  /** From the first call on, SIGINT, SIGTERM and SIGHUP abort the signal instead of ending the process. */
  listenForInterruption(): AbortSignal;
  /** The same without SIGINT, which is for a program that the command starts in its terminal. */
  listenForTermination(): AbortSignal;
  /** Tells the parent process, if it opened a channel, that the command is running. */
  reportReady(): void;
}

/** The project's root, which has the samples and the launcher. */
export const PROJECT_DIRECTORY = resolve(fileURLToPath(new URL('../../../..', import.meta.url)));

/** True if this runs from a checkout of the repository rather than the npm package. */
const isCheckout = existsSync(join(PROJECT_DIRECTORY, 'pnpm-workspace.yaml'));

/** The command that starts the local installation, as shown to people. */
export const START_COMMAND = isCheckout ? 'npm start' : 'recount up';

/** The command for calling recount from a folder, as shown to people. */
export function toLauncher(workingDirectory: string, platform: string = process.platform): string {
  if (!isCheckout) return 'recount';
  // The launcher of a checkout is a Unix shell script.
  if (platform === 'win32') return `npm --prefix "${PROJECT_DIRECTORY}" run --silent recount --`;
  return workingDirectory === PROJECT_DIRECTORY ? './recount' : join(PROJECT_DIRECTORY, 'recount');
}

export function createCliContext(process: NodeJS.Process): CliContext {
  let signal: AbortSignal | undefined;
  return {
    environment: process.env,
    workingDirectory: toWorkingDirectory(process.env, process.cwd()),
    stdin: process.stdin,
    stdout: guardTerminal(process.stdout),
    stderr: guardTerminal(process.stderr),
    exitCode: 0,
    outlivesReader: false,
    listenForInterruption() {
      signal ??= createInterruption(process);
      return signal;
    },
    listenForTermination: () => createInterruption(process, { leavesCtrlC: true }),
    // If the parent has just exited, the interruption reports it.
    reportReady: () => void process.send?.('ready', () => undefined),
  };
}

/**
 * The folder of the caller. Package managers run scripts in the project's folder, and put the caller's into INIT_CWD.
 */
export function toWorkingDirectory(environment: Environment, currentDirectory: string): string {
  const isScript = environment.npm_lifecycle_event !== undefined && currentDirectory === PROJECT_DIRECTORY;
  return (isScript && environment.INIT_CWD) || currentDirectory;
}

/** Writes a line for people. */
export function note(context: Pick<CliContext, 'stderr'>, line: string): void {
  context.stderr.write(`${line}\n`);
}

/** Writes a line of the result. */
export function print(context: Pick<CliContext, 'stdout'>, line: string): void {
  context.stdout.write(`${line}\n`);
}

/** Writes the result as indented JSON. */
export function printJson(context: Pick<CliContext, 'stdout'>, value: unknown): void {
  print(context, JSON.stringify(value, null, 2));
}

/** Writes a line of the result that contains escape sequences for colours and weights. */
export function printStyled(context: Pick<CliContext, 'stdout'>, line: string): void {
  context.stdout.writeStyled(`${line}\n`);
}
