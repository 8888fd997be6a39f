import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createDatabasePool, type DatabasePool, migrateDatabase } from '@recount/db';
import { chooseSettings, createDatabase, dropDatabase, startLocalPostgres } from '@recount/local-postgres';
import { createFolderRawStore } from '@recount/storage';
import { ingestGenerated, measureIngestion } from './ingest-one-more.ts';
import type { Cost } from './measure.ts';
import { measureSearches, measureSessions, type QuestionCost } from './measure-questions.ts';
import { measureReports } from './measure-reports.ts';
import { FLEET_WORKSPACE, type FleetSize, seedFleet, seedTexts } from './seed-fleet.ts';

// node bench/fleet/main.ts [--sessions 10000] [--responses 40] [--calls 34] [--events 10] [--texts 10] [--folder DIR]
//   [--only reports,sessions,search,ingest] [--keep DIR]
// Measures reports, search, lists of sessions and one more transcript, over a year of a fleet. Linux only. --keep
// leaves the database in DIR, and the next run with the same DIR uses it instead of seeding one.
const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '10000' },
    responses: { type: 'string', default: '40' },
    calls: { type: 'string', default: '34' },
    events: { type: 'string', default: '10' },
    texts: { type: 'string', default: '10' },
    folder: { type: 'string', default: tmpdir() },
    only: { type: 'string', default: 'reports,sessions,search,ingest' },
    keep: { type: 'string' },
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

const parts = new Set(values.only.split(','));
const folder = values.keep ?? (await mkdtemp(join(values.folder, 'recount-fleet-')));
const rawStore = createFolderRawStore({ directory: join(folder, 'raw') });
// Seeded tables are vacuumed once, at the end.
const settings = { ...chooseSettings(), max_wal_size: '4GB', autovacuum: 'off' };
const seedingSettings = {
  ...settings,
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
};
const seeding = await withPostgres(seedingSettings, async (connectionString) => {
  await migrateDatabase(connectionString);
  await withPool(connectionString, seedOnce);
});
await withPostgres(settings, async (connectionString) => {
  const emptyConnectionString = await createDatabase(connectionString, `empty_${Date.now()}`);
  await migrateDatabase(emptyConnectionString);
  await withPool(connectionString, (database) => printAll(database, emptyConnectionString));
  await dropDatabase(connectionString, new URL(emptyConnectionString).pathname.slice(1));
});
await rawStore.close();
if (values.keep === undefined) {
  // As root, the database is elsewhere.
  for (const path of [folder, seeding.directory]) await rm(path, { recursive: true, force: true });
}

async function withPostgres(
  serverSettings: Record<string, string>,
  work: (connectionString: string) => Promise<void>,
): Promise<{ directory: string }> {
  const postgres = await startLocalPostgres({ directory: join(folder, 'postgres'), settings: serverSettings });
  try {
    await work(postgres.connectionString);
  } finally {
    await postgres.stop();
  }
  return postgres;
}

async function withPool(connectionString: string, work: (database: DatabasePool) => Promise<void>): Promise<void> {
  const database = createDatabasePool({ connectionString });
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

/** The transcript with the rare word is seeded last. */
async function seedOnce(database: DatabasePool): Promise<void> {
  const { rowCount } = await database.pool.query(
    'SELECT FROM recount.content_blocks WHERE content_text LIKE $1 LIMIT 1',
    [`%${RARE_WORD}%`],
  );
  if (rowCount === 1) return;
  const startMs = performance.now();
  await seedFleet(database, size);
  const { sessionId } = await ingestGenerated(database, rawStore, 1, TEMPLATE_BYTES);
  await seedTexts(database, size, sessionId);
  await ingestGenerated(database, rawStore, 2, undefined, RARE_LINE);
  await database.pool.query('VACUUM ANALYZE');
  const minutes = (performance.now() - startMs) / 60_000;
  console.log(`seeded in ${minutes.toFixed(1)} min`);
}

async function printAll(database: DatabasePool, emptyConnectionString: string): Promise<void> {
  const { rows } = await database.pool.query<{ size: string }>(
    'SELECT pg_size_pretty(pg_database_size(current_database())) AS size',
  );
  console.log(`${JSON.stringify(size)}: ${rows[0]?.size}\n`);
  const print = (name: string, ...cells: string[]): void =>
    console.log(name.padEnd(34), ...cells.map((cell) => cell.padStart(10)));
  const toCells = ({ milliseconds, serverCpuMs }: Cost): string[] => [milliseconds.toFixed(0), serverCpuMs.toFixed(0)];
  const printQuestions = async (costs: AsyncIterable<QuestionCost>): Promise<void> => {
    for await (const { question, cost } of costs) print(question, ...toCells(cost));
  };
  if (parts.has('reports')) {
    print('', 'year ms', 'CPU ms', '30 days ms', 'CPU ms');
    for await (const { report, year, month } of measureReports(database)) {
      print(report, ...toCells(year), ...toCells(month));
    }
  }
  print('', 'ms', 'CPU ms');
  if (parts.has('sessions')) await printQuestions(measureSessions(database, size.sessions));
  if (parts.has('search')) {
    const words = { rareWord: RARE_WORD, frequentWord: await findFrequentWord(database) };
    await printQuestions(measureSearches(database, words));
  }
  if (parts.has('ingest')) await printQuestions(measureIngestion(database, emptyConnectionString, rawStore));
}

/** A word in most texts. */
async function findFrequentWord({ pool }: DatabasePool): Promise<string> {
  const { rows } = await pool.query<{ word: string }>(
    `SELECT word FROM ts_stat($1) WHERE word ~ '^[a-z]{5,}$' ORDER BY ndoc DESC, word LIMIT 1`,
    [
      `SELECT to_tsvector('simple', coalesce(content_text, result_text, '')) FROM recount.content_blocks
       WHERE workspace_id = '${FLEET_WORKSPACE}' LIMIT 5000`,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('No text has a word');
  return row.word;
}
