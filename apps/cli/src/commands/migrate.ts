import { Command } from 'commander';
import { type CliContext, note } from '../cli-context.ts';

export function createMigrateCommand(context: CliContext): Command {
  return new Command('migrate')
    .description('Bring the database of DATABASE_URL to the schema of this version')
    .addHelpText(
      'after',
      `
Run it before the API and workers of a new version start. Any number of processes may run it at once.

Example:
  $ DATABASE_URL=postgres://localhost/recount recount migrate`,
    )
    .action(async () => {
      const [{ migrateDatabase }, { migrateQueue }, { readDatabaseUrl }] = await Promise.all([
        import('@recount/db'),
        import('@recount/ingest/queue'),
        import('@recount/service/config'),
      ]);
      const databaseUrl = readDatabaseUrl(context.environment);
      await migrateDatabase(databaseUrl);
      await migrateQueue(databaseUrl);
      note(context, 'The database has the schema of this version.');
    });
}
