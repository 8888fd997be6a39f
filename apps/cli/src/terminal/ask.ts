import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { CliContext } from './cli-context.ts';

/**
 * The answer to a question on the terminal, without spaces around it; undefined if the input ends without one, as with
 * Ctrl-D, which agrees to nothing. Rejects if the program is interrupted.
 */
export async function ask(context: CliContext, question: string): Promise<string | undefined> {
  // The terminal itself edits the line: stderr is guarded, so it would show readline's cursor movements as text.
  const lines = createInterface({ input: context.stdin, output: context.stderr, terminal: false });
  // The promise of a question stays open if the input ends.
  const ended = once(lines, 'close').then(() => undefined);
  try {
    const answer = await Promise.race([lines.question(question, { signal: context.listenForInterruption() }), ended]);
    if (answer === undefined) context.stderr.write('\n');
    return answer?.trim();
  } finally {
    lines.close();
  }
}
