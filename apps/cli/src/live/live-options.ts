import type { Command } from 'commander';
import type { ApiOptions } from '../connection/find-api.ts';
import { wholeNumber } from '../terminal/option-values.ts';

/** Options of `recount tail` and `recount run`. */
export interface LiveOptions extends ApiOptions {
  verbose?: boolean;
  text: boolean;
  progress?: boolean;
  stream: boolean;
  json?: boolean;
  stallTimeout?: number;
  record?: boolean;
}

const MAX_STALL_SECONDS = 7 * 24 * 3600;

export function addLiveOptions(command: Command): Command {
  return command
    .option('-v, --verbose', 'tool results, durations, warnings, and a closing count')
    .option('--no-text', "without the agent's texts")
    .option('--progress', 'with thoughts, plans, states and unknown events')
    .option('--no-stream', 'pass the output through unchanged')
    .option('--json', 'print the events as JSON, one object per line, the same for all agents')
    .option(
      '--stall-timeout <seconds>',
      'warn when there is no output for this long',
      wholeNumber(1, MAX_STALL_SECONDS),
    )
    .option('--record', 'store the stream, live, in the local installation, or in what RECOUNT_SERVER names')
    .option('--server <url>', 'store it in this API')
    .option('--key <key>', 'API key; better set RECOUNT_API_KEY, which other users of the machine cannot see');
}

export const RECORDING_HELP = `
Recordings are spooled to disk first: neither an unreachable server nor a full disk disturbs the agent. What could not be sent is sent by the next recording, or by \`recount live flush\`.`;
