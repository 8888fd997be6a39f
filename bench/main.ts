import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeFixture } from './fixtures.ts';
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
} finally {
  await rm(folder, { recursive: true, force: true });
}

function printRow(first: string, ...rest: string[]): void {
  console.log(first.padEnd(10) + rest.map((cell) => cell.padStart(13)).join(''));
}
