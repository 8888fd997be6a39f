import type { S3Client } from '@aws-sdk/client-s3';
import { listLocal } from './list-local.ts';
import { listS3 } from './list-s3.ts';
import { readObject } from './read-object.ts';
import { DEFAULT_SOURCE_LIMITS, type SourceItem, type SourceLimits } from './source-item.ts';
import { classifyName } from './source-name.ts';
import type { ListContext, ListedItem, WantsFile } from './transcript-item.ts';

/** Everything at or below the given paths, in their order, without opening anything. */
async function* listObjects(paths: readonly string[], context: ListContext): AsyncGenerator<ListedItem> {
  for (const path of paths) {
    context.signal.throwIfAborted();
    yield* /^s3:\/\//i.test(path) ? listS3(path, context) : listLocal(path, context);
  }
}

export interface ReadSourcesOptions {
  /**
   * Skips items last modified before this time. An older archive is skipped as a whole; items with unknown times count.
   */
  sinceMs?: number;
  limits?: Partial<SourceLimits>;
  /** Aborting makes the iterator throw the reason and ends all streams opened from it. */
  signal?: AbortSignal;
  /** Required only for `s3://` paths; a function is called for each such path. */
  s3?: S3Client | (() => S3Client);
  /**
   * Reads the files whose paths it accepts, instead of transcripts. Their bytes are passed on as stored, neither
   * decoded nor unpacked. A member without a time has its archive's.
   */
  wants?: WantsFile;
}

/**
 * Finds the transcripts in files, folders, tar and zip archives and S3 prefixes, in a fixed order. Paths come as given,
 * folders sorted with `<session>.jsonl` right before `<session>/`, archives in their own order. Nothing is written to
 * disk, and memory does not grow with the input, except for the names of the folders being read.
 *
 * Names ending in `.jsonl`, `.ndjson` or `.json`, also with `.gz` or `.zst`, are transcripts; a path given directly is
 * one unless it is an archive. Compression and archive type are detected by the first bytes, not the name. Symbolic
 * links are followed only in the given paths.
 *
 * Whatever cannot be read becomes a `failed` item and reading continues; only an abort throws. Leaving the loop early
 * ends all streams opened from it; after its normal end, streams of `reopenable` sources stay usable.
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
  /** Files and S3 objects that are transcripts themselves. */
  transcriptFiles: number;
  /** Archives by name; how many transcripts they hold is not known yet. */
  archives: number;
  /** Stored bytes of both, which is the final value of `consumedInputBytes`. */
  inputBytes: number;
}

/**
 * A pass over names and sizes only, for a progress bar. Call it before `readSources` with the same arguments. It makes
 * one stat for each file, and one request for every 1000 S3 objects. It skips what cannot be listed; `readSources`
 * reports it.
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
