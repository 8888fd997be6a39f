import { spawn } from 'node:child_process';
import { type SendDependencies, type SendResult, sendSessions } from '@recount/collect';
import type { KeyHolderAnswer } from '@recount/contract';
import { takeProcessLock } from '@recount/local-postgres/process-lock';
import type { CliContext } from '../cli-context.ts';
import { createApiClient } from '../connection/api-client.ts';
import { type Connection, toCollectorFolder } from './connection.ts';
import { createDisclosure } from './disclosure.ts';
import { createSessionTarget } from './session-target.ts';
import { toMachine, toSenderCommand } from './this-machine.ts';

/** What the sender of a connected machine needs. */
function toSendDependencies(context: CliContext, connection: Connection): SendDependencies {
  const folder = toCollectorFolder(context);
  const client = createApiClient({ url: connection.url, key: connection.key });
  return {
    folder,
    machine: toMachine(context),
    target: createSessionTarget(client, connection),
    takeLock: () => takeProcessLock(folder.lock),
    readTargetVersion: async () => (await client.request<KeyHolderAnswer>('/v1/key'))?.server_version ?? '',
    decide: createDisclosure(connection),
  };
}

export async function send(
  context: CliContext,
  connection: Connection,
  options: Parameters<typeof sendSessions>[1],
): Promise<SendResult> {
  return await sendSessions(toSendDependencies(context, connection), options);
}

/** Starts a sender in the background, which sweeps all places. */
export function startSender({ environment }: CliContext): void {
  const [program, ...commandArguments] = [...toSenderCommand(), '--sweep'];
  // Whoever started this process is not to end the sender.
  const { RECOUNT_STARTED_BY: _startedBy, ...rest } = environment;
  const child = spawn(program ?? '', commandArguments, {
    detached: true,
    stdio: 'ignore',
    env: rest,
    windowsHide: true,
  });
  child.on('error', () => undefined);
  child.unref();
}
