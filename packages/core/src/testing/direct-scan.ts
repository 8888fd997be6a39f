import { expect } from 'vitest';
import type { DirectlyScanned } from '../assemble/direct-responses.ts';
import { createDirectUsageScanner } from '../parse/direct-usage-scanner.ts';
import { createUsageScanner, type UsageScan } from '../parse/usage-scanner.ts';
import type { ApiResponse } from '../records/rows.ts';
import { toPieces } from './chunked-inputs.ts';

const CHUNK_BYTES = [1, 7, 64 * 1024];

type Scanned = Omit<UsageScan, 'lineCount'> & { responses: DirectlyScanned[] };

function scanByReader(format: string, bytes: Buffer, chunkBytes: number): Scanned {
  const responses: ApiResponse[] = [];
  const onResponse = (response: ApiResponse) => void responses.push(response);
  const scanner = createUsageScanner('session', { format, onResponse });
  for (const chunk of toPieces(bytes, chunkBytes)) scanner.push(chunk);
  const { lineCount: _, ...scan } = scanner.finish();
  const toTimed = (response: ApiResponse) => ({ ...response, timestampMs: toTimeMs(response.timestamp) });
  return { ...scan, responses: responses.map(toTimed) };
}

const toTimeMs = (timestamp: string | null) => (timestamp === null ? undefined : Date.parse(timestamp));

/** Undefined if it refuses. Each push has whole lines, of at least this many bytes together. */
function scanDirectly(format: string, bytes: Buffer, leastBytes: number): Scanned | undefined {
  const scanner = createDirectUsageScanner(format);
  if (scanner === undefined) throw new Error('no scanner');
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf('\n', start + leastBytes - 1) + 1 || bytes.length;
    if (!scanner.push(bytes.subarray(start, end))) return undefined;
    start = end;
  }
  return scanner.finish();
}

/** The facts that a direct scan gives. */
const toFacts = (responses: readonly DirectlyScanned[], of: readonly DirectlyScanned[]) =>
  responses.map((response) =>
    Object.fromEntries(Object.keys(of[0] ?? {}).map((name) => [name, response[name as keyof DirectlyScanned]])),
  );

/**
 * Expects that a direct scan finds what the format's reader finds, in chunks of any size. False if it refuses the
 * transcript.
 */
export function expectDirectAgreement(format: string, text: string): boolean {
  const bytes = Buffer.from(text);
  const agreed = CHUNK_BYTES.map((chunkBytes) => {
    const direct = scanDirectly(format, bytes, chunkBytes);
    if (direct === undefined) return false;
    const read = scanByReader(format, bytes, chunkBytes);
    expect({ ...direct, responses: toFacts(direct.responses, direct.responses) }).toEqual({
      ...read,
      responses: toFacts(read.responses, direct.responses),
    });
    return true;
  });
  expect(new Set(agreed).size).toBe(1);
  return agreed[0] === true;
}
