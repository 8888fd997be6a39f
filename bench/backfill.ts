import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Measurement, measureInChild, runChild } from './child.ts';
import { type Fixture, writeFixture } from './fixtures.ts';

export interface BackfillFigures {
  readonly files: number;
  /** Speed against one file of the same bytes. */
  readonly ratio: number;
  readonly oneFileMs: number;
  readonly manyFilesMs: number;
  readonly manyFilesPeakRssBytes: number;
}

const FILES = 5000;
/** With the line that goes over it, 20 KB a file. */
const MIN_FILE_BYTES = 7000;

/** Many small transcripts backfilled and ingested, against one file of the same bytes. One run each: half a minute. */
export async function benchBackfill(connectionString: string, folder: string): Promise<BackfillFigures> {
  const [smallFiles, store] = [join(folder, 'small'), join(folder, 'backfilled')];
  await Promise.all([mkdir(smallFiles), mkdir(store)]);
  const bytes = Number(await runChild('./small-fixtures.ts', smallFiles, String(FILES), String(MIN_FILE_BYTES)));
  const oneFile: Fixture = await writeFixture(folder, `${bytes}B`);
  let runNumber = 0;
  const measure = (path: string): Promise<Measurement> =>
    measureInChild('./backfill-child.ts', connectionString, store, path, `bench-backfill-${runNumber++}`);
  const one = await measure(oneFile.path);
  const many = await measure(smallFiles);
  return {
    files: FILES,
    ratio: one.milliseconds / many.milliseconds,
    oneFileMs: one.milliseconds,
    manyFilesMs: many.milliseconds,
    manyFilesPeakRssBytes: many.peakRssBytes,
  };
}
