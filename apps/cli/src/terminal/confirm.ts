import { ask } from './ask.ts';
import type { CliContext } from './cli-context.ts';
import { UsageError } from './cli-error.ts';

/**
 * True if the user agrees, asked on a terminal, or given by `--yes`. Throws UsageError if there is no terminal for the
 * prompt.
 */
export async function confirm(context: CliContext, question: string, isAgreed: boolean): Promise<boolean> {
  if (isAgreed) return true;
  if (context.stdin.isTTY !== true) throw new UsageError('There is no terminal for the prompt. Pass --yes to confirm.');
  return /^y(es)?$/i.test((await ask(context, `${question} [y/N] `)) ?? '');
}
