import { once } from 'node:events';
import type { ServiceConfig } from '@recount/config';
import { type Logger, pino } from 'pino';
import type { CliContext } from './cli-context.ts';

/** Runs a program, with a log of JSON lines on stdout, until it is interrupted, and then ends it gracefully. */
export async function runService<Config extends ServiceConfig>(
  context: CliContext,
  config: Config,
  start: (config: Config, log: Logger) => Promise<{ close(): Promise<void> }>,
): Promise<void> {
  const signal = context.listenForInterruption();
  const log = pino({ level: config.logLevel }, context.stdout);
  const service = await start(config, log);
  if (!signal.aborted) await once(signal, 'abort');
  log.info('shutting down');
  await service.close();
  log.info('stopped');
}
