import { Command } from 'commander';
import { type CliContext, print } from '../cli-context.ts';
import type { ApiOptions } from '../connection/find-api.ts';
import { wholeNumber } from '../option-values.ts';
import type { LatestSessions } from '../sessions/read-sessions.ts';
import { toPrintWidth } from '../terminal/print-width.ts';

interface SessionsOptions extends ApiOptions {
  limit: number;
  json?: boolean;
  utc?: boolean;
  workspace: string;
}

const MAX_LIMIT = 500;

export function createSessionsCommand(context: CliContext): Command {
  return new Command('sessions')
    .description('Show the latest sessions with messages, tokens and dollars')
    .option('--limit <n>', `how many, at most ${MAX_LIMIT}`, wholeNumber(1, MAX_LIMIT), 20)
    .option('--utc', 'show times in UTC')
    .option('--json', 'print JSON')
    .option('--server <url>', 'API to ask; default RECOUNT_SERVER, or the local installation')
    .option('--key <key>', 'API key; better in RECOUNT_API_KEY, where other users of the machine do not see it')
    .option('--workspace <name>', 'workspace, with DATABASE_URL; a key has its own', 'default')
    .addHelpText(
      'after',
      `
Asks an API where one is named or the local installation runs, else the database of DATABASE_URL.

Examples:
  $ recount sessions --limit 50
  $ recount sessions --json | jq '.sessions[] | .cost_estimate_usd'`,
    )
    .action((options: SessionsOptions) => showSessions(context, options));
}

async function showSessions(context: CliContext, options: SessionsOptions): Promise<void> {
  const latest = await readLatest(context, options);
  if (options.json) return print(context, JSON.stringify(latest, null, 2));
  const { formatSessions } = await import('../sessions/session-table.ts');
  const layout = { inUtc: options.utc ?? false, maxWidth: toPrintWidth(context.stdout) };
  for (const line of formatSessions(latest, layout)) print(context, line);
}

async function readLatest(context: CliContext, options: SessionsOptions): Promise<LatestSessions> {
  const { findApi } = await import('../connection/find-api.ts');
  const { readLatestFromApi, readLatestFromDatabase } = await import('../sessions/read-sessions.ts');
  const place = await findApi(context, options);
  if (place !== undefined) {
    const { createApiClient } = await import('../connection/api-client.ts');
    return await readLatestFromApi(createApiClient(place), options.limit);
  }
  const { findWorkspace, withDatabase } = await import('../connection/open-installation.ts');
  return await withDatabase(context, async (pool) =>
    readLatestFromDatabase(pool.database, await findWorkspace(pool, options.workspace), options.limit),
  );
}
