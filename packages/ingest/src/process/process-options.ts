import type { PriceTable } from '@recount/core';
import type { PriceSource } from '@recount/prices';

/**
 * A whole number, stored with every transcript (see `toRowsVersion`). Workers ingest those made by an older parser
 * again.
 */
export const PARSER_VERSION = '9';

export interface ProcessOptions {
  maxLineBytes: number;
  maxInlineContentBytes?: number | undefined;
  /** Defaults to the price table, preceded by the workspace's own rates. */
  prices?: PriceTable | undefined;
  /** Prices that precede the list in that table. */
  priceSource?: Pick<PriceSource, 'file'> | undefined;
  /** Smaller transcripts are parsed again when they have grown. Default 256 KiB. */
  minCheckpointBytes?: number | undefined;
  /** Aborts between two batches; nothing of the transcript is then committed. */
  signal?: AbortSignal | undefined;
}
