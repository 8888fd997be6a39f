import { Command } from 'commander';
import type { CliContext } from '../cli-context.ts';

export function createWorkerCommand(context: CliContext): Command {
  return new Command('worker')
    .description('Ingest what was uploaded, with settings from environment variables')
    .addHelpText(
      'after',
      `
Needs DATABASE_URL and RECOUNT_RAW_STORE; ingests RECOUNT_WORKER_CONCURRENCY (default 2) transcripts at once.
SIGTERM finishes what is under way, or hands it back. All settings: docs/operations.md

Example:
  $ DATABASE_URL=postgres://localhost/recount RECOUNT_RAW_STORE=/var/lib/recount/raw recount worker`,
    )
    .action(async () => {
      const [{ readWorkerConfig, startWorker }, { runService }] = await Promise.all([
        import('@recount/worker'),
        import('../run-service.ts'),
      ]);
      await runService(context, readWorkerConfig(context.environment), startWorker);
    });
}
