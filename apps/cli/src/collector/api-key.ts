import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { KeyHolderAnswer } from '@recount/contract';
import { createApiClient } from '../connection/api-client.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { fetchKeyByCode } from './device-code.ts';

interface KeyOptions {
  url: string;
  /** A file that contains the key. */
  keyFile: string | undefined;
  /** The key of the machine's connection to the server. */
  known: string | undefined;
  /** Shown to the admin who approves a code. */
  machine: string;
}

/** The key, from a file, from RECOUNT_API_KEY, the known one, typed, or approved by an admin, in this order. */
export async function obtainKey(context: CliContext, { url, keyFile, known, machine }: KeyOptions): Promise<string> {
  return (await readKey(context, keyFile, known)) || (await fetchKeyByCode(context, url, machine));
}

/** The key's holder. Throws CliError if it cannot upload, because later, no one would notice the failure. */
export async function checkKey(url: string, key: string): Promise<KeyHolderAnswer> {
  const holder = await createApiClient({ url, key }).request<KeyHolderAnswer>('/v1/key');
  if (holder === undefined) throw new CliError(`${url} runs an earlier version of recount. Update it first.`);
  if (!holder.scopes.some((scope) => scope === 'ingest' || scope === 'admin')) {
    throw new CliError(`The key has the scopes ${holder.scopes.join(', ')}; sending sessions needs ingest.`);
  }
  return holder;
}

/** Empty if the user has none. */
async function readKey(context: CliContext, keyFile: string | undefined, known = ''): Promise<string> {
  if (keyFile !== undefined) {
    const text = await readFile(resolve(context.workingDirectory, keyFile), 'utf8').catch((error) => {
      throw new CliError(`Cannot read ${keyFile}: ${(error as NodeJS.ErrnoException).code}`);
    });
    return text.trim();
  }
  const key = context.environment.RECOUNT_API_KEY || known;
  if (key || !context.stdin.isTTY) return key;
  // The typed key is not echoed.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: context.stdin, output: silent, terminal: true });
  context.stderr.write(
    'API key (`recount keys create --name laptop --scopes ingest` makes one; Enter without one shows a code): ',
  );
  try {
    return (await terminal.question('')).trim();
  } finally {
    terminal.close();
    context.stderr.write('\n');
  }
}
