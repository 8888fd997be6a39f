import type { Command } from 'commander';
import type { ApiOptions } from './find-api.ts';

/** The options of `addPlaceOptions`, and --json. */
export interface PlaceOptions extends ApiOptions {
  workspace: string;
  json?: boolean;
}

/** Adds the options that name an API. */
export function addServerOptions(command: Command): Command {
  return command
    .option('--server <url>', 'API to ask; default RECOUNT_SERVER, or the local installation')
    .option('--key <key>', 'API key; better set RECOUNT_API_KEY, which other users of the machine cannot see');
}

/** Adds the options that name an API, or a workspace of a database. */
export function addPlaceOptions(command: Command): Command {
  return addServerOptions(command).option(
    '--workspace <name>',
    'workspace, with DATABASE_URL; a key has its own',
    'default',
  );
}
