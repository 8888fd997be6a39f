import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { formatCountOf } from '../terminal/format-values.ts';

export function createDisconnectCommand(context: CliContext): Command {
  return new Command('disconnect')
    .description('Remove the hooks, server, key and send history')
    .option('--force', 'even if some sessions were not sent yet')
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
  const { listWaiting, removeHooks } = await import('@recount/collect');
  const connection = await requireConnection(context);
  const waiting = await listWaiting(toCollectorFolder(context));
  if (waiting.length > 0 && !force) {
    throw new CliError(
      `${formatCountOf(waiting.length, 'session')} not sent yet. Run \`recount send\` first, or pass --force to discard data that only recount has.`,
    );
  }
  if (connection.hookCommand !== null) {
    const unreadable = await removeHooks(connection.hooks, connection.hookCommand);
    for (const path of unreadable) {
      note(context, `${path} cannot be read as JSON: take the hooks that call ${connection.hookCommand} out yourself.`);
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
