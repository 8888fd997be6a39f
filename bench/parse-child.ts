import { createReadStream, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { streamTranscript } from '@recount/core';
import { reportMeasurement } from './child.ts';

const readChunkBytes = 1024 * 1024;
/** After this much the compiler has settled, as in a worker that has been running for a second. */
const warmUpBytes = 50_000_000;
const warmUpLines = 7000;

/** The minimum work of any parser of JSON lines: `JSON.parse` over lines that were split and decoded beforehand. */
function parseFloor(lines: readonly string[]): void {
  for (const line of lines) JSON.parse(line);
}

async function parseStreamed(path: string, byteLimit = Number.POSITIVE_INFINITY): Promise<void> {
  const input = createReadStream(path, { highWaterMark: readChunkBytes, end: byteLimit });
  let messages = 0;
  for await (const batch of streamTranscript(basename(path, '.jsonl'), input)) messages += batch.messages.length;
  if (messages === 0) throw new Error('the parser found no messages');
}

/** Decodes line by line, so that one character outside Latin-1 does not double the width of all lines. */
function readLines(path: string): string[] {
  const bytes = readFileSync(path);
  const lines: string[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0x0a, start);
    lines.push(bytes.toString('utf8', start, end));
    start = end + 1;
  }
  return lines;
}

const [subject, path = '', passes] = process.argv.slice(2);
if (subject === 'floor') {
  const lines = readLines(path);
  parseFloor(lines.slice(0, warmUpLines));
  await reportMeasurement(Number(passes), () => parseFloor(lines));
} else {
  await parseStreamed(path, warmUpBytes);
  await reportMeasurement(Number(passes), () => parseStreamed(path));
}
