import { readFileSync } from 'node:fs';
import { IDENTIFY_HEAD_BYTES, identifyTranscript, parseTranscript } from '@recount/core';
import { readSources } from '@recount/storage/sources';
import { describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';

interface Label {
  /** Archive and path within the corpus. */
  transcript: string;
  /** Line of the turn's prompt. */
  line: number;
  kind: string;
}

const labels: Label[] = JSON.parse(readFileSync(new URL('kind-of-work-labels.json', import.meta.url), 'utf8'));
const corpus = findCorpus();

/** The kinds of a transcript's turns, by their first lines. */
type Kinds = Map<number, string | null>;

/** The kinds of the labelled transcripts of an archive, by the ends of their paths. */
async function readKinds(archive: string, wanted: ReadonlySet<string>): Promise<Map<string, Kinds>> {
  const found = new Map<string, Kinds>();
  for await (const item of readSources([`${corpus}/${archive}.tar.gz`])) {
    if (item.kind !== 'transcript') continue;
    const { path } = item;
    const name = [...wanted].find((each) => `/${path}`.endsWith(`/${each}`));
    if (name === undefined) continue;
    const bytes = Buffer.concat(await (await item.open()).toArray());
    const { format, isSubagent } = identifyTranscript({ path, head: bytes.subarray(0, IDENTIFY_HEAD_BYTES) });
    const { events } = await parseTranscript('s', bytes, { format, isSubagent });
    const turns = events.filter(({ kind }) => kind === 'turn');
    found.set(name, new Map(turns.map((turn) => [turn.line_number, turn.name])));
  }
  return found;
}

describe.runIf(corpus)('the kinds of work of 60 turns of the corpus', () => {
  it('agree with labels by hand in 45 turns', async () => {
    const archives = Map.groupBy(labels, ({ transcript }) => transcript.split('/')[0] ?? '');
    let agreed = 0;
    for (const [archive, ofArchive] of archives) {
      const toName = ({ transcript }: Label): string => transcript.slice(archive.length + 1);
      const kinds = await readKinds(archive, new Set(ofArchive.map(toName)));
      for (const label of ofArchive) {
        const known = kinds.get(toName(label));
        expect([...(known?.keys() ?? [])], label.transcript).toContain(label.line);
        if (known?.get(label.line) === label.kind) agreed++;
      }
    }
    expect(labels).toHaveLength(60);
    expect(agreed).toBe(45);
  });
});
