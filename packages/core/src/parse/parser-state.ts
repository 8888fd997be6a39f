import { isDeepStrictEqual } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { type AssemblerState, createAssemblerState } from '../assemble/message-assembler.ts';
import { ResumeError } from '../assemble/resume-error.ts';
import { createSessionFactsState, type SessionFactsState } from '../assemble/session-facts.ts';
import { createTotalsState, type TotalsState } from '../assemble/transcript-totals.ts';
import type { UlidState } from '../assemble/ulid-sequence.ts';
import type { Issue } from '../lines/issues.ts';
import type { LinePosition } from '../lines/line-splitter.ts';
import { type ParseOptions, resolveOptions } from './parse-options.ts';

/**
 * Everything that a parse remembers between two lines, in plain objects, maps and sets, kept up to date by its parts.
 */
export interface ParserState {
  position: LinePosition;
  ids: UlidState;
  totals: TotalsState;
  facts: SessionFactsState;
  assembler: AssemblerState;
  /** The reader's state; undefined before the first line. */
  reader: unknown;
  /** Identities of the session events emitted so far. */
  eventKeys: Set<string>;
  prompts: { initial: string | undefined; sidechain: string | undefined };
  /** Issues about the whole transcript so far, by their texts. */
  transcriptIssues: Map<string, Issue>;
  /** True if late lines of the oldest responses would be counted again. */
  areKeysForgotten: boolean;
}

export function createParserState(): ParserState {
  return {
    position: { lineCount: 0, byteOffset: 0 },
    ids: { lastTimeMs: 0, counter: 0 },
    totals: createTotalsState(),
    facts: createSessionFactsState(),
    assembler: createAssemblerState(),
    reader: undefined,
    eventKeys: new Set(),
    prompts: { initial: undefined, sidechain: undefined },
    transcriptIssues: new Map(),
    areKeysForgotten: false,
  };
}

/** Increase it whenever ParserState, or what a part keeps in it, changes. Older checkpoints are then rejected. */
const CHECKPOINT_VERSION = 10;

/** Sessions with thousands of responses take a few hundred KiB; beyond this limit, parsing again is cheaper. */
const MAX_CHECKPOINT_BYTES = 4 * 1024 * 1024;

interface Checkpoint {
  version: number;
  options: CheckpointOptions;
  state: ParserState;
}

/**
 * Options that rows depend on. The price table's rates are not included. The caller must make sure that they are the
 * same.
 */
type CheckpointOptions = Omit<ReturnType<typeof resolveOptions>, 'prices'>;

/** The state as bytes in the format of `v8.serialize`; undefined if they would be more than 4 MiB. */
export function writeCheckpoint(state: ParserState, options: ParseOptions): Uint8Array | undefined {
  const checkpoint: Checkpoint = { version: CHECKPOINT_VERSION, options: toCheckpointOptions(options), state };
  const bytes = serialize(checkpoint);
  return bytes.length > MAX_CHECKPOINT_BYTES ? undefined : bytes;
}

/** Throws ResumeError if the bytes come from another version of recount or Node, or were made with other options. */
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
    // V8 reads older formats, but not newer ones.
    return undefined;
  }
}

function toCheckpointOptions(options: ParseOptions): CheckpointOptions {
  const { prices: _prices, ...rest } = resolveOptions(options);
  return rest;
}
