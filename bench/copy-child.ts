import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { reportMeasurement } from './child.ts';

/** The tables of the insert stage. */
const tables = [
  'transcript_messages',
  'content_blocks',
  'usage_entries',
  'tool_calls',
  'session_events',
  'ingest_issues',
];

const [subject, connectionString = '', directory = ''] = process.argv.slice(2);
const client = new pg.Client({ connectionString });
await client.connect();
const fileOf = (table: string): string => join(directory, `${table}.copy`);

if (subject === 'save') {
  for (const table of tables) {
    await pipeline(client.query(copyTo(`COPY recount.${table} TO STDOUT`)), createWriteStream(fileOf(table)));
  }
} else {
  await client.query(`TRUNCATE ${tables.map((table) => `recount.${table}`).join(', ')}`);
  // Like `psql \copy`, with the prepared text of the rows is piped into COPY, in one transaction.
  await reportMeasurement(1, async () => {
    await client.query('BEGIN');
    for (const table of tables) {
      const rows = createReadStream(fileOf(table), { highWaterMark: 256 * 1024 });
      await pipeline(rows, client.query(copyFrom(`COPY recount.${table} FROM STDIN`)));
    }
    await client.query('COMMIT');
  });
}
await client.end();
