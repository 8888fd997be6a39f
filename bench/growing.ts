import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runChild } from './child.ts';
import type { Fixture } from './fixtures.ts';

export interface GrowingFigures {
  readonly fixture: string;
  /** A worker's cost for a transcript that grew by a hundredth, relative to the cost for the whole. */
  readonly ratio: number;
  readonly grownMs: number;
  readonly wholeMs: number;
}

/** Medians of interleaved runs, by a warmed-up worker. */
export async function benchGrowing(
  connectionString: string,
  folder: string,
  fixture: Fixture,
): Promise<GrowingFigures> {
  const directory = join(folder, `${fixture.name}-growing`);
  await mkdir(directory);
  const { grownMs, wholeMs } = JSON.parse(
    await runChild('./growing-child.ts', connectionString, directory, fixture.path),
  );
  return { fixture: fixture.name, ratio: grownMs / wholeMs, grownMs, wholeMs };
}
