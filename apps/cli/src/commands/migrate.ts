import { Command } from 'commander';
import { type CliContext, note } from '../terminal/cli-context.ts';

export function createMigrateCommand(context: CliContext): Command {
  return new Command('migrate')
    .description('Migrate the database of DATABASE_URL to the schema of this version')
    .option('--distribute', 'distribute its tables over the nodes of its Citus cluster, while nothing else is running')
    .addHelpText(
      'after',
      `
Run it before the API and workers of a new version start. Any number of processes may run it at once. Tables that are
distributed over a cluster stay distributed: --distribute is needed only the first time.

Examples:
  $ DATABASE_URL=postgres://localhost/recount recount migrate
  $ DATABASE_URL=postgres://coordinator/recount recount migrate --distribute`,
    )
    .action(async ({ distribute = false }: { distribute?: boolean }) => {
      const [{ distributeDatabase, migrateDatabase }, { readDatabaseUrl }] = await Promise.all([
        import('@recount/db'),
        import('@recount/service/config'),
      ]);
      const databaseUrl = readDatabaseUrl(context.environment);
      const migrated = await migrateDatabase(databaseUrl);
      note(context, 'The database has the schema of this version.');
      if (!distribute) return;
      // After an interruption, the migration has spread the rest.
      const tables = [...migrated, ...(await distributeDatabase(databaseUrl))];
      note(
        context,
        `Spread over the cluster: ${tables.length} tables; ${tables.length === 0 ? 'all were already' : 'all are now'}.`,
      );
    });
}
