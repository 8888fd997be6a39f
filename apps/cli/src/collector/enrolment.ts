import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { DeliveryError } from '@recount/collect/delivery-error';
import type { DeviceToken, EnrolmentRequest } from '@recount/contract';
import { retry } from '@recount/service/retry';
import { type ApiPlace, createApiClient } from '../connection/api-client.ts';
import { toDataDirectory } from '../data-directory/data-directory.ts';
import { type CliContext, note } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';

/** A whole fleet may enrol at the same time, and a network may only come up after the roll-out's command. */
const RETRY = { firstMs: 1000, longestMs: 30_000, isRandom: true, maxAttempts: 5, maxBusyMs: 15 * 60_000 };
const READ_TIMEOUT_MS = 5000;

/** Files that Linux names the machine in, `machine-id(5)`. */
const LINUX_FILES = ['/etc/machine-id', '/var/lib/dbus/machine-id'];
/** The commands that print the name of the machine elsewhere, and where it is in what they print. */
const COMMANDS: Partial<Record<NodeJS.Platform, { file: string; args: string[]; pattern: RegExp }>> = {
  darwin: {
    ...{ file: '/usr/sbin/ioreg', args: ['-rd1', '-c', 'IOPlatformExpertDevice'] },
    pattern: /"IOPlatformUUID" = "([^"]+)"/,
  },
  win32: {
    ...{ file: 'reg', args: ['query', String.raw`HKLM\SOFTWARE\Microsoft\Cryptography`, '/v', 'MachineGuid'] },
    pattern: /MachineGuid\s+REG_SZ\s+(\S+)/,
  },
};

/** Exchanges an enrolment key for this machine's own. Waits if too many machines do so, or the server is away. */
export async function exchangeEnrolmentKey(
  context: CliContext,
  place: ApiPlace,
  { machine, person }: { machine: string; person: string | undefined },
): Promise<string> {
  const client = createApiClient(place);
  const signal = context.listenForInterruption();
  const json: EnrolmentRequest = { machine, machine_id: await toMachineId(context), ...(person && { person }) };
  const token = await retry(() => client.request<DeviceToken>('/v1/device/enrol', { method: 'POST', json, signal }), {
    ...{ ...RETRY, signal },
    toPassing: (error) =>
      error instanceof DeliveryError && error.code === 'unavailable'
        ? { afterMs: error.retryAfterMs, isBusy: error.isBusy }
        : undefined,
    onRetry: (error, pauseMs) =>
      note(context, `${(error as Error).message}. Trying again in ${Math.ceil(pauseMs / 1000)} s.`),
  });
  if (token === undefined) throw new CliError(`${place.url} runs an earlier version of recount. Update it first.`);
  return token.access_token;
}

/**
 * SHA-256 of what tells this installation from all others: the operating system's name of the machine, its host name,
 * because images are copied with the former, and the data directory, because each has its own connection.
 */
async function toMachineId(context: CliContext): Promise<string> {
  const words = ['recount enrolment', await readMachineName(), hostname(), toDataDirectory(context).path];
  return createHash('sha256').update(words.join('\n')).digest('hex');
}

/** Empty if the operating system has none, as in most containers. */
async function readMachineName(): Promise<string> {
  const command = COMMANDS[process.platform];
  if (command === undefined) {
    for (const file of LINUX_FILES) {
      const name = await readFile(file, 'utf8').catch(() => '');
      if (name.trim() !== '') return name.trim();
    }
    return '';
  }
  const printed = promisify(execFile)(command.file, command.args, { timeout: READ_TIMEOUT_MS });
  return await printed.then(
    ({ stdout }) => command.pattern.exec(stdout)?.[1] ?? '',
    () => '',
  );
}
