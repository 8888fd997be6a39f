import { listObjects } from './list-objects.ts';
import { type ReadSourcesOptions, toListContext } from './read-sources.ts';
import { classifyName } from './source-name.ts';

export interface InputMeasure {
  /** Files and S3 objects that are transcripts by themselves. */
  transcriptFiles: number;
  /** Archives by their name; how many transcripts they hold is not known yet. */
  archives: number;
  /** Stored bytes of both: where `consumedInputBytes` arrives at the end. */
  inputBytes: number;
}

/**
 * A pass over names and sizes alone, before `readSources` with the same arguments, for a progress bar: one file status for each
 * file, one request for every 1000 S3 objects. What cannot be listed is left out; `readSources` reports it.
 */
export async function measureInput(paths: readonly string[], options: ReadSourcesOptions = {}): Promise<InputMeasure> {
  const measure: InputMeasure = { transcriptFiles: 0, archives: 0, inputBytes: 0 };
  const signal = options.signal ?? new AbortController().signal;
  for await (const listed of listObjects(paths, toListContext(options, signal))) {
    if (listed.kind !== 'object') continue;
    const named = classifyName(listed.path);
    measure[named === 'tar' || named === 'zip' ? 'archives' : 'transcriptFiles'] += 1;
    measure.inputBytes += listed.sizeBytes;
  }
  return measure;
}
