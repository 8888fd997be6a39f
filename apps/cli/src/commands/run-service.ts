import { once } from 'node:events';
import type { ServiceConfig } from '@recount/service/config';
import { type Logger, pino } from 'pino';
import type { CliContext } from '../terminal/cli-context.ts';

/**
 * Runs a program, with a log of JSON lines on stdout, until it is interrupted, and then ends it gracefully. If it
 * reports that it cannot continue, ends it as well, and throws the reason.
 */
export async function runService<Config extends ServiceConfig>(
  context: CliContext,
  config: Config,
  start: (config: Config, log: Logger) => Promise<{ close(): Promise<void>; failed?: Promise<never> }>,
): Promise<void> {
  const signal = context.listenForInterruption();
  context.outlivesReader = true;
  const log = pino({ level: config.logLevel }, context.stdout);
  const service = await start(config, log);
  context.reportReady();
  try {
    if (!signal.aborted) await Promise.race([once(signal, 'abort'), ...(service.failed ? [service.failed] : [])]);
  } finally {
    log.info('shutting down');
    await service.close();
    log.info('stopped');
  }
}
