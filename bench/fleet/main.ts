import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabasePool, migrateDatabase } from '@recount/db';
import { startLocalPostgres } from '@recount/local-postgres';
import { measureReports } from './measure-reports.ts';
import { seedFleet } from './seed-fleet.ts';

const sessionCount = Number(process.argv[2] ?? 10_000);
const folder = await mkdtemp(join(tmpdir(), 'recount-fleet-'));
const postgres = await startLocalPostgres({ directory: join(folder, 'postgres') });
try {
  await migrateDatabase(postgres.connectionString);
  const pool = createDatabasePool({ connectionString: postgres.connectionString });
  await seedFleet(pool, sessionCount);
  console.log(`${sessionCount} sessions`.padEnd(28), 'year ms'.padStart(10), '30 days ms'.padStart(12));
  for (const { report, yearMs, monthMs } of await measureReports(pool)) {
    console.log(report.padEnd(28), yearMs.toFixed(0).padStart(10), monthMs.toFixed(0).padStart(12));
  }
  await pool.close();
} finally {
  await postgres.stop();
  // The database of root lives elsewhere.
  for (const path of [folder, postgres.directory]) await rm(path, { recursive: true, force: true });
}
