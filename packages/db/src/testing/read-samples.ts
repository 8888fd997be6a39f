import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const SAMPLES_FOLDER = fileURLToPath(new URL('../../../../samples', import.meta.url));

/** The sample transcripts that ship with the project, in the order of their paths. */
export async function readSamples(): Promise<{ path: string; bytes: Buffer }[]> {
  const paths = globSync(`${SAMPLES_FOLDER}/**/*.jsonl`).sort();
  return await Promise.all(paths.map(async (path) => ({ path, bytes: await readFile(path) })));
}
