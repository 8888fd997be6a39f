import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateTranscript } from '../generate-transcript.ts';

/** About the sizes of real sessions: a third below 40 KB, a mean of 0.5 MB, one in fifteen above 3 MB. */
const SIZES_BYTES = [
  5_000, 10_000, 15_000, 25_000, 35_000, 60_000, 100_000, 150_000, 250_000, 350_000, 500_000, 700_000, 1_000_000,
  1_500_000, 3_000_000,
];
const ROUNDS = 14;

/** Writes 210 transcripts of sessions of their own, 115 MB, into a folder. The same ones each time. */
export async function writeMixedTranscripts(folder: string): Promise<void> {
  for (let seed = 1; seed <= ROUNDS * SIZES_BYTES.length; seed++) {
    const targetBytes = SIZES_BYTES[seed % SIZES_BYTES.length] ?? 0;
    await writeFile(
      join(folder, `session-${seed}.jsonl`),
      Buffer.concat([...generateTranscript({ seed, targetBytes })]),
    );
  }
}
