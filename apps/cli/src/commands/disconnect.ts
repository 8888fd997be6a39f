import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { formatCountOf } from '../terminal/format-values.ts';

export function createDisconnectCommand(context: CliContext): Command {
  return new Command('disconnect')
    .description('Remove the hooks, server, key and send history')
    .option('--force', 'even if some sessions were not sent yet')
    .option('-y, --yes', 'accepted for scripts: nothing is asked')
    .addHelpText(
      'after',
      `
Settings that were not changed since are restored byte for byte; from others only the hooks are removed. Files and
folders that \`recount connect\` made are removed, too, unless other files have been added. A running sender is
stopped. What the server has stays there.

Example:
  $ recount disconnect`,
    )
    .action(({ force = false }: { force?: boolean }) => disconnect(context, force));
}

async function disconnect(context: CliContext, force: boolean): Promise<void> {
  const { deleteCollector, requireConnection, toCollectorFolder } = await import('../connection/connection.ts');
  const { listWaiting, removeHooks, toBudgetHookCommand } = await import('@recount/collect');
  const connection = await requireConnection(context);
  const waiting = await listWaiting(toCollectorFolder(context));
  if (waiting.length > 0 && !force) {
    throw new CliError(
      `${formatCountOf(waiting.length, 'session')} not sent yet. Run \`recount send\` first, or pass --force to discard data that only recount has.`,
    );
  }
  if (connection.hookCommand !== null) {
    const commands = [
      connection.hookCommand,
      ...(connection.budgets === undefined ? [] : [toBudgetHookCommand(toCollectorFolder(context), process.platform)]),
    ];
    for (const command of commands) {
      for (const path of await removeHooks(connection.hooks, command)) {
        note(context, `${path} cannot be read as JSON: take the hooks that call ${command} out yourself.`);
      }
    }
  }
  const { toBackgroundService, uninstallService } = await import('../collector/background-service.ts');
  const service = toBackgroundService(context);
  if (service.path === undefined || existsSync(service.path)) await uninstallService(service);
  const { endCollectors } = await import('../collector/end-collectors.ts');
  await endCollectors(toCollectorFolder(context));
  await deleteCollector(context, connection);
  print(context, `Disconnected from ${connection.url}.`);
}
