import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../lines/json.ts';
import type { ReaderContext } from './agent.ts';
import { createTranscriptReader, FORMATS } from './formats.ts';

/**
 * `<agent>/<format>[.<case>].records.txt` has lines of the format as transcripts have them, each beginning with `{`,
 * followed by the records made of it. After adding a line, run `vitest -u` and review the records that it writes.
 */
const SUFFIX = '.records.txt';
const FILES = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith(SUFFIX))
  .sort();

/** Leaves out fields that have a record's default value. */
function withoutDefaults(key: string, value: unknown): unknown {
  if (value === null || value === false || value === '') return undefined;
  if (value === 0 && /(Tokens|Requests|Count|[bB]ytes)$/.test(key)) return undefined;
  if (typeof value === 'object' && Object.keys(value).length === 0) return undefined;
  // The source is the line above.
  if (typeof value === 'object' && key === 'source') return undefined;
  return value;
}

/**
 * For every line, the formats that it may be in (`=`), what is reported (`!`), its type and time, and what is read
 * (`-`).
 */
function readAll(format: string, lines: readonly JsonObject[], reopens: boolean): string {
  const said: string[] = [];
  const context: ReaderContext = {
    sessionId: 'uploaded',
    maxInlineContentBytes: 1000,
    report: (code, severity, error, count = 1) => said.push(`  ! ${severity} ${code} × ${count}: ${error}`),
  };
  let reader = createTranscriptReader(format, context);
  for (const [index, line] of lines.entries()) {
    said.push(JSON.stringify(line));
    const sure = FORMATS.map((known) => [known.format.id, known.format.detect(line)] as const);
    said.push(...sure.filter(([, confidence]) => confidence > 0).map(([id, confidence]) => `  = ${id} ${confidence}`));
    if (reopens) reader = createTranscriptReader(format, context, structuredClone(reader.state));
    const place = { lineNumber: index + 1, byteOffset: 0, byteLength: 1, arrivalMs: undefined };
    const { type, timestampMs, records } = reader.read(line, place);
    said.push(`  ${type}${timestampMs === undefined ? '' : ` ${new Date(timestampMs).toISOString()}`}`);
    said.push(...records.map((record) => `  - ${JSON.stringify(record, withoutDefaults)}`));
  }
  return `${said.join('\n')}\n`;
}

describe('the lines that agents write', () => {
  it.each(FILES)('%s', async (path) => {
    const [format = ''] = basename(path).split('.');
    const file = join(import.meta.dirname, path);
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{'));
    const values = lines.map((line) => JSON.parse(line) as JsonObject);
    expect(values.length).toBeGreaterThan(0);
    const records = readAll(format, values, false);
    // Everything that a reader remembers is in its state.
    expect(readAll(format, values, true)).toBe(records);
    await expect(records).toMatchFileSnapshot(file);
  });
});
