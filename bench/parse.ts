import { type Measurement, measureInChild, median } from './child.ts';
import type { Fixture } from './fixtures.ts';

export interface ParseFigures {
  readonly fixture: string;
  /** Speed relative to the minimum: 1 would be as fast as bare `JSON.parse`. */
  readonly ratio: number;
  readonly floorMs: number;
  readonly streamedMs: number;
  /** Of the streaming process, including Node's own memory. */
  readonly streamedPeakRssBytes: number;
}

const runs = 5;
/** A small file is parsed repeatedly, so that the figure does not measure the compiler's warm-up. */
const bytesPerRun = 50_000_000;

/**
 * Messages and content blocks from the streaming parser, compared with `JSON.parse` over lines already split. Medians
 * of five interleaved runs, so that a drift of the machine's speed affects both.
 */
export async function benchParse(fixture: Fixture): Promise<ParseFigures> {
  const passes = String(Math.max(1, Math.round(bytesPerRun / fixture.bytes)));
  const floor: Measurement[] = [];
  const streamed: Measurement[] = [];
  for (let run = 0; run < runs; run += 1) {
    floor.push(await measureInChild('./parse-child.ts', 'floor', fixture.path, passes));
    streamed.push(await measureInChild('./parse-child.ts', 'streamed', fixture.path, passes));
  }
  const floorMs = median(floor.map((measurement) => measurement.milliseconds));
  const streamedMs = median(streamed.map((measurement) => measurement.milliseconds));
  return {
    fixture: fixture.name,
    ratio: floorMs / streamedMs,
    floorMs,
    streamedMs,
    streamedPeakRssBytes: median(streamed.map((measurement) => measurement.peakRssBytes)),
  };
}
