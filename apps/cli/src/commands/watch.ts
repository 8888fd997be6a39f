import { dirname } from 'node:path';
import { Command, Option } from 'commander';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';

interface WatchOptions {
  install?: boolean;
  uninstall?: boolean;
}

export function createWatchCommand(context: CliContext): Command {
  return new Command('watch')
    .description('Send new content of this machine’s sessions as it is written, without hooks')
    .addOption(new Option('--install', 'keep it running in the background from login on').conflicts('uninstall'))
    .option('--uninstall', 'stop it, and do not start it again')
    .addHelpText(
      'after',
      `
Waits for the agents to write to their files, and starts a sender then; in between it does nothing. It also works for
agents without hooks. --install makes a systemd user unit, a launchd agent or a scheduled task.

Examples:
  $ recount watch
  $ recount watch --install`,
    )
    .action((options: WatchOptions) => watchOrInstall(context, options));
}

async function watchOrInstall(context: CliContext, { install, uninstall }: WatchOptions): Promise<void> {
  if (!install && !uninstall) {
    const { watchSessions } = await import('../collector/watch.ts');
    return await watchSessions(context);
  }
  const [{ requireConnection, writeConnection }, { listMissingFolders }, service] = await Promise.all([
    import('../connection/connection.ts'),
    import('@recount/collect'),
    import('../collector/background-service.ts'),
  ]);
  const described = service.toBackgroundService(context);
  if (uninstall) {
    await service.uninstallService(described);
    return print(context, 'recount watch no longer runs in the background.');
  }
  const connection = await requireConnection(context);
  if (described.path !== undefined) {
    note(context, `${described.path}:\n${described.text}`);
    const madeFolders = [...(connection.madeFolders ?? []), ...listMissingFolders(dirname(described.path))];
    await writeConnection(context, { ...connection, madeFolders });
  }
  const failed = await service.installService(described);
  if (failed !== undefined) throw new CliError(`It could not be started; once that is fixed, run: ${failed}`);
  print(context, 'recount watch runs in the background from now on; `recount watch --uninstall` stops it.');
}
