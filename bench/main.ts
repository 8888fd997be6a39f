import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrateDatabase } from '@recount/db';
import { migrateQueue } from '@recount/ingest/queue';
import { startLocalPostgres } from '@recount/local-postgres';
import { benchBackfill } from './backfill.ts';
import { writeFixture } from './fixtures.ts';
import { benchGrowing } from './growing.ts';
import { benchIngest, measureIngestMemory } from './ingest.ts';
import { benchLiveLines } from './live-lines.ts';
import { benchParse } from './parse.ts';
import { benchUpload } from './upload.ts';

const isLarge = process.argv.includes('--large');
const folder = await mkdtemp(join(tmpdir(), 'recount-bench-'));
try {
  const postgres = await startLocalPostgres({ directory: join(folder, 'postgres') });
  try {
    await migrateDatabase(postgres.connectionString);
    await migrateQueue(postgres.connectionString);
    await benchAll(postgres.connectionString);
  } finally {
    await postgres.stop();
    // That of root lives elsewhere.
    await rm(postgres.directory, { recursive: true, force: true });
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function benchAll(connectionString: string): Promise<void> {
  const [small, middle] = [await writeFixture(folder, '5MB'), await writeFixture(folder, '144MB')];
  printRow('parse', '÷ floor', 'floor ms', 'streamed ms', 'peak RSS MB');
  for (const fixture of [small, middle]) {
    const { ratio, floorMs, streamedMs, streamedPeakRssBytes } = await benchParse(fixture);
    printRow(fixture.name, toRatio(ratio), toMs(floorMs), toMs(streamedMs), toMB(streamedPeakRssBytes));
  }

  printRow('live', 'decoded ÷ JSON.parse', 'events ÷ JSON.parse', 'p50 ms', 'p99 ms');
  for (const { lineBytes, decodeRatio, eventsRatio, p50Ms, p99Ms } of benchLiveLines()) {
    printRow(`${lineBytes} B`, toRatio(decodeRatio), toRatio(eventsRatio), p50Ms.toFixed(2), p99Ms.toFixed(2));
  }

  printRow('ingest', 'insert ÷ copy', 'ingest ÷ copy', 'copy ms', 'insert ms', 'ingest ms', 'peak RSS MB');
  const fixtures = isLarge ? [small, middle, await writeFixture(folder, '500MB')] : [small, middle];
  const ingests = await benchIngest(connectionString, folder, fixtures);
  for (const figures of ingests) {
    const times = [figures.copyMs, figures.insertMs, figures.ingestMs].map(toMs);
    const [insertRatio, ingestRatio] = [toRatio(figures.insertRatio), toRatio(figures.ingestRatio)];
    printRow(figures.fixture, insertRatio, ingestRatio, ...times, toMB(figures.ingestPeakRssBytes));
  }
  const middleRssBytes = ingests.find(({ fixture }) => fixture === middle.name)?.ingestPeakRssBytes;
  if (isLarge && middleRssBytes !== undefined) {
    const peakRssBytes = await measureIngestMemory(connectionString, folder, await writeFixture(folder, '2GB'));
    printRow('memory', `÷ ${middle.name}`, 'peak RSS MB');
    printRow('2GB', toRatio(peakRssBytes / middleRssBytes), toMB(peakRssBytes));
  }

  printRow('growing', '÷ whole', 'grown ms', 'whole ms');
  for (const fixture of fixtures) {
    const { ratio, grownMs, wholeMs } = await benchGrowing(connectionString, folder, fixture);
    printRow(fixture.name, toRatio(ratio), toMs(grownMs), toMs(wholeMs));
  }

  printRow('upload', '÷ drain', 'drain ms', 'upload ms', 'at once', 'peak RSS MB');
  const upload = await benchUpload(connectionString, folder, middle);
  const { concurrentUploads, concurrentPeakRssBytes } = upload;
  const uploadTimes = [toMs(upload.drainMs), toMs(upload.uploadMs)];
  printRow(upload.fixture, toRatio(upload.ratio), ...uploadTimes, `${concurrentUploads}`, toMB(concurrentPeakRssBytes));

  printRow('backfill', '÷ one file', 'one file ms', 'many ms', 'peak RSS MB');
  const { files, ratio, oneFileMs, manyFilesMs, manyFilesPeakRssBytes } = await benchBackfill(connectionString, folder);
  printRow(`${files} files`, toRatio(ratio), toMs(oneFileMs), toMs(manyFilesMs), toMB(manyFilesPeakRssBytes));
}

function toRatio(ratio: number): string {
  return ratio.toFixed(2);
}

function toMs(milliseconds: number): string {
  return milliseconds.toFixed(0);
}

function toMB(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

function printRow(first: string, ...rest: string[]): void {
  console.log(first.padEnd(10) + rest.map((cell) => cell.padStart(14)).join(''));
}
