import { toSingleLine } from './text-width.ts';

/**
 * The text as one word of a command that people copy into a shell. It is quoted unless it is plainly harmless. Session
 * ids come from the transcript's writer, and one like `$(…)` would be run.
 */
export function toShellWord(text: string): string {
  const line = toSingleLine(text);
  return /^[\w@%+=:,./-]+$/.test(line) ? line : `'${line.replaceAll("'", `'\\''`)}'`;
}
