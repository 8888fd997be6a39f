import { isDeepStrictEqual } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { type ParseOptions, resolveOptions } from './parse-options.ts';
import type { ParserState } from './parser-state.ts';
import { ResumeError } from './resume-error.ts';

/** To be raised whenever ParserState, or what a part keeps in it, changes: older checkpoints are then not read. */
const CHECKPOINT_VERSION = 6;

/** Sessions with thousands of responses take a few hundred KiB; beyond this, parsing again is the better bargain. */
const MAX_CHECKPOINT_BYTES = 4 * 1024 * 1024;

interface Checkpoint {
  version: number;
  options: CheckpointOptions;
  state: ParserState;
}

/** Options that rows depend on. Of the price table, whose rates are no part of it, the caller must see to it. */
type CheckpointOptions = Omit<ReturnType<typeof resolveOptions>, 'prices'>;

/** The state as bytes in the format of `v8.serialize`; undefined where they would be more than 4 MiB. */
export function writeCheckpoint(state: ParserState, options: ParseOptions): Uint8Array | undefined {
  const checkpoint: Checkpoint = { version: CHECKPOINT_VERSION, options: toCheckpointOptions(options), state };
  const bytes = serialize(checkpoint);
  return bytes.length > MAX_CHECKPOINT_BYTES ? undefined : bytes;
}

/** Throws ResumeError where the bytes are of another version of recount or of Node, or were made with other options. */
export function readCheckpoint(bytes: Uint8Array, options: ParseOptions): ParserState {
  const checkpoint = parseCheckpoint(bytes);
  if (checkpoint?.version !== CHECKPOINT_VERSION) throw new ResumeError('The checkpoint is of another version');
  if (!isDeepStrictEqual(checkpoint.options, toCheckpointOptions(options)) || options.arrivals !== undefined) {
    throw new ResumeError('The checkpoint was made with other options');
  }
  return checkpoint.state;
}

function parseCheckpoint(bytes: Uint8Array): Checkpoint | undefined {
  try {
    return deserialize(bytes);
  } catch {
    // V8 reads the formats of its past, not those of its future.
    return undefined;
  }
}

function toCheckpointOptions(options: ParseOptions): CheckpointOptions {
  const { prices: _prices, ...rest } = resolveOptions(options);
  return rest;
}
