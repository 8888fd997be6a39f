import { spawn } from 'node:child_process';
import { type SendDependencies, type SendResult, sendSessions } from '@recount/collect';
import type { KeyHolderAnswer } from '@recount/contract';
import { takeProcessLock } from '@recount/local-postgres/process-lock';
import { createApiClient } from '../connection/api-client.ts';
import { type Connection, deleteCollector, hasConnection, toCollectorFolder } from '../connection/connection.ts';
import { createHttpTarget } from '../connection/http-target.ts';
import type { CliContext } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { createSendDecider } from './send-decision.ts';
import { toMachine, toSenderCommand } from './this-machine.ts';

/** The dependencies of a connected machine's sender. */
function toSendDependencies(context: CliContext, connection: Connection): SendDependencies {
  const folder = toCollectorFolder(context);
  const client = createApiClient({ url: connection.url, key: connection.key });
  return {
    folder,
    machine: toMachine(context),
    target: createHttpTarget(client, { machine: connection.machine, person: connection.person ?? undefined }),
    takeLock: () => {
      const lock = takeProcessLock(folder.lock);
      if (lock === undefined || hasConnection(context)) return lock;
      lock.release();
      throw new CliError('This machine was disconnected while sending.');
    },
    readTargetVersion: async () => (await client.request<KeyHolderAnswer>('/v1/key'))?.server_version ?? '',
    decide: createSendDecider(connection),
  };
}

export async function send(
  context: CliContext,
  connection: Connection,
  options: Parameters<typeof sendSessions>[1],
): Promise<SendResult> {
  try {
    return await sendSessions(toSendDependencies(context, connection), options);
  } finally {
    // `recount disconnect` may have run while this process started and recreated its folder.
    if (!hasConnection(context)) await deleteCollector(context, connection);
  }
}

/** Starts a sender in the background that sweeps all places. */
export function startSender({ environment }: CliContext): void {
  const [program, ...commandArguments] = [...toSenderCommand(), '--sweep'];
  // The sender must outlive the process that started this one.
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
