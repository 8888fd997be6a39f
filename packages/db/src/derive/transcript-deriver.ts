import { sumActiveGaps, type TranscriptBatch, type TranscriptSummary } from '@recount/core';
import { toTranscriptFigures } from '../transcripts/transcript-rows.ts';
import type { DerivedOrigin, DerivedRows } from './derived-rows.ts';
import { FindingDeriver } from './findings.ts';
import { ResponseDeriver } from './responses.ts';
import { RollupDeriver } from './rollups.ts';

/**
 * Responses and tool calls that are kept in memory, at about a kilobyte each; transcripts of some 500 MB have as many.
 * SQL derives the rows of larger ones.
 */
const MAX_RESPONSES = 20_000;
const MAX_CALLS = 20_000;

/** Messages whose times are kept. */
const MAX_MESSAGES = 500_000;

/**
 * Derives from the batches of a parse what SQL would otherwise derive from its stored rows: the ledger, the roll-ups, the
 * findings and the session's figures. Pure; it knows nothing of other transcripts. The SQL in `usage/` and `findings/`
 * stays the definition that `recount verify` compares with.
 */
export class TranscriptDeriver {
  readonly #origin: DerivedOrigin;
  #responses: ResponseDeriver;
  #rollups: RollupDeriver;
  #findings: FindingDeriver;
  /** Of messages that have one, milliseconds since 1970. */
  #times: number[] = [];
  #needsSql = false;

  constructor(origin: DerivedOrigin) {
    this.#origin = origin;
    this.#responses = new ResponseDeriver(origin);
    this.#rollups = new RollupDeriver(origin);
    this.#findings = new FindingDeriver(origin);
  }

  /** Takes the batches of the parse, each once and in order. */
  add(batch: TranscriptBatch): void {
    if (this.#needsSql) return;
    for (const response of batch.apiResponses) {
      const { now, before } = this.#responses.add(response);
      if (before !== undefined) this.#rollups.addResponse(before, -1);
      this.#rollups.addResponse(now);
    }
    for (const message of batch.messages) {
      this.#rollups.addMessage(message);
      if (message.timestamp !== null) this.#times.push(Date.parse(message.timestamp));
    }
    for (const call of batch.toolCalls) this.#rollups.addCall(call);
    this.#findings.add(batch);
    if (this.#isTooLarge() || !this.#findings.isExact) this.#leaveToSql();
  }

  #leaveToSql(): void {
    this.#needsSql = true;
    this.#responses = new ResponseDeriver(this.#origin);
    this.#rollups = new RollupDeriver(this.#origin);
    this.#findings = new FindingDeriver(this.#origin);
    this.#times = [];
  }

  #isTooLarge(): boolean {
    return (
      this.#responses.count > MAX_RESPONSES || this.#findings.callCount > MAX_CALLS || this.#times.length > MAX_MESSAGES
    );
  }

  /** The rows, once the last batch was added. Undefined if only `settleSessions` can derive them. */
  finish(summary: TranscriptSummary): DerivedRows | undefined {
    const sums = this.#rollups.sumResponses();
    if (this.#needsSql || !Object.values(sums).every(Number.isSafeInteger)) return undefined;
    const rows = this.#rollups.toRows();
    const { line_count: _lines, ...figures } = toTranscriptFigures(summary);
    return {
      ...rows,
      findings: this.#findings.toRows(this.#responses.listCounted(), summary, sums),
      ledger: this.#responses.toLedger(),
      responseKeys: this.#responses.toKeys(),
      days: this.#rollups.listDays(),
      session: {
        ...figures,
        active_ms: summary.activeMs ?? sumActiveGaps(this.#times.toSorted((one, other) => one - other)),
      },
    };
  }
}
