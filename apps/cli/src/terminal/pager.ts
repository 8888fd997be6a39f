import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { CliContext } from './cli-context.ts';

/**
 * Writes styled lines of a result; on a terminal through the pager in PAGER, or less. The lines' content must already
 * be guarded (`toTerminalText`). Without such a program, or with PAGER=cat, they are printed.
 */
export async function printPaged(context: CliContext, lines: readonly string[], isPaged = true): Promise<void> {
  const text = lines.map((line) => `${line}\n`).join('');
  const { PAGER, TERM } = context.environment;
  const command = PAGER ?? 'less';
  const fits = lines.length < (context.stdout.rows ?? 24);
  if (!isPaged || !context.stdout.isTTY || fits || command === '' || command === 'cat' || TERM === 'dumb') {
    context.stdout.writeStyled(text);
    return;
  }
  // R keeps colours, F exits if everything fits, X leaves it on the screen.
  const environment = { LESS: 'RFX', ...context.environment };
  const pager = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'], env: environment });
  // The user may quit the pager early.
  pager.stdin.on('error', () => undefined);
  pager.stdin.end(text);
  const [exitCode] = await Promise.race([once(pager, 'close'), once(pager, 'error').then(() => [127])]);
  if (exitCode === 127) context.stdout.writeStyled(text);
}
