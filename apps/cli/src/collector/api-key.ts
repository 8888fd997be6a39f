import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { DeliveryError } from '@recount/collect/delivery-error';
import type { KeyHolderAnswer } from '@recount/contract';
import { createApiClient } from '../connection/api-client.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { fetchKeyByCode } from './device-code.ts';
import { exchangeEnrolmentKey } from './enrolment.ts';

interface KeyOptions {
  url: string;
  /** A file that contains the key. */
  keyFile: string | undefined;
  /** The key of the machine's connection to the server. */
  known: string | undefined;
  /** A file that contains an enrolment key. */
  enrolKeyFile: string | undefined;
  /** Shown to the admin who approves a code; names the key of a machine that enrols. */
  machine: string;
  /** Owner of a machine that enrols; undefined if its uploads name their person. */
  person: string | undefined;
}

/**
 * The key, from a file, from RECOUNT_API_KEY, the known one, exchanged for an enrolment key, typed, or approved by an
 * admin, in this order. With an enrolment key, a known one that is no longer valid is exchanged too, and no one is asked.
 */
export async function obtainKey(context: CliContext, options: KeyOptions): Promise<string> {
  const { url, keyFile, known, machine, person } = options;
  const enrolmentKey = await findEnrolmentKey(context, options);
  if (enrolmentKey !== undefined) {
    if (known !== undefined && (await isValidKey(url, known))) return known;
    return await exchangeEnrolmentKey(context, { url, key: enrolmentKey }, { machine, person });
  }
  return (await readKey(context, keyFile, known)) || (await fetchKeyByCode(context, url, machine));
}

/** Undefined without an enrolment key, or if another key is given explicitly. */
async function findEnrolmentKey(
  context: CliContext,
  { keyFile, enrolKeyFile }: Pick<KeyOptions, 'keyFile' | 'enrolKeyFile'>,
): Promise<string | undefined> {
  if (enrolKeyFile !== undefined) {
    if (keyFile !== undefined) throw new UsageError('Give either --key-file or --enrol-key-file.');
    return await readKeyFile(context, enrolKeyFile);
  }
  return keyFile === undefined && !context.environment.RECOUNT_API_KEY
    ? context.environment.RECOUNT_ENROL_KEY || undefined
    : undefined;
}

/** False for a key that was revoked or has expired. */
async function isValidKey(url: string, key: string): Promise<boolean> {
  try {
    return (await createApiClient({ url, key }).request('/v1/key')) !== undefined;
  } catch (error) {
    if (error instanceof DeliveryError && error.code === 'denied') return false;
    throw error;
  }
}

/** The key as `obtainKey` finds it; undefined if only an admin could approve one, who is not asked. */
export async function findKey(
  context: CliContext,
  { keyFile, known }: Pick<KeyOptions, 'keyFile' | 'known'>,
): Promise<string | undefined> {
  return (await readKey(context, keyFile, known)) || undefined;
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
  if (keyFile !== undefined) return await readKeyFile(context, keyFile);
  const key = context.environment.RECOUNT_API_KEY || known;
  if (key || !context.stdin.isTTY) return key;
  // The typed key is not echoed.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: context.stdin, output: silent, terminal: true });
  context.stderr.write(
    'API key (`recount keys create --name laptop --scopes ingest` makes one; Enter without one shows a code): ',
  );
  // The promise of a question stays open if the input ends.
  const ended = once(terminal, 'close').then(() => {
    throw new CliError('No key was given.');
  });
  try {
    return (await Promise.race([terminal.question(''), ended])).trim();
  } finally {
    ended.catch(() => undefined);
    terminal.close();
    context.stderr.write('\n');
  }
}

async function readKeyFile({ workingDirectory }: CliContext, path: string): Promise<string> {
  const text = await readFile(resolve(workingDirectory, path), 'utf8').catch((error) => {
    throw new CliError(`Cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  });
  return text.trim();
}
