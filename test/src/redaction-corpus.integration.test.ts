import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TranscriptRedactor } from '@recount/ingest/secrets';
import { readSources } from '@recount/storage/sources';
import { expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';

const corpus = findCorpus();

/** False: `sed` expressions that remove passwords from `mongodb+srv://` URLs. docs/security.md says so. */
const FALSE_ALARMS = { 'database-connection-string': 3 };

it.runIf(corpus)('finds in the corpus only the false alarms that are documented, and moves no line', async () => {
  const folder = corpus ?? '';
  const archives = readdirSync(folder).filter((name) => name.endsWith('.tar.gz'));
  const counts: Record<string, number> = {};
  let byteLength = 0;
  for await (const item of readSources(archives.map((name) => join(folder, name)))) {
    if (item.kind !== 'transcript') throw new Error(`Not read: ${item.location}`);
    const source = Buffer.concat(await (await item.open()).toArray());
    byteLength += source.length;
    const redactor = new TranscriptRedactor({
      maxLineBytes: 16 * 1024 * 1024,
      onFinding: ({ rule, count }) => {
        counts[rule] = (counts[rule] ?? 0) + count;
      },
    });
    const redacted = Buffer.concat([await redactor.push(source), await redactor.finish()]);
    expect(redacted.equals(source)).toBe(!redactor.hasChanged);
    expect(redacted).toHaveLength(source.length);
  }
  expect(byteLength).toBeGreaterThan(100e6);
  expect(counts).toEqual(FALSE_ALARMS);
});
