import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeFixture } from './fixtures.ts';
import { benchIngest } from './ingest.ts';
import { benchParse } from './parse.ts';

const folder = await mkdtemp(join(tmpdir(), 'recount-bench-'));
try {
  printRow('parse', '÷ floor', 'floor ms', 'streamed ms', 'peak RSS MB');
  for (const size of ['5MB', '144MB']) {
    const figures = await benchParse(await writeFixture(folder, size));
    printRow(
      figures.fixture,
      figures.ratio.toFixed(2),
      figures.floorMs.toFixed(0),
      figures.streamedMs.toFixed(0),
      (figures.streamedPeakRssBytes / 1e6).toFixed(0),
    );
  }
  printRow('ingest', 'insert ÷ copy', 'ingest ÷ copy', 'copy ms', 'insert ms', 'ingest ms', 'peak RSS MB');
  const sizes = process.argv.includes('--large') ? ['5MB', '144MB', '500MB'] : ['5MB', '144MB'];
  const fixtures = await Promise.all(sizes.map((size) => writeFixture(folder, size)));
  for (const figures of await benchIngest(folder, fixtures)) {
    printRow(
      figures.fixture,
      figures.insertRatio.toFixed(2),
      figures.ingestRatio.toFixed(2),
      figures.copyMs.toFixed(0),
      figures.insertMs.toFixed(0),
      figures.ingestMs.toFixed(0),
      (figures.ingestPeakRssBytes / 1e6).toFixed(0),
    );
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

function printRow(first: string, ...rest: string[]): void {
  console.log(first.padEnd(10) + rest.map((cell) => cell.padStart(14)).join(''));
}
