import { readCredentials } from '../data-directory/credentials.ts';
import { toDataDirectory } from '../data-directory/data-directory.ts';
import { findRunning } from '../data-directory/installation-lock.ts';
import { type CliContext, note, START_COMMAND } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import type { ApiPlace } from './api-client.ts';

export interface ApiOptions {
  server?: string;
  key?: string;
}

/**
 * The API to use: `--server` or RECOUNT_SERVER, else the local installation if it is running, else the server that this
 * machine is connected to unless DATABASE_URL names a database, else undefined. Throws UsageError for a server without
 * a key, or an invalid URL.
 */
export async function findApi(
  context: CliContext,
  options: ApiOptions,
  { isQuiet = false } = {},
): Promise<ApiPlace | undefined> {
  const { RECOUNT_SERVER, RECOUNT_API_KEY, DATABASE_URL } = context.environment;
  const server = options.server ?? (RECOUNT_SERVER || undefined);
  const key = options.key ?? (RECOUNT_API_KEY || undefined);
  if (server === undefined) {
    const local = await findLocalApi(context, options.key, isQuiet);
    return local ?? (DATABASE_URL ? undefined : await findConnectedApi(context, key, isQuiet));
  }
  if (!/^https?:$/.test(URL.parse(server)?.protocol ?? '')) {
    throw new UsageError(`${server} is not a server’s URL, such as https://recount.example.com`);
  }
  if (key === undefined) throw new UsageError('A server needs an API key. Set RECOUNT_API_KEY, or pass --key.');
  return { url: server.replace(/\/+$/, ''), key };
}

async function findLocalApi(
  context: CliContext,
  key: string | undefined,
  isQuiet: boolean,
): Promise<ApiPlace | undefined> {
  const directory = toDataDirectory(context);
  const running = await findRunning(directory.lock);
  if (running === undefined) return undefined;
  if (running.url === undefined)
    throw new CliError(`The installation in ${directory.path} is just starting; try again.`);
  const credentials = await readCredentials(directory.credentials);
  const apiKey = key ?? credentials?.apiKey;
  if (apiKey === undefined) throw new CliError(`There is no API key in ${directory.credentials}: give --key.`);
  if (!isQuiet) note(context, `Using the local installation at ${running.url}`);
  return { url: running.url, key: apiKey };
}

async function findConnectedApi(
  context: CliContext,
  key: string | undefined,
  isQuiet: boolean,
): Promise<ApiPlace | undefined> {
  const { readConnection } = await import('./connection.ts');
  const connection = await readConnection(context);
  if (connection === undefined) return undefined;
  if (!isQuiet) note(context, `Using ${connection.url}, which this machine is connected to`);
  return { url: connection.url, key: key ?? connection.key };
}

export const NO_API_MESSAGE = `No server. Start one with \`${START_COMMAND}\`, connect to one with \`recount connect\`, or name one with --server (or RECOUNT_SERVER) and RECOUNT_API_KEY.`;
