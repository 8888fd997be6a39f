import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import type { Machine } from '@recount/collect';
import type { CliContext } from '../terminal/cli-context.ts';

export function toMachine({ environment }: CliContext): Machine {
  return { platform: process.platform, environment, homeFolder: environment.HOME || homedir() };
}

/** The way that hooks and `recount connect` start a sender that outlives them. */
export function toSenderCommand(): [string, string, ...string[]] {
  return [process.execPath, realpathSync(process.argv[1] ?? ''), 'send', '--quiet'];
}
