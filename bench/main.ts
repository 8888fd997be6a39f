import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { migrateDatabase } from '@recount/db';
import { chooseSettings, startLocalPostgres } from '@recount/local-postgres';
import { runChild } from './child.ts';
import { type Fixture, writeFixture } from './fixtures.ts';
import { benchGrowing } from './growing.ts';
import { benchIngest, measureIngestMemory } from './ingest.ts';
import { benchLiveLines } from './live-lines.ts';
import { benchParse } from './parse.ts';
import { writeMixedTranscripts } from './scale/mixed-transcripts.ts';
import { benchUpload } from './upload.ts';
import { benchWholePath, type WholePathFigures } from './whole-path.ts';

const HELP = `Usage: pnpm bench [PATH] [options]

Measures the whole path over the transcripts of PATH, or over generated ones of realistic shape; without PATH also each
stage.

  --workers N    worker processes (default: 1)
  --large        stages also with a transcript of 500 MB, and the memory of a worker at 2 GB
  --only STAGES  these stages only, separated by commas: whole, parse, live, ingest, growing, upload

Examples:
  $ pnpm bench ~/.claude/projects
  $ pnpm bench --only growing
`;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    workers: { type: 'string', default: '1' },
    large: { type: 'boolean', default: false },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}
const STAGES = ['whole', 'parse', 'live', 'ingest', 'growing', 'upload'] as const;
type Stage = (typeof STAGES)[number];
const chosen = values.only?.split(',') ?? STAGES;
const isChosen = (stage: Stage): boolean => chosen.includes(stage);
const unknown = chosen.filter((name) => !STAGES.some((stage) => stage === name));
if (unknown.length > 0) throw new Error(`No such stage: ${unknown.join(', ')}. There are ${STAGES.join(', ')}.`);
const SMALL_FILES = 5000;
/** Plus the line that exceeds it, 20 KB for each file. */
const MIN_SMALL_FILE_BYTES = 7000;
const folder = await mkdtemp(join(tmpdir(), 'recount-bench-'));
try {
  const postgres = await startLocalPostgres({ directory: join(folder, 'postgres'), settings: chooseSettings() });
  try {
    if (isChosen('whole')) await benchWhole(postgres.connectionString, positionals[0]);
    if (positionals[0] === undefined) {
      await migrateDatabase(postgres.connectionString);
      await benchStages(postgres.connectionString);
    }
  } finally {
    await postgres.stop();
    // As root, the database is elsewhere.
    await rm(postgres.directory, { recursive: true, force: true });
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function benchWhole(connectionString: string, given: string | undefined): Promise<void> {
  const options = { connectionString, folder, workers: Number(values.workers) };
  if (given !== undefined) return printWhole(given, await benchWholePath({ ...options, path: given }));
  const [mixed, small] = [join(folder, 'mixed'), join(folder, 'small')];
  await Promise.all([mkdir(mixed), mkdir(small)]);
  await writeMixedTranscripts(mixed);
  await runChild('./small-fixtures.ts', small, String(SMALL_FILES), String(MIN_SMALL_FILE_BYTES));
  printWhole('shape of real transcripts', await benchWholePath({ ...options, path: mixed }));
  const figures = await benchWholePath({ ...options, path: small });
  printWhole(`${SMALL_FILES} small files`, figures);
  console.log(`${(figures.ingestedMs / SMALL_FILES).toFixed(2)} ms a file until it is ingested`);
}

function printWhole(subject: string, figures: WholePathFigures): void {
  const { bytes, ingestedMs, queryableMs, copyMs, documents, cpuSeconds, peakRssBytes } = figures;
  const cpu = cpuSeconds.backfill + cpuSeconds.worker + cpuSeconds.postgres;
  const rows = [
    ['', 's', 'MB/s', '÷ COPY'],
    ['rows, ledger and reports', ...toSpeed(bytes, ingestedMs, copyMs)],
    ['search as well', ...toSpeed(bytes, queryableMs, copyMs)],
    ['COPY of the same rows', ...toSpeed(bytes, copyMs, copyMs)],
  ];
  console.log(`\n${subject}: ${toMB(bytes)} MB, ${documents} searchable texts`);
  for (const [first = '', ...cells] of rows) {
    console.log(first.padEnd(26) + cells.map((cell) => cell.padStart(10)).join(''));
  }
  const toPerGb = (seconds: number): string => ((seconds / bytes) * 1e9).toFixed(1);
  const shares = Object.entries(cpuSeconds).map(([name, seconds]) => `${name} ${toPerGb(seconds)}`);
  console.log(`processor seconds a GB: ${toPerGb(cpu)} (${shares.join(', ')})`);
  console.log(`memory at most: backfill ${toMB(peakRssBytes.backfill)} MB, worker ${toMB(peakRssBytes.worker)} MB`);
  console.log(`verify: ${figures.verifiedTables} tables counted again, all equal\n`);
}

function toSpeed(bytes: number, ms: number, copyMs: number): string[] {
  return [(ms / 1000).toFixed(1), (bytes / 1e3 / ms).toFixed(1), toRatio(copyMs / ms)];
}

async function benchStages(connectionString: string): Promise<void> {
  const [small, middle] = [await writeFixture(folder, '5MB'), await writeFixture(folder, '144MB')];
  const fixtures = values.large ? [small, middle, await writeFixture(folder, '500MB')] : [small, middle];
  if (isChosen('parse')) await printParse([small, middle]);
  if (isChosen('live')) printLive();
  if (isChosen('ingest')) await printIngest(connectionString, fixtures, middle);
  if (isChosen('growing')) await printGrowing(connectionString, fixtures);
  if (isChosen('upload')) await printUpload(connectionString, middle);
}

async function printParse(fixtures: readonly Fixture[]): Promise<void> {
  printRow('parse', '÷ floor', 'floor ms', 'streamed ms', 'peak RSS MB');
  for (const fixture of fixtures) {
    const { ratio, floorMs, streamedMs, streamedPeakRssBytes } = await benchParse(fixture);
    printRow(fixture.name, toRatio(ratio), toMs(floorMs), toMs(streamedMs), toMB(streamedPeakRssBytes));
  }
}

function printLive(): void {
  printRow('live', 'decoded ÷ JSON.parse', 'events ÷ JSON.parse', 'p50 ms', 'p99 ms');
  for (const { kind, lineBytes, decodeRatio, eventsRatio, p50Ms, p99Ms } of benchLiveLines()) {
    printRow(`${lineBytes} B, ${kind}`, toRatio(decodeRatio), toRatio(eventsRatio), p50Ms.toFixed(2), p99Ms.toFixed(2));
  }
}

async function printIngest(connectionString: string, fixtures: readonly Fixture[], middle: Fixture): Promise<void> {
  printRow('ingest', 'insert ÷ copy', 'ingest ÷ copy', 'copy ms', 'insert ms', 'ingest ms', 'peak RSS MB');
  const ingests = await benchIngest(connectionString, folder, fixtures);
  for (const figures of ingests) {
    const times = [figures.copyMs, figures.insertMs, figures.ingestMs].map(toMs);
    const [insertRatio, ingestRatio] = [toRatio(figures.insertRatio), toRatio(figures.ingestRatio)];
    printRow(figures.fixture, insertRatio, ingestRatio, ...times, toMB(figures.ingestPeakRssBytes));
  }
  const middleRssBytes = ingests.find(({ fixture }) => fixture === middle.name)?.ingestPeakRssBytes;
  if (!values.large || middleRssBytes === undefined) return;
  const peakRssBytes = await measureIngestMemory(connectionString, folder, await writeFixture(folder, '2GB'));
  printRow('memory', `÷ ${middle.name}`, 'peak RSS MB');
  printRow('2GB', toRatio(peakRssBytes / middleRssBytes), toMB(peakRssBytes));
}

async function printGrowing(connectionString: string, fixtures: readonly Fixture[]): Promise<void> {
  printRow('growing', '÷ whole', 'grown ms', 'whole ms');
  for (const fixture of fixtures) {
    const { ratio, grownMs, wholeMs } = await benchGrowing(connectionString, folder, fixture);
    printRow(fixture.name, toRatio(ratio), toMs(grownMs), toMs(wholeMs));
  }
}

async function printUpload(connectionString: string, middle: Fixture): Promise<void> {
  printRow('upload', '÷ drain', 'drain ms', 'upload ms', 'at once', 'peak RSS MB');
  const upload = await benchUpload(connectionString, folder, middle);
  const { concurrentUploads, concurrentPeakRssBytes } = upload;
  const uploadTimes = [toMs(upload.drainMs), toMs(upload.uploadMs)];
  printRow(upload.fixture, toRatio(upload.ratio), ...uploadTimes, `${concurrentUploads}`, toMB(concurrentPeakRssBytes));
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
