import type { WorkerConfig } from '@recount/worker';
import { Command } from 'commander';
import type { Logger } from 'pino';
import type { CliContext } from '../terminal/cli-context.ts';

export function createWorkerCommand(context: CliContext): Command {
  return new Command('worker')
    .description('Ingest what was uploaded, with settings from environment variables')
    .addHelpText(
      'after',
      `
Needs DATABASE_URL and RECOUNT_RAW_STORE; ingests RECOUNT_WORKER_CONCURRENCY (default 2) transcripts at once, in each of
RECOUNT_WORKER_PROCESSES (default 1) processes: one for each core that PostgreSQL does not use is fastest. SIGTERM
finishes running jobs, or hands them back. All settings: docs/operations.md

Example:
  $ DATABASE_URL=postgres://localhost/recount RECOUNT_RAW_STORE=/var/lib/recount/raw recount worker`,
    )
    .action(async () => {
      const [{ readWorkerConfig, startWorker }, { runService }, { collectWhenIdle }] = await Promise.all([
        import('@recount/worker'),
        import('./run-service.ts'),
        import('../installation/collect-when-idle.ts'),
      ]);
      collectWhenIdle();
      const config = readWorkerConfig(context.environment);
      const startMany = async (_config: typeof config, log: Logger) => await startWorkers(context, config, log);
      await runService(context, config, config.processes === 1 ? startWorker : startMany);
    });
}

/** Starts several processes, which this one keeps running. */
async function startWorkers(context: CliContext, config: WorkerConfig, logger: Logger) {
  const { superviseWorkers, WORKER_MARGIN_MS } = await import('../installation/worker-process.ts');
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  const { environment, stdout } = context;
  const workers = superviseWorkers(
    { logger, writeLine: (line) => void stdout.write(`${line}\n`) },
    {
      environment,
      processes: config.processes,
      metricsPort: config.metrics?.port,
      graceMs: config.shutdownGraceMs + WORKER_MARGIN_MS,
    },
    { onWarning: (line) => logger.error(line), onGiveUp: reject },
  );
  return { failed, close: workers.close };
}
