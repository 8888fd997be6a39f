import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateTranscript } from './generate-transcript.ts';

// Writes transcripts, each in its own session, into a folder, and prints their total bytes.
const [folder = '', count = '0', targetBytes = '0'] = process.argv.slice(2);
let bytes = 0;
for (let seed = 1; seed <= Number(count); seed += 1) {
  const content = Buffer.concat([...generateTranscript({ seed, targetBytes: Number(targetBytes) })]);
  await writeFile(join(folder, `session-${seed}.jsonl`), content);
  bytes += content.length;
}
console.log(bytes);
