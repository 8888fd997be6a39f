import { Command } from 'commander';
import type { CliContext } from '../terminal/cli-context.ts';

export function createApiCommand(context: CliContext): Command {
  return new Command('api')
    .description('Run the HTTP API, with settings from environment variables')
    .addHelpText(
      'after',
      `
Needs DATABASE_URL and RECOUNT_RAW_STORE; listens on RECOUNT_HOST (default 127.0.0.1) and RECOUNT_PORT (default 7878).
All settings: docs/operations.md

Example:
  $ DATABASE_URL=postgres://localhost/recount RECOUNT_RAW_STORE=/var/lib/recount/raw recount api`,
    )
    .action(async () => {
      const [{ readApiConfig, startApi }, { runService }] = await Promise.all([
        import('@recount/api'),
        import('./run-service.ts'),
      ]);
      const { findBuiltDashboard } = await import('../installation/build-dashboard.ts');
      const dashboard = await findBuiltDashboard();
      const environment = {
        ...(dashboard !== undefined && { RECOUNT_DASHBOARD_DIRECTORY: dashboard }),
        ...context.environment,
      };
      await runService(context, readApiConfig(environment), startApi);
    });
}
