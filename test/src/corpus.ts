import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** The folder of real transcripts that some tests need; undefined, with a printed note, if it does not exist. */
export function findCorpus(): string | undefined {
  const repositoryRoot = resolve(import.meta.dirname, '../..');
  const corpus = resolve(repositoryRoot, process.env.TRANSCRIPT_CORPUS ?? '../shared/corpus');
  if (existsSync(corpus)) return corpus;
  console.warn('Skipped: there is no corpus of transcripts at TRANSCRIPT_CORPUS or ../shared/corpus');
  return undefined;
}
