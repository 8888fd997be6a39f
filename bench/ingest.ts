import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Measurement, measureInChild, median, runChild } from './child.ts';
import type { Fixture } from './fixtures.ts';

export interface IngestFigures {
  readonly fixture: string;
  /** Speed of each stage relative to COPY of the same rows from prepared text: 1 would be as fast. */
  readonly insertRatio: number;
  readonly ingestRatio: number;
  readonly copyMs: number;
  readonly insertMs: number;
  readonly ingestMs: number;
  /** Of the ingesting process, including Node's own memory. */
  readonly ingestPeakRssBytes: number;
}

const runs = 3;

/**
 * The insert stage, and a worker's whole path from raw object to committed rows, compared with piping the prepared text
 * of the same rows into COPY: medians of interleaved runs.
 */
export async function benchIngest(
  connectionString: string,
  folder: string,
  fixtures: readonly Fixture[],
): Promise<IngestFigures[]> {
  const figures: IngestFigures[] = [];
  for (const fixture of fixtures) figures.push(await benchFixture(connectionString, folder, fixture));
  return figures;
}

/** Peak memory of a process that ingests the fixture once. */
export async function measureIngestMemory(connectionString: string, folder: string, fixture: Fixture): Promise<number> {
  const directory = join(folder, `${fixture.name}-memory`);
  await mkdir(directory);
  const transcriptId = await runChild('./ingest-child.ts', 'upload', connectionString, directory, fixture.path);
  return (await measureInChild('./ingest-child.ts', 'ingest', connectionString, directory, transcriptId)).peakRssBytes;
}

async function benchFixture(connectionString: string, folder: string, fixture: Fixture): Promise<IngestFigures> {
  const directory = join(folder, fixture.name);
  await mkdir(directory);
  const measure = (subject: string, argument: string): Promise<Measurement> =>
    measureInChild('./ingest-child.ts', subject, connectionString, directory, argument);
  const transcriptId = await runChild('./ingest-child.ts', 'upload', connectionString, directory, fixture.path);
  await measure('ingest', transcriptId);
  await runChild('./copy-child.ts', 'save', connectionString, directory);
  const copies: Measurement[] = [];
  const inserts: Measurement[] = [];
  const ingests: Measurement[] = [];
  for (let run = 0; run < runs; run += 1) {
    copies.push(await measureInChild('./copy-child.ts', 'load', connectionString, directory));
    inserts.push(await measure('insert', fixture.path));
    ingests.push(await measure('ingest', transcriptId));
  }
  const toMs = (measurements: readonly Measurement[]): number =>
    median(measurements.map(({ milliseconds }) => milliseconds));
  const [copyMs, insertMs, ingestMs] = [toMs(copies), toMs(inserts), toMs(ingests)];
  return {
    fixture: fixture.name,
    insertRatio: copyMs / insertMs,
    ingestRatio: copyMs / ingestMs,
    copyMs,
    insertMs,
    ingestMs,
    ingestPeakRssBytes: median(ingests.map(({ peakRssBytes }) => peakRssBytes)),
  };
}
