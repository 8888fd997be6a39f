import type { S3Client } from '@aws-sdk/client-s3';
import { listLocal } from './list-local.ts';
import { listS3 } from './list-s3.ts';
import { readObject } from './read-object.ts';
import { DEFAULT_SOURCE_LIMITS, type SourceItem, type SourceLimits } from './source-item.ts';
import { classifyName } from './source-name.ts';
import type { ListContext, ListedItem, WantsFile } from './transcript-item.ts';

/** All that lies at or below the given paths, in their order, without opening any of it. */
async function* listObjects(paths: readonly string[], context: ListContext): AsyncGenerator<ListedItem> {
  for (const path of paths) {
    context.signal.throwIfAborted();
    yield* /^s3:\/\//i.test(path) ? listS3(path, context) : listLocal(path, context);
  }
}

export interface ReadSourcesOptions {
  /** Skips what was last modified before this time. An older archive is skipped whole; unknown times are not older. */
  sinceMs?: number;
  limits?: Partial<SourceLimits>;
  /** Aborting makes the iterator throw the reason and ends all streams opened from it. */
  signal?: AbortSignal;
  /** Needed for `s3://` paths alone; a function is called for each such path. */
  s3?: S3Client | (() => S3Client);
  /**
   * Reads the files whose paths it says yes to, in place of transcripts: their bytes as they are stored, neither decoded nor taken
   * for an archive. What has no time of its own has that of its archive.
   */
  wants?: WantsFile;
}

/**
 * Finds the transcripts in files, folders, tar and zip archives and S3 prefixes, in a fixed order: paths as given, folders
 * sorted with `<session>.jsonl` right before `<session>/`, archives in their own order. Nothing is written to disk, and memory
 * does not grow with the input, but for the names of the folders being read.
 *
 * Names ending in `.jsonl`, `.ndjson` or `.json`, also with `.gz` or `.zst`, are transcripts; in the paths themselves any file is that
 * is not an archive. Whether content is compressed, and what archive it is, its first bytes tell, not its name. Symbolic links
 * are followed in the given paths only.
 *
 * Whatever cannot be read becomes a `failed` item and the reading goes on; only an abort throws. Leaving the loop early ends
 * all streams opened from it; after its natural end those of `reopenable` sources live on.
 */
export async function* readSources(
  paths: readonly string[],
  options: ReadSourcesOptions = {},
): AsyncGenerator<SourceItem, void> {
  const leaving = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, leaving.signal]) : leaving.signal;
  const context = toListContext(options, signal);
  let consumedInputBytes = 0;
  let isComplete = false;
  try {
    for await (const listed of listObjects(paths, context)) {
      signal.throwIfAborted();
      if (listed.kind !== 'object') {
        yield { ...listed, consumedInputBytes };
        continue;
      }
      const position = { bytes: 0 };
      for await (const item of readObject(listed, { ...context, position })) {
        signal.throwIfAborted();
        yield { ...item, consumedInputBytes: consumedInputBytes + Math.min(position.bytes, listed.sizeBytes) };
      }
      consumedInputBytes += listed.sizeBytes;
    }
    signal.throwIfAborted();
    isComplete = true;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    if (!isComplete) leaving.abort();
  }
}

function toListContext(options: ReadSourcesOptions, signal: AbortSignal): ListContext {
  const { sinceMs, limits, s3, wants } = options;
  return { sinceMs, limits: { ...DEFAULT_SOURCE_LIMITS, ...limits }, signal, s3, wants };
}

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
