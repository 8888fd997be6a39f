import { toOptionsEnd } from '../agents/option-position.ts';
import { agentOf } from './parser-for.ts';

/**
 * What makes an agent print its stream, beside its own print mode (`claude -p`, `codex exec`, `amp -x`): a new array, or
 * undefined for a command that starts no agent known here. Without those that depend on its other arguments.
 */
export function outputFlags(command: string): string[] | undefined {
  const options = agentOf(command)?.program.outputOptions.filter(({ isTaken }) => isTaken === undefined);
  return options?.flatMap(({ words }) => words);
}

/**
 * The arguments with the missing ones of the output flags put in where the agent takes them, before a `--`; the user's
 * own arguments stay as they are and in order. Undefined if the agent would print no stream: an agent unknown here,
 * another output format asked for, or a command of Codex other than `exec`.
 */
export function withOutputFlags(command: string, args: readonly string[]): string[] | undefined {
  const program = agentOf(command)?.program;
  const index = program?.toOptionIndex(args);
  if (program === undefined || index === undefined) return undefined;
  const given = args.slice(0, toOptionsEnd(args));
  const missing = program.outputOptions.filter(
    ({ spellings, isTaken }) =>
      (isTaken?.(given) ?? true) &&
      !given.some((word) => spellings.some((name) => word === name || word.startsWith(`${name}=`))),
  );
  return [...args.slice(0, index), ...missing.flatMap(({ words }) => words), ...args.slice(index)];
}
