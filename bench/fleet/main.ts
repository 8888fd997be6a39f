import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createDatabasePool, type DatabasePool, migrateDatabase } from '@recount/db';
import { chooseSettings, createDatabase, startLocalPostgres } from '@recount/local-postgres';
import { createFolderRawStore, type RawStore } from '@recount/storage';
import { ingestSearched, measureIngestion } from './ingest-one-more.ts';
import type { Cost } from './measure.ts';
import { measureSearches, measureSessions } from './measure-questions.ts';
import { measureReports } from './measure-reports.ts';
import { FLEET_WORKSPACE, type FleetSize, seedFleet, seedTexts } from './seed-fleet.ts';

// node bench/fleet/main.ts [--sessions 10000] [--responses 40] [--calls 34] [--events 10] [--texts 10] [--folder DIR]
// A year of a fleet: what reports, search, the list of sessions and one more transcript cost. Linux.
const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '10000' },
    responses: { type: 'string', default: '40' },
    calls: { type: 'string', default: '34' },
    events: { type: 'string', default: '10' },
    texts: { type: 'string', default: '10' },
    folder: { type: 'string', default: tmpdir() },
  },
});
const size: FleetSize = {
  sessions: Number(values.sessions),
  responses: Number(values.responses),
  calls: Number(values.calls),
  events: Number(values.events),
  texts: Number(values.texts),
};
const TEMPLATE_BYTES = 3_000_000;
const RARE_WORD = 'heronneedle';
const RARE_LINE = `${JSON.stringify({
  type: 'user',
  uuid: 'heron',
  timestamp: '2026-05-30T10:00:00.000Z',
  message: { role: 'user', content: `look for the ${RARE_WORD}` },
})}\n`;

const folder = await mkdtemp(join(values.folder, 'recount-fleet-'));
// What is seeded is vacuumed once, at the end.
const settings = { ...chooseSettings(), max_wal_size: '4GB', autovacuum: 'off' };
const postgres = await startLocalPostgres({ directory: join(folder, 'postgres'), settings });
try {
  await migrateDatabase(postgres.connectionString);
  const emptyConnectionString = await createDatabase(postgres.connectionString, 'empty', 'recount');
  const database = createDatabasePool({ connectionString: postgres.connectionString });
  const rawStore = createFolderRawStore({ directory: join(folder, 'raw') });
  await seed(database, rawStore);
  await printAll(database, rawStore, emptyConnectionString);
  await rawStore.close();
  await database.close();
} finally {
  await postgres.stop();
  // The database of root lives elsewhere.
  for (const path of [folder, postgres.directory]) await rm(path, { recursive: true, force: true });
}

async function seed(database: DatabasePool, rawStore: RawStore): Promise<void> {
  const startMs = performance.now();
  await seedFleet(database, size);
  const { sessionId } = await ingestSearched(database, rawStore, 1, TEMPLATE_BYTES);
  await seedTexts(database, size, sessionId);
  await ingestSearched(database, rawStore, 2, undefined, RARE_LINE);
  const { rows } = await database.pool.query<{ size: string }>(
    'SELECT pg_size_pretty(pg_database_size(current_database())) AS size',
  );
  const minutes = (performance.now() - startMs) / 60_000;
  console.log(`${JSON.stringify(size)}: ${rows[0]?.size}, seeded in ${minutes.toFixed(1)} min\n`);
}

async function printAll(database: DatabasePool, rawStore: RawStore, emptyConnectionString: string): Promise<void> {
  const print = (name: string, ...cells: string[]): void =>
    console.log(name.padEnd(34), ...cells.map((cell) => cell.padStart(10)));
  const toCells = ({ milliseconds, serverCpuMs }: Cost): string[] => [milliseconds.toFixed(0), serverCpuMs.toFixed(0)];
  print('', 'year ms', 'CPU ms', '30 days ms', 'CPU ms');
  for await (const { report, year, month } of measureReports(database)) {
    print(report, ...toCells(year), ...toCells(month));
  }
  print('', 'ms', 'CPU ms');
  const words = { rareWord: RARE_WORD, frequentWord: await findFrequentWord(database) };
  for await (const { question, cost } of measureSessions(database, size.sessions)) print(question, ...toCells(cost));
  for await (const { question, cost } of measureSearches(database, words)) print(question, ...toCells(cost));
  const ingested = await measureIngestion(database, emptyConnectionString, rawStore);
  print('ingest one more transcript', ...toCells(ingested.fleet));
  print('  in an empty database', ...toCells(ingested.empty));
}

/** A word that most documents have. */
async function findFrequentWord({ pool }: DatabasePool): Promise<string> {
  const { rows } = await pool.query<{ word: string }>(
    `SELECT word FROM ts_stat($1) WHERE word ~ '^[a-z]{5,}$' ORDER BY ndoc DESC, word LIMIT 1`,
    [
      `SELECT words FROM recount.search_documents WHERE workspace_id = '${FLEET_WORKSPACE}' ORDER BY session_id DESC LIMIT 5000`,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('No document has a word');
  return row.word;
}
