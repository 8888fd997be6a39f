import { Command } from 'commander';
import type { ApiOptions } from '../connection/find-api.ts';
import { addServerOptions } from '../connection/place-options.ts';
import { type CliContext, print, printJson } from '../terminal/cli-context.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { addTimeZoneOptions, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';

interface StatusOptions extends ApiOptions, TimeZoneOptions {
  json?: boolean;
}

export function createStatusCommand(context: CliContext): Command {
  const command = addServerOptions(
    new Command('status').description('Running and waiting work, the search index, disk use, and the last failures'),
  ).option('--json', 'print JSON');
  return addTimeZoneOptions(command)
    .addHelpText(
      'after',
      `
Shows a server, the local installation if it is running, the database of DATABASE_URL, or the server that this machine
is connected to. A server shows its database only to keys with the scope admin. \`recount issues\` lists all failures
and faults.

Examples:
  $ recount status
  $ recount status --json | jq .disk
  $ RECOUNT_API_KEY=rk_… recount status --server https://recount.example.com`,
    )
    .action(async (options: StatusOptions) => {
      const [{ readStatus }, { formatStatus }] = await Promise.all([
        import('../status/read-status.ts'),
        import('../status/format-status.ts'),
      ]);
      const status = await readStatus(context, options);
      if (options.json) return printJson(context, status);
      const layout = { timeZone: toTimeZone(options), maxWidth: toPrintWidth(context) };
      for (const line of formatStatus(status, layout)) print(context, line);
    });
}
