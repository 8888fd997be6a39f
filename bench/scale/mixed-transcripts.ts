import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateTranscript } from '../generate-transcript.ts';
import { REAL_LINES } from '../transcript/session.ts';

/** Twelve evenly spaced quantiles of real sizes. A fifth is below 25 KB, a mean of 0.8 MB, a tenth above 2 MB. */
const SIZES_BYTES = [
  1_000, 2_000, 30_000, 85_000, 140_000, 240_000, 360_000, 540_000, 830_000, 1_600_000, 2_300_000, 3_500_000,
];
const ROUNDS = 12;

/** Writes 144 transcripts, each in its own session, 116 MB in the shape of real ones, into a folder. Deterministic. */
export async function writeMixedTranscripts(folder: string, rounds = ROUNDS): Promise<void> {
  for (let seed = 1; seed <= rounds * SIZES_BYTES.length; seed++) {
    const targetBytes = SIZES_BYTES[seed % SIZES_BYTES.length] ?? 0;
    await writeFile(
      join(folder, `session-${seed}.jsonl`),
      Buffer.concat([...generateTranscript({ seed, targetBytes, shape: REAL_LINES })]),
    );
  }
}
