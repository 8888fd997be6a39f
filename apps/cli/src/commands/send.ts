import type { SendResult } from '@recount/collect';
import { Command } from 'commander';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';

interface SendCommandOptions {
  sweep?: boolean;
  quiet?: boolean;
  json?: boolean;
}

export function createSendCommand(context: CliContext): Command {
  return new Command('send')
    .description('Send new content of this machine’s sessions to the server it is connected to')
    .option('--sweep', 'look through all places of all agents (default without --quiet)')
    .option('--quiet', 'print nothing (used by hooks, which check their own sessions, and everything once a day)')
    .option('--json', 'print what was sent as JSON')
    .addHelpText(
      'after',
      `
Hooks start this by themselves. Exits with 1 if something is still waiting.

Examples:
  $ recount send
  $ recount send --json`,
    )
    .action((options: SendCommandOptions) => sendNow(context, options));
}

async function sendNow(context: CliContext, { sweep, quiet = false, json }: SendCommandOptions): Promise<void> {
  const [{ requireConnection }, { send }] = await Promise.all([
    import('../connection/connection.ts'),
    import('../collector/send.ts'),
  ]);
  const signal = context.listenForInterruption();
  const connection = await requireConnection(context);
  const result = await send(context, connection, { sweeps: sweep ?? !quiet, signal });
  if (result.waiting > 0 || result.stopped !== undefined) context.exitCode = 1;
  if (quiet) return;
  if (json) {
    const { stopped, isBusy, sentBytes, notRead, ...counts } = result;
    const error = stopped === undefined ? null : { code: stopped.code, message: stopped.message };
    return print(
      context,
      JSON.stringify({ ...counts, not_read: notRead, sent_bytes: sentBytes, is_busy: isBusy, error }),
    );
  }
  await showResult(context, result);
}

async function showResult(context: CliContext, result: SendResult): Promise<void> {
  const { sent, duplicates, refused, sentBytes, isBusy, waiting, stopped, unreadable, notRead } = result;
  if (isBusy) return note(context, 'Another process is already sending; `recount connect` shows its progress.');
  const { formatBytes, formatCountOf } = await import('../terminal/format-values.ts');
  const parts = [`${sent} sent, ${formatBytes(sentBytes)}`, `${duplicates} there already`];
  if (refused > 0) parts.push(`${refused} not taken: \`recount connect\` says why`);
  print(context, parts.join('; '));
  for (const path of unreadable) note(context, `No permission to read ${path}: nothing in it is sent.`);
  for (const { path, reason } of notRead) note(context, `Not read: ${path} (${reason}).`);
  if (stopped !== undefined)
    throw new CliError(`${stopped.message}. ${formatCountOf(waiting, 'session')} waiting to be sent.`);
}
